"""The built-in policies: as good as an independent planner's, and best where a closed form is."""

import numpy as np
import pytest

import didact
from didact.errors import InvalidParameter
from didact.worlds.simulators.point_robot import MOVES, STRIDE, PointRobot, best_moves
from tests.teaching.clips.robots import mean_return, planned


def test_the_policy_earns_what_an_independent_planner_earns():
    robot, other = planned(4, seed=2)
    own = mean_return(robot, robot.best_policy(0.95))
    assert own > mean_return(robot, other) - 1e-3  # its grid is finer
    assert own > mean_return(robot, lambda places: np.zeros(len(places), dtype=int)) + 0.1


def test_values_that_rise_to_one_corner_lead_there():
    robot = PointRobot(3, seed=0)
    policy = robot.best_policy(0.9)
    line = np.linspace(0, 1, len(policy.values))
    policy.values = np.ascontiguousarray(line[:, None] + line[None])
    assert (policy(np.random.default_rng(0).random((50, 2)) * 0.9) == 2).all()  # up and right


def test_compiled_and_plain_choose_the_same():
    robot = PointRobot(4, seed=1)
    policy = robot.best_policy(0.9)
    places = np.random.default_rng(0).random((200, 2)).ravel()
    chosen = [np.zeros(200, dtype=np.int64) for _ in range(2)]
    moves = (STRIDE * MOVES).ravel()
    best_moves.plain(places, moves, policy.values.ravel(), chosen[0])
    best_moves.compiled(places, moves, policy.values.ravel(), chosen[1])
    np.testing.assert_array_equal(*chosen)


@pytest.mark.parametrize("name", ["point-robot", "lqr"])
def test_built_in_simulators_need_nothing_else(name):
    seen = didact.observe(name, discount=0.9, n_rollouts=5, length=8)
    assert len(seen.rows) == 40
    assert seen.setting.feature_names[0] in ("patch 0", "-x0^2")
    assert seen.residual < 1e-9


def test_others_must_be_given_a_policy_and_features():
    with pytest.raises(InvalidParameter, match="features must be given"):
        didact.observe("CartPole-v1", lambda o: 0)
    with pytest.raises(InvalidParameter, match="policy must be given"):
        didact.observe("CartPole-v1", features=lambda *step: [1.0])
