"""A linear system with quadratic costs: the one continuous world with a closed form.

x' = A x + B u, and the reward of a step is -sum_i w_i x_i^2 - sum_j w_(d+j) u_j^2: linear in the
weights, with the squares as features. The best policy of a discounted problem is u = -K x.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidParameter
from didact.worlds.simulators.weights import as_weights

Floats = NDArray[np.float64]

LARGEST = 10.0
"""Actions are between -LARGEST and LARGEST."""


class LQR:
    """Array simulator: states (n, d) and actions (n, m) are vectors.

    moves: A, (d, d). pushes: B, (d, m). weights: of the squares of states and then of actions, all
    positive. By default a mass on a line: its place and speed, pushed by a force.
    """

    def __init__(self, moves: Any = None, pushes: Any = None, weights: Any = None):
        from gymnasium import spaces

        self.moves = np.array([[1.0, 0.1], [0.0, 1.0]] if moves is None else moves, dtype=float)
        self.pushes = np.array([[0.0], [0.1]] if pushes is None else pushes, dtype=float)
        n_places, n_forces = self.pushes.shape
        if self.moves.shape != (n_places, n_places):
            raise InvalidParameter(
                f"moves must be ({n_places}, {n_places}), as pushes have {n_places} rows; the "
                f"shape is {self.moves.shape}"
            )
        k = n_places + n_forces
        self.weights = as_weights([1.0] * n_places + [0.1] * n_forces if weights is None
                                  else weights, k)  # fmt: skip
        self.action_space = spaces.Box(-LARGEST, LARGEST, (n_forces,), np.float64)
        self.observation_space = spaces.Box(-np.inf, np.inf, (n_places,), np.float64)
        self.feature_names = (
            *(f"-x{i}^2" for i in range(n_places)),
            *(f"-u{j}^2" for j in range(n_forces)),
        )

    def start(self, n: int, rng: np.random.Generator) -> Floats:
        """Standard normal states."""
        return rng.normal(size=(n, len(self.moves)))

    def step(self, states: Floats, actions: Any) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """The linear step, and the costs of where it began."""
        forces = np.clip(np.reshape(actions, (len(states), -1)), -LARGEST, LARGEST)
        after = states @ self.moves.T + forces @ self.pushes.T
        rewards = self.features(states, forces, after, None) @ self.weights
        return after, rewards, np.zeros(len(states), dtype=np.bool_)

    def features(self, observation: Any, action: Any, after: Any, ended: Any) -> Floats:
        """Minus the squares of the state and of the action, (n, k)."""
        states = np.atleast_2d(observation)
        forces = np.clip(np.reshape(action, (len(states), -1)), -LARGEST, LARGEST)
        return np.concatenate([-(states**2), -(forces**2)], axis=1)

    def gain(self, discount: float, weights: Any = None) -> Floats:
        """K of the best policy u = -K x, (m, d), for these weights or the world's own."""
        own = self.weights if weights is None else as_weights(weights, len(self.weights))
        from scipy.linalg import solve_discrete_are

        d, root = len(self.moves), np.sqrt(discount)
        moves, pushes = root * self.moves, root * self.pushes
        places, forces = np.diag(own[:d]), np.diag(own[d:])
        worth = solve_discrete_are(moves, pushes, places, forces)
        return np.linalg.solve(forces + pushes.T @ worth @ pushes, pushes.T @ worth @ moves)

    def best_policy(self, discount: float, weights: Any = None) -> Callable[[Any], Floats]:
        """u = -K x with the gain for these weights, or for the world's own."""
        gain = self.gain(discount, weights)
        return partial(_pushed, gain)


def _pushed(gain: Floats, states: Any) -> Floats:
    found: Floats = -np.atleast_2d(states) @ gain.T
    return found
