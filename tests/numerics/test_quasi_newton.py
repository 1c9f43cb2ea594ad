"""The BFGS update: against the textbook's formula, and what it promises."""

import numpy as np
import pytest

from didact.numerics.quasi_newton import bfgs_update

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
