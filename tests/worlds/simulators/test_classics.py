"""Pendulum and MountainCar: step by step what Gymnasium does, with policies that get there.

The other built-in policies are as good as an independent planner's, and best where a closed form
is."""

import gymnasium
import numpy as np
import pytest

import didact
from didact.errors import InvalidParameter
from didact.worlds.simulators.classics import (
    MOVES,
    STRIDE,
    TORQUES,
    MountainCar,
    Pendulum,
    PointRobot,
    best_moves,
)
from tests.teaching.clips.robots import mean_return, planned


def test_the_pendulum_is_that_of_gymnasium():
    env, other = Pendulum(), gymnasium.make("Pendulum-v1").unwrapped
    other.reset(seed=0)
    rng = np.random.default_rng(0)
    states = env.start(1, rng)
    other.state = states[0].copy()
    for _ in range(100):
        action = int(rng.integers(5))
        shown, reward, *_ = other.step(np.array([TORQUES[action]]))
        states, rewards, _ = env.step(states, [action])
        np.testing.assert_allclose(env.observe(states)[0], shown, atol=1e-5)
        np.testing.assert_allclose(rewards[0], reward, rtol=1e-6)


def test_the_car_is_that_of_gymnasium():
    env, other = MountainCar(), gymnasium.make("MountainCar-v0").unwrapped
    other.reset(seed=0)
    rng = np.random.default_rng(1)
    states = env.start(1, rng)
    other.state = states[0].copy()
    for _ in range(300):
        action = int(rng.integers(3)) if rng.random() < 0.3 else 2 * int(states[0, 1] > 0)
        shown, _, over, *_ = other.step(action)
        states, rewards, ended = env.step(states, [action])
        np.testing.assert_allclose(states[0], shown, atol=1e-6)
        assert rewards[0] == -1 - 0.3 * (action != 1)
        assert ended[0] == over
        if over:
            break
    assert over


def test_the_pendulum_comes_to_stand():
    env = Pendulum()
    policy, states = env.best_policy(0.95), env.start(40, np.random.default_rng(2))
    for _ in range(200):
        states, *_ = env.step(states, policy(env.observe(states)))
    assert (np.abs(states[:, 0]) < 0.2).mean() > 0.9


def test_the_car_reaches_the_flag_and_pushing_less_takes_longer():
    env, steps = MountainCar(), []
    for weights in ([1.0, 0.0, 0.0], [1.0, 0.5, 0.0]):
        policy, states = env.best_policy(0.99, weights), env.start(40, np.random.default_rng(3))
        taken, pushes = 0, 0
        while len(states) and taken < 400:
            actions = policy(states)
            pushes += int((actions != 1).sum())
            states, _, ended = env.step(states, actions)
            states, taken = states[~ended], taken + 1
        assert not len(states)
        steps.append((taken, pushes))
    assert steps[0][0] < steps[1][0]
    assert steps[0][1] > steps[1][1]


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
