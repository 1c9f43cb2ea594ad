"""The nearest point of a cone against SciPy's nnls, closed forms and the optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

from didact.bec.nnls import (
    nearest_in_cone,
    needed_rows,
    new_workspace,
    residuals_from_cone,
    solve_nonnegative,
)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def random_generators(rng, n, k):
    """Unit rows: general, pointed, of small integers (ties, copies, negatives), or nearly flat."""
    kind = rng.integers(4)
    if kind == 0:
        return unit(rng.standard_normal((n, k)))
    if kind == 1:
        return unit(rng.random((n, k)) + 1e-3)
    if kind == 2:
        rows = rng.integers(-1, 2, size=(n, k)).astype(float)
        rows[np.all(rows == 0, axis=1), 0] = 1.0
        return unit(rows)
    return unit(rng.random((n, k)) * np.geomspace(1.0, 1e-5, k) + 1e-9)


def random_target(rng, generators):
    """A unit vector inside the cone, on its boundary, within 1e-10 of it, or anywhere."""
    n, k = generators.shape
    inside = (rng.random(n) * (rng.random(n) < rng.choice([0.2, 1.0]))) @ generators
    if rng.random() < 0.5 or np.linalg.norm(inside) < 1e-3:
        return unit(rng.standard_normal(k))
    return unit(inside) + rng.choice([0.0, 1e-10]) * rng.standard_normal(k)


def check_optimal(generators, target, point):
    """x >= 0, the residual is what is left, and no generator makes an acute angle with it."""
    assert (point.multipliers > 0).all()
    rest = target - point.multipliers @ generators[point.support]
    np.testing.assert_allclose(point.residual, rest, atol=1e-12)
    assert point.distance == pytest.approx(np.linalg.norm(rest), abs=1e-13)
    assert (generators @ rest).max(initial=0.0) <= 1e-11 * max(point.distance, 0.1)
    assert np.linalg.matrix_rank(generators[point.support], tol=1e-13) == len(point.support)


@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 25))
def test_agrees_with_scipy(seed, k, n):
    rng = np.random.default_rng(seed)
    generators = random_generators(rng, n, k)
    target = random_target(rng, generators)
    _, distance = scipy.optimize.nnls(generators.T, target, maxiter=100 * n)
    point = nearest_in_cone(generators, target)
    assert point.converged
    assert point.distance == pytest.approx(distance, abs=1e-10)
    check_optimal(generators, target, point)
    residual = residuals_from_cone(generators, target[None])[0]
    np.testing.assert_array_equal(residual, point.residual)


@pytest.mark.parametrize("angle", [1e-4, 1e-6, 1e-8])
def test_generators_at_a_tiny_angle(angle):
    """A narrow cone contains its middle ray, and its edges are its own."""
    generators = np.array([[np.cos(angle), np.sin(angle), 0], [np.cos(angle), -np.sin(angle), 0]])
    middle = nearest_in_cone(generators, np.array([1.0, 0.0, 0.0]))
    assert middle.distance < 1e-15
    np.testing.assert_allclose(middle.multipliers, 0.5 / np.cos(angle), rtol=1e-6)
    edge = nearest_in_cone(generators[:1], generators[1])
    assert edge.distance == pytest.approx(np.sin(2 * angle), rel=1e-6)


@pytest.mark.parametrize("angle", [1e-3, 1e-5, 1e-7, 1e-8])
def test_a_tight_bundle_contains_its_combinations(angle):
    rng = np.random.default_rng(9)
    for _ in range(20):
        generators = unit(np.eye(7)[0] + angle * rng.standard_normal((12, 7)))
        target = unit(rng.random(12) @ generators)
        point = nearest_in_cone(generators, target)
        assert point.converged
        assert point.distance < 1e-12
        work = new_workspace(12, 7)
        transposed = np.ascontiguousarray(generators.T)
        size, _, _ = solve_nonnegative.compiled(transposed, 12, target[None], 0, work)
        basis = work.basis[:size]
        np.testing.assert_allclose(basis @ basis.T, np.eye(size), atol=1e-14)


@pytest.mark.parametrize("height", [1e-5, 1e-7, 1e-8])
def test_distance_from_a_face(height):
    """A target just above the face of e1 and e2 is its height away, and leans on both."""
    generators = unit(np.array([[1.0, 0, 0], [0, 1.0, 0], [1.0, 1.0, -1.0]]))
    target = unit(np.array([1.0, 2.0, height]))
    point = nearest_in_cone(generators, target)
    assert point.support.tolist() == [0, 1]
    assert point.distance == pytest.approx(target[2], rel=1e-6)
    np.testing.assert_allclose(point.residual, [0, 0, target[2]], atol=1e-15)


def test_opposite_generators_reach_everything():
    generators = np.concatenate([np.eye(3), -np.eye(3)])
    target = np.array([0.6, 0.0, -0.8])
    point = nearest_in_cone(generators, target)
    assert point.support.tolist() == [0, 5]
    np.testing.assert_allclose(point.multipliers, [0.6, 0.8])
    assert point.distance == 0.0


def test_nothing_helps():
    for generators in (np.zeros((0, 2)), np.array([[0.0, -1.0]]), np.array([[-1.0, 0.0]] * 3)):
        point = nearest_in_cone(generators, np.array([1.0, 0.0]))
        assert len(point.support) == 0
        assert point.distance == 1.0
        assert point.converged


def test_copies_do_no_harm():
    generators = np.repeat(unit(np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0]])), 5, axis=0)
    point = nearest_in_cone(generators, unit(np.array([1.0, 1.0, 0.0])))
    assert len(point.support) == 2
    assert point.distance < 1e-15


def test_plain_and_compiled_kernels_give_the_same_bits():
    rng = np.random.default_rng(2)
    for _ in range(20):
        k, n = int(rng.integers(1, 9)), int(rng.integers(1, 20))
        generators = random_generators(rng, n, k)
        target = random_target(rng, generators)
        outcomes = []
        for run in (solve_nonnegative.plain, solve_nonnegative.compiled):
            work = new_workspace(n, k)
            found = run(np.ascontiguousarray(generators.T), n, target[None], 0, work)
            outcomes.append((*found, work.multipliers.tobytes(), work.support.tobytes()))
        assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("seed", range(8))
def test_each_row_left_out_is_as_far_from_the_others_as_alone(seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((2 + seed, 1 + seed % 5))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    found = residuals_from_cone(rows)
    for number, row in enumerate(rows):
        alone = nearest_in_cone(np.delete(rows, number, axis=0), row)
        assert found[number].tolist() == alone.residual.tolist()


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(0, 14))
def test_needed_rows_are_those_that_the_rest_does_not_imply_in_their_turn(seed, k, n):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-2, 3, size=(n, k)) if seed % 2 else rng.standard_normal((n, k))
    rows = unit(rows[(rows != 0).any(axis=1)].astype(float))
    left = list(range(len(rows)))
    for row in range(len(rows)):
        rest = [other for other in left if other != row]
        if rest and scipy.optimize.nnls(rows[rest].T, rows[row], maxiter=1000)[1] < 1e-9:
            left = rest
    assert needed_rows(rows).tolist() == left
