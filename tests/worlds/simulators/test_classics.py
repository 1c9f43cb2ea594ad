"""Pendulum and MountainCar: step by step what Gymnasium does, with policies that get there."""

import gymnasium
import numpy as np

from didact.worlds.simulators.classics import TORQUES, MountainCar, Pendulum


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
