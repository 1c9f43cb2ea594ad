"""Distances to cones, and the reward behind what a policy does."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog, nnls

import didact
from didact.bec.observed.openness import (
    _nothing_explains,
    distances_to_cone,
    nearest_to_observed,
)
from didact.report.page.simulators import simulator_page
from didact.report.words.observed import lesson_document
from didact.worlds.simulators.classics import PointRobot
from tests.bec.observed.test_observe import Coin, watch


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


def test_a_policy_for_another_reward_is_explained_by_that_one():
    robot = PointRobot(3, seed=4)
    other = np.array([0.2, -0.9, 0.4])
    seen = watch(robot, robot.best_policy(0.9, other), n_rollouts=15, length=15)
    near = nearest_to_observed(seen)
    assert near.mistaken < 0.5 * seen.mistaken.mean()
    # rewards that differ by a constant ask for the same
    there, here = (w - w.mean() for w in (other, near.weights))
    assert there @ here / np.linalg.norm(there) / np.linalg.norm(here) > 0.95


def test_a_policy_that_errs_everywhere_is_told_what_it_seems_to_want():
    env = Coin()
    env.weights = np.array([1.0, 0.0])
    seen = watch(env, lambda o: np.ones(len(np.atleast_2d(o)), dtype=int), tolerance=0.1)
    assert seen.mistaken.all()
    lesson = didact.certify(seen, didact.teach(seen), n_states=100)
    assert not lesson.clips
    told = lesson.certificate
    assert not told.holds
    assert (told.n_mistaken, told.mistaken_share) == (100, 1.0)
    # p^100 is a third of what the first round may spend, 5% of 6 / pi^2
    assert told.least_mistaken == pytest.approx((0.1 / np.pi**2) ** 0.01, abs=1e-9)
    assert "Nothing is taught: the policy errs by more than 0.1 return in each of" in repr(lesson)
    assert f"in {told.least_mistaken:.2%} to 100.00% the policy itself errs" in repr(lesson)
    half = float(re.search(r"at ([\d.]+) half of these", repr(lesson))[1])
    larger = replace(seen, setting=replace(seen.setting, tolerance=1.05 * half))
    assert larger.mistaken.mean() <= 0.5
    page = simulator_page(lesson)
    assert "Nothing: the policy errs by more than 0.1 return" in page
    assert "in 100 of them the policy itself errs" in page
    document = lesson_document(lesson)
    assert document["nearest"]["mistaken"] == 0.0
    assert document["certificate"]["least_mistaken"] == told.least_mistaken
    assert not any(didact.learn(seen, lesson, learner="max-margin").weights)
    near = nearest_to_observed(seen)
    np.testing.assert_allclose(near.weights, np.array([-1, 1]) / np.sqrt(2), atol=1e-6)
    assert near.unexplained == 0.0


def test_rollouts_that_all_have_a_mistake_are_told_apart():
    env = Coin()
    env.weights = np.array([1.0, 0.0])
    seen = watch(env, lambda o: np.zeros(len(np.atleast_2d(o)), dtype=int), tolerance=0.1)
    seen.__dict__["mistaken"] = seen.step == 2
    rollouts = didact.teach(seen, demonstrations="rollouts")
    assert rollouts.is_empty
    assert "in every rollout; show clips of them (demonstrations='clips')" in rollouts.statement()
    assert didact.teach(seen).clips


@pytest.mark.parametrize("seed", range(30))
def test_what_no_reward_explains_by_a_linear_program(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(int(rng.integers(2, 9)), 3))
    # some reward explains it when a weight vector in the box gives one row a margin and none less
    best = linprog(-rows.sum(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=[(-1, 1)] * 3)
    assert _nothing_explains(rows, 1e-9) == (-best.fun < 1e-9)
