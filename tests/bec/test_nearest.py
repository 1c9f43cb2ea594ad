"""The reward behind what a policy does, where it is not the one it was given."""

import numpy as np
import pytest
from scipy.optimize import linprog

import didact
from didact.bec.nearest import _nothing_explains, nearest_reward
from didact.errors import InvalidModel
from didact.worlds.simulators.point_robot import PointRobot
from tests.bec.test_observe import Coin, watch


def test_a_policy_for_another_reward_is_explained_by_that_one():
    robot = PointRobot(3, seed=4)
    other = np.array([0.2, -0.9, 0.4])
    seen = watch(robot, robot.best_policy(0.9, other), n_rollouts=15, length=15)
    near = nearest_reward(seen)
    assert near.mistaken < 0.5 * seen.mistaken.mean()
    # rewards that differ by a constant ask for the same
    there, here = (w - w.mean() for w in (other, near.weights))
    assert there @ here / np.linalg.norm(there) / np.linalg.norm(here) > 0.95


def test_a_policy_that_errs_everywhere_is_told_what_it_seems_to_want():
    env = Coin()
    env.weights = np.array([1.0, 0.0])
    seen = watch(env, lambda o: np.ones(len(np.atleast_2d(o)), dtype=int), tolerance=0.1)
    assert seen.mistaken.all()
    with pytest.raises(InvalidModel, match=r"errs by more than 0.1 return in every situation") as e:
        didact.teach(seen)
    assert "\n" not in str(e.value)
    assert "errs in 0%" in str(e.value)
    near = nearest_reward(seen)
    np.testing.assert_allclose(near.weights, np.array([-1, 1]) / np.sqrt(2), atol=1e-6)
    assert near.unexplained == 0.0


def test_rollouts_that_all_have_a_mistake_are_told_apart():
    env = Coin()
    env.weights = np.array([1.0, 0.0])
    seen = watch(env, lambda o: np.zeros(len(np.atleast_2d(o)), dtype=int), tolerance=0.1)
    seen.__dict__["mistaken"] = seen.step == 2
    with pytest.raises(InvalidModel, match="demonstrations='clips'"):
        didact.teach(seen, demonstrations="rollouts")
    assert didact.teach(seen).clips


@pytest.mark.parametrize("seed", range(30))
def test_what_no_reward_explains_by_a_linear_program(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(int(rng.integers(2, 9)), 3))
    # some reward explains it when a weight vector in the box gives one row a margin and none less
    best = linprog(-rows.sum(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=[(-1, 1)] * 3)
    assert _nothing_explains(rows, 1e-9) == (-best.fun < 1e-9)
