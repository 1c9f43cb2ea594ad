"""Ascents on functions whose maxima are known, smooth and kinked, free and on spheres."""

from __future__ import annotations

import numpy as np
import pytest

from didact.learners.ascent import Sphere, ascend, bfgs_update, shortest_combination


def bowl(scales):
    return lambda x: (-0.5 * float(scales @ (x - 1.0) ** 2), -scales * (x - 1.0))


@pytest.mark.parametrize("worst", [1.0, 1e3, 1e6])
def test_a_smooth_summit_is_found(worst):
    found = ascend(bowl(np.geomspace(1.0, worst, 6)), np.zeros(6), np.random.default_rng(0))
    assert found.is_maximum
    assert np.allclose(found.point, 1.0, atol=1e-5)
    assert found.value == pytest.approx(0.0, abs=1e-10)


def ridge(rows):
    """The smallest of linear functions, less a bowl: kinked at its summit."""

    def function(x):
        values = rows @ x
        lowest = int(values.argmin())
        return float(values[lowest] - 0.5 * x @ x), rows[lowest] - x

    return function


@pytest.mark.parametrize("seed", range(12))
def test_a_kinked_summit_is_found(seed):
    """max_x min_i r_i.x - |x|^2/2 is half the squared length of the shortest combination of r."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((int(rng.integers(2, 12)), 5)) + rng.standard_normal(5)
    found = ascend(ridge(rows), rng.standard_normal(5), rng)
    nearest = shortest_combination(rows)
    assert found.value == pytest.approx(0.5 * nearest @ nearest, abs=1e-9)
    assert np.allclose(found.point, nearest, atol=1e-4)
    assert found.slope < 1e-3


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("radius", [1.0, 7.0])
def test_the_top_of_a_sphere_is_the_leading_eigenvector(seed, radius):
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((6, 6))
    matrix = factor @ factor.T
    found = ascend(
        lambda x: (0.5 * float(x @ matrix @ x), matrix @ x),
        rng.standard_normal(6),
        rng,
        sphere=Sphere(radius),
    )
    assert np.linalg.norm(found.point) == pytest.approx(radius)
    assert found.value == pytest.approx(0.5 * radius**2 * np.linalg.eigvalsh(matrix)[-1], rel=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_the_top_of_a_diamond_is_its_best_corner(seed):
    """A linear function on |x|_1 = 1 is highest at the corner of its largest entry: all kinks."""
    rng = np.random.default_rng(seed)
    slope = rng.standard_normal(5)
    found = ascend(
        lambda x: (float(slope @ x), slope), rng.standard_normal(5), rng, sphere=Sphere(1.0, 1)
    )
    assert np.abs(found.point).sum() == pytest.approx(1.0)
    assert found.value == pytest.approx(np.abs(slope).max(), abs=1e-6)


@pytest.mark.parametrize("order", [1, 2])
def test_slopes_on_a_sphere_are_those_of_finite_differences(order):
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((4, 4))
    surface = Sphere(2.5, order).of(
        lambda x: (float(np.sin(matrix @ x).sum()), matrix.T @ np.cos(matrix @ x))
    )
    point = rng.standard_normal(4)
    value, slope = surface(point)
    assert surface(3.0 * point)[0] == pytest.approx(value)
    for i, unit in enumerate(np.eye(4)):
        rise = surface(point + 1e-6 * unit)[0] - surface(point - 1e-6 * unit)[0]
        assert slope[i] == pytest.approx(rise / 2e-6, abs=1e-6)


def test_a_climb_that_is_cut_short_says_so():
    found = ascend(
        bowl(np.geomspace(1, 1e6, 9)), np.zeros(9), np.random.default_rng(0), max_steps=3
    )
    assert not found.is_maximum
    assert found.n_steps == 3
    assert found.slope > 1e-3


def test_a_flat_function_is_all_summit():
    found = ascend(lambda x: (2.0, np.zeros(3)), np.ones(3), np.random.default_rng(0))
    assert (found.is_maximum, found.value, found.n_steps) == (True, 2.0, 0)


def test_a_line_has_nowhere_to_go():
    found = ascend(
        lambda x: (float(x[0]), np.ones(1)),
        -np.ones(1),
        np.random.default_rng(0),
        sphere=Sphere(1.0),
    )
    assert (found.point.tolist(), found.is_maximum) == ([-1.0], True)


@pytest.mark.parametrize("seed", range(30))
def test_the_shortest_combination_is_optimal(seed):
    """Its product with every row is at least its squared length, which no other point has."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((int(rng.integers(1, 20)), 4)) * 10.0 ** rng.integers(-6, 7)
    rows += rng.integers(0, 3) * rng.standard_normal(4) * np.abs(rows).max()
    nearest = shortest_combination(rows)
    assert (rows @ nearest).min() >= nearest @ nearest - 1e-9 * np.abs(rows).max() ** 2
    multipliers = rng.dirichlet(np.ones(len(rows)), size=200)
    assert np.linalg.norm(multipliers @ rows, axis=1).min() >= np.linalg.norm(nearest) - 1e-12


