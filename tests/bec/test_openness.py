"""Distances to cones: against SciPy's NNLS, the optimality conditions, and the plain kernel."""

import numpy as np
import pytest
from scipy.optimize import nnls

from didact.bec.nnls import Generators, new_fit
from didact.bec.openness import distances_to_cone, find_distances


@pytest.mark.parametrize("seed", range(20))
def test_distances_are_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    m, k = rng.integers(1, 30), rng.integers(1, 8)
    generators = rng.normal(size=(m, k)) * 10.0 ** rng.integers(-3, 4, size=(m, 1))
    generators[rng.random(m) < 0.1] = 0.0
    rows = np.concatenate([rng.normal(size=(20, k)) * 7, generators[:3], np.zeros((1, k))])
    found = distances_to_cone(generators, rows)
    sizes = np.maximum(np.linalg.norm(generators, axis=1), 1e-300)
    for row, length, residual in zip(rows, found.lengths, found.residuals, strict=True):
        assert length == pytest.approx(nnls((generators / sizes[:, None]).T, row)[1], abs=1e-9)
        assert np.linalg.norm(residual) == pytest.approx(length, abs=1e-12)


def test_the_residual_is_the_reward_that_prefers_the_other_action_most():
    rng = np.random.default_rng(3)
    generators = rng.normal(size=(5, 4)) + 1.0
    row = rng.normal(size=4) - 1.0
    length, residual = (part[0] for part in distances_to_cone(generators, row[None]))
    witness = -residual / length
    assert (generators @ witness >= -1e-9).all(), "it fits what was shown"
    assert -row @ witness == pytest.approx(length)
    for other in rng.normal(size=(2000, 4)):
        if (generators @ other >= 0).all():
            assert -row @ other / np.linalg.norm(other) <= length + 1e-9


def test_a_cone_of_nothing_leaves_everything_open():
    rows = np.array([[3.0, 4.0]])
    assert distances_to_cone(np.empty((0, 2)), rows).lengths == pytest.approx([5.0])
    assert distances_to_cone(np.zeros((2, 2)), rows).lengths == pytest.approx([5.0])


def test_compiled_and_plain_give_the_same_bits():
    rng = np.random.default_rng(1)
    units = rng.normal(size=(12, 5))
    units /= np.linalg.norm(units, axis=1)[:, None]
    targets = rng.normal(size=(30, 5)).ravel()
    answers = []
    for run in (find_distances.run_plain, find_distances.compiled):
        found, residuals = np.zeros(30), np.zeros(150)
        run(Generators(units.ravel(order="F"), 12), targets, new_fit(12, 5), found, residuals)
        answers.append((found.tobytes(), residuals.tobytes()))
    assert answers[0] == answers[1]
