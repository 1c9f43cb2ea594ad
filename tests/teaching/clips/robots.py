"""A point robot with a policy that is nearly optimal: value iteration on a fine grid."""

from functools import cache

import numpy as np

from didact.worlds.simulators.point_robot import MOVES, STRIDE, PointRobot
from tests.effort import number

SIDE = 41


@cache
def planned(n_features, seed, weights=None, discount=0.95):
    """The robot, and its policy for these weights (a tuple) or its own."""
    robot = PointRobot(n_features, seed=seed)
    own = robot.weights if weights is None else np.array(weights)
    places = np.stack(np.meshgrid(*[np.linspace(0, 1, SIDE)] * 2, indexing="ij"), -1).reshape(-1, 2)
    rewards = robot.features(places, None, None, None) @ own
    after = [np.clip(places + STRIDE * move, 0, 1) for move in MOVES]
    values = np.zeros(len(places))
    for _ in range(number(250, 600)):
        values = rewards + discount * np.max([_between(values, there) for there in after], axis=0)

    def policy(observations):
        here = np.atleast_2d(observations)
        there = [_between(values, np.clip(here + STRIDE * move, 0, 1)) for move in MOVES]
        return np.argmax(there, axis=0)

    return robot, policy


def mean_return(robot, policy, discount=0.95, n=300):
    """The mean return of a policy from the same places for all."""
    states, total, weight = robot.start(n, np.random.default_rng(7)), np.zeros(n), 1.0
    for _ in range(150):
        states, rewards, _ = robot.step(states, policy(states))
        total += weight * rewards
        weight *= discount
    return float(total.mean())


def _between(values, places):
    """Bilinear interpolation."""
    at = places * (SIDE - 1)
    low = np.minimum(at.astype(int), SIDE - 2)
    (x, y), (i, j) = (at - low).T, low.T
    table = values.reshape(SIDE, SIDE)
    left = table[i, j] * (1 - y) + table[i, j + 1] * y
    return left * (1 - x) + (table[i + 1, j] * (1 - y) + table[i + 1, j + 1] * y) * x
