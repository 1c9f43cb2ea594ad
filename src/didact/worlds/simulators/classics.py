"""Pendulum and MountainCar as array simulators: Gymnasium's equations, many copies at once.

The pendulum has five torques. The car pays for every step and for pushing, so that there is more
than one thing to learn; both bring features, weights and a policy by value iteration on a grid.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.worlds.simulators.grid_plans import GridPlan
from didact.worlds.simulators.weights import as_weights

Floats = NDArray[np.float64]

TORQUES = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])


class Pendulum:
    """Array simulator: states (n, 2) are angle and speed, actions 0 to 4 are TORQUES."""

    feature_names = ("-angle^2", "-speed^2", "-torque^2")

    def __init__(self, weights: Any = None):
        from gymnasium import spaces

        self.weights = as_weights([1.0, 0.1, 0.001] if weights is None else weights, 3)
        self.action_space = spaces.Discrete(len(TORQUES))
        self.observation_space = spaces.Box(-8.0, 8.0, (3,), np.float64)

    def start(self, n: int, rng: np.random.Generator) -> Floats:
        """Any angle, slow."""
        return np.stack([rng.uniform(-np.pi, np.pi, n), rng.uniform(-1.0, 1.0, n)], axis=1)

    def step(self, states: Floats, actions: Any) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """A twentieth of a second."""
        angle, speed = states.T
        torque = TORQUES[np.asarray(actions, dtype=np.int64)]
        faster = np.clip(speed + (15.0 * np.sin(angle) + 3.0 * torque) * 0.05, -8.0, 8.0)
        after = np.stack([_turned(angle + faster * 0.05), faster], axis=1)
        rewards = self._features(states, torque) @ self.weights
        return after, rewards, np.zeros(len(states), dtype=np.bool_)

    def observe(self, states: Floats) -> Floats:
        """Cosine and sine of the angle, and the speed."""
        return np.stack([np.cos(states[:, 0]), np.sin(states[:, 0]), states[:, 1]], axis=1)

    def features(self, observation: Any, action: Any, after: Any, ended: Any) -> Floats:
        """Minus the squares of angle, speed and torque, (n, 3)."""
        torque = TORQUES[np.asarray(action, dtype=np.int64)]
        return self._features(self.state_of(observation), torque)

    def _features(self, states: Floats, torque: Floats) -> Floats:
        return -np.stack([states[:, 0] ** 2, states[:, 1] ** 2, torque**2], axis=1)

    @staticmethod
    def state_of(observations: Any) -> Floats:
        """Angle and speed of what is seen."""
        seen = np.atleast_2d(observations)
        return np.stack([np.arctan2(seen[:, 1], seen[:, 0]), seen[:, 2]], axis=1)

    def best_policy(self, discount: float, weights: Any = None) -> GridPlan:
        """A policy that is nearly best for these weights, or for the world's own."""
        own = self.weights if weights is None else as_weights(weights, 3)
        box = {"low": (-np.pi, -8.0), "high": (np.pi, 8.0), "sides": (81, 81)}
        return GridPlan(self, own, discount, **box, state_of=self.state_of)  # type: ignore[arg-type]


def _turned(angle: Floats) -> Floats:
    """The angle between -pi and pi."""
    return np.asarray((angle + np.pi) % (2 * np.pi) - np.pi)


class MountainCar:
    """Array simulator: states (n, 2) are place and speed, actions 0 left, 1 rest, 2 right."""

    feature_names = ("-step", "-push", "-speed")

    def __init__(self, weights: Any = None):
        from gymnasium import spaces

        self.weights = as_weights([1.0, 0.3, 0.0] if weights is None else weights, 3)
        self.action_space = spaces.Discrete(3)
        self.observation_space = spaces.Box(-1.2, 0.6, (2,), np.float64)

    def start(self, n: int, rng: np.random.Generator) -> Floats:
        """At rest in the valley."""
        return np.stack([rng.uniform(-0.6, -0.4, n), np.zeros(n)], axis=1)

    def step(self, states: Floats, actions: Any) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """One step; the episode ends at the flag."""
        place, speed = states.T
        push = np.asarray(actions) - 1
        faster = np.clip(speed + push * 0.001 - np.cos(3 * place) * 0.0025, -0.07, 0.07)
        there = np.clip(place + faster, -1.2, 0.6)
        faster = np.where((there <= -1.2) & (faster < 0), 0.0, faster)
        rewards = self.features(states, actions, None, None) @ self.weights
        return np.stack([there, faster], axis=1), rewards, there >= 0.5

    def features(self, observation: Any, action: Any, after: Any, ended: Any) -> Floats:
        """Minus 1, minus whether it pushes, minus how quick it is (as a share), (n, 3)."""
        states = np.atleast_2d(observation)
        pushes = (np.asarray(action) != 1).astype(float)
        return -np.stack([np.ones(len(states)), pushes, np.abs(states[:, 1]) / 0.07], axis=1)

    def best_policy(self, discount: float, weights: Any = None) -> GridPlan:
        """A policy that is nearly best for these weights, or for the world's own."""
        own = self.weights if weights is None else as_weights(weights, 3)
        box = {"low": (-1.2, -0.07), "high": (0.6, 0.07), "sides": (121, 121)}
        return GridPlan(self, own, discount, **box)  # type: ignore[arg-type]