def test_the_shortest_combination_of_opposite_rows_is_nothing():
    rows = np.array([[1.0, 0.0], [-2.0, 0.0]])
    assert np.abs(shortest_combination(rows)).max() < 1e-12
    assert shortest_combination(np.zeros((3, 2))).tolist() == [0.0, 0.0]


CASES = range(5)


def drawn(seed, k=4):
    """A positive definite matrix, a step, and a slope that falls along it."""
    rng = np.random.default_rng(seed)
    root, hill = rng.standard_normal((2, k, k))
    step = rng.standard_normal(k)
    return root @ root.T + np.eye(k), step, (hill @ hill.T + np.eye(k)) @ step


def by_the_book(inverse, step, bend):
    """(I - r s y') H (I - r y s') + r s s' with r = 1 / s'y (Nocedal and Wright, 6.17)."""
    share = 1.0 / (step @ bend)
    left = np.eye(step.size) - share * np.outer(step, bend)
    return left @ inverse @ left.T + share * np.outer(step, step)


@pytest.mark.parametrize("seed", CASES)
def test_it_is_the_formula_of_the_book(seed):
    inverse, step, bend = drawn(seed)
    found = bfgs_update(inverse, step, bend, 1e-12)
    assert np.allclose(found, by_the_book(inverse, step, bend), rtol=1e-9, atol=1e-9)
    assert np.allclose(found @ bend, step)
    assert (np.linalg.eigvalsh(found) > 0).all()


@pytest.mark.parametrize("seed", CASES)
def test_the_first_one_begins_from_the_scale_of_the_bend(seed):
    _, step, bend = drawn(seed)
    scale = (step @ bend) / (bend @ bend)
    expected = by_the_book(scale * np.eye(step.size), step, bend)
    assert np.allclose(bfgs_update(None, step, bend, 1e-12), expected)


def test_steps_along_the_axes_find_the_inverse_of_a_hill():
    hill = np.diag([1.0, 4.0, 9.0])
    inverse = None
    for axis in np.eye(3):
        inverse = bfgs_update(inverse, axis, hill @ axis, 1e-12)
    assert np.allclose(inverse, np.linalg.inv(hill))


@pytest.mark.parametrize("known", [None, np.eye(2)])
def test_a_slope_that_did_not_fall_enough_changes_nothing(known):
    step, bend = np.array([1.0, 0.0]), np.array([1e-3, 5.0])
    assert bfgs_update(known, step, -bend, 0.0) is known
    assert bfgs_update(known, step, np.array([np.nan, 0.0]), 0.0) is known
    assert bfgs_update(known, step, bend, 1e-3) is known
    assert bfgs_update(known, step, bend, 0.9e-3) is not known
