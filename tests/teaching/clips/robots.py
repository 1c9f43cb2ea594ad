"""A point robot with a policy that is nearly optimal: value iteration on a fine grid."""

from functools import cache

import numpy as np
from scipy.sparse import csr_array

from didact.worlds.simulators.classics import MOVES, STRIDE, PointRobot
from tests.effort import number

SIDE = 41


@cache
def planned(n_features, seed, weights=None, discount=0.95):
    """The robot, and its policy for these weights (a tuple) or its own."""
    robot = PointRobot(n_features, seed=seed)
    own = robot.weights if weights is None else np.array(weights)
    places = np.stack(np.meshgrid(*[np.linspace(0, 1, SIDE)] * 2, indexing="ij"), -1).reshape(-1, 2)
    rewards = robot.features(places, None, None, None) @ own
    corners, shares = _between(_after(places).reshape(-1, 2))
    ends = np.arange(0, corners.size + 1, 4)
    ahead = csr_array((shares.ravel(), corners.ravel(), ends), shape=(len(ends) - 1, len(places)))
    values = np.zeros(len(places))
    for _ in range(number(250, 600)):
        values = rewards + discount * (ahead @ values).reshape(len(MOVES), -1).max(axis=0)

    def policy(observations):
        corner, x, y = _corner(_after(np.atleast_2d(observations)))
        low = values[corner] * (1 - y) + values[corner + 1] * y
        high = values[corner + SIDE] * (1 - y) + values[corner + SIDE + 1] * y
        return (low * (1 - x) + high * x).argmax(axis=0)

    return robot, policy


def mean_return(robot, policy, discount=0.95, n=300):
    """The mean return of a policy from the same places for all."""
    states, total, weight = robot.start(n, np.random.default_rng(7)), np.zeros(n), 1.0
    for _ in range(150):
        states, rewards, _ = robot.step(states, policy(states))
        total += weight * rewards
        weight *= discount
    return float(total.mean())


def _after(places):
    """Where every move leads, the moves first."""
    return np.clip(places + STRIDE * MOVES[:, None], 0, 1)


def _between(places):
    """Bilinear interpolation: the four corners around each place, and their shares."""
    corner, x, y = _corner(places)
    corners = np.stack([corner, corner + 1, corner + SIDE, corner + SIDE + 1], axis=-1)
    return corners, np.stack([(1 - x) * (1 - y), (1 - x) * y, x * (1 - y), x * y], axis=-1)


def _corner(places):
    """The lowest corner around each place, and how far across and along it lies from there."""
    at = places * (SIDE - 1)
    low = np.minimum(at.astype(int), SIDE - 2)
    x, y = np.moveaxis(at - low, -1, 0)
    return low[..., 0] * SIDE + low[..., 1], x, y
