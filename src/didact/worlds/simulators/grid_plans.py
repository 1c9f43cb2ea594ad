"""Nearly best policies of array simulators with two numbers of state: value iteration on a grid.

The grid covers a box; between its places values are bilinear, and outside of it those of the
nearest place. The policy looks one step ahead from where it really is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SETTLED = 1e-6
"""Change of values, against the largest possible one, at which iteration stops."""


class GridPlan:
    """A policy that takes the action whose reward and next value are worth most.

    simulator: with `step` and `features` of arrays. state_of: states from observations, where they
    are not the same.
    """

    def __init__(
        self,
        simulator: Any,
        weights: Floats,
        discount: float,
        *,
        low: Any,
        high: Any,
        sides: tuple[int, int],
        state_of: Callable[[Any], Floats] = np.atleast_2d,
    ):
        self._simulator, self._weights, self._discount = simulator, weights, discount
        self._low, self._high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
        self._sides, self._state_of = sides, state_of
        self._values = self._iterated()

    def __call__(self, observations: Any) -> NDArray[np.int64]:
        """The action in each observation."""
        states = self._state_of(observations)
        worth = [
            reward + self._discount * np.where(ended, 0.0, self._worth(after))
            for reward, after, ended in (self._ahead(states, action) for action in self._actions())
        ]
        return np.asarray(np.argmax(worth, axis=0))

    def _actions(self) -> range:
        return range(int(self._simulator.action_space.n))

    def _ahead(self, states: Floats, action: int) -> tuple[Floats, Floats, Any]:
        actions = np.full(len(states), action)
        after, _, ended = self._simulator.step(states, actions)
        look = getattr(self._simulator, "observe", lambda given: given)
        phi = self._simulator.features(look(states), actions, look(after), ended)
        return phi @ self._weights, after, ended

    def _iterated(self) -> Floats:
        ends = zip(self._low, self._high, self._sides, strict=True)
        lines = [np.linspace(low, high, side) for low, high, side in ends]
        places = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, 2)
        steps = [self._ahead(places, action) for action in self._actions()]
        moves = [self._between(after) * ~ended[:, None] for _, after, ended in steps]
        rewards = [reward for reward, _, _ in steps]
        most = max(float(np.abs(reward).max()) for reward in rewards) / (1 - self._discount)
        values = np.zeros(len(places))
        while True:
            ahead = zip(rewards, moves, strict=True)
            better = np.max([r + self._discount * (m @ values) for r, m in ahead], axis=0)
            change = float(np.abs(better - values).max())
            values = better
            if change <= SETTLED * max(most, 1e-300):
                return np.asarray(values)

    def _worth(self, states: Floats) -> Floats:
        """The value of each state."""
        corners, shares = self._corners(states)
        first, second, third, fourth = shares * self._values[corners]
        return np.asarray(first + second + third + fourth)

    def _between(self, states: Floats) -> Any:
        """A matrix whose product with values is the value of each state."""
        from scipy.sparse import csr_array

        corners, shares = self._corners(states)
        rows = np.tile(np.arange(len(states)), 4)
        shape = (len(states), self._sides[0] * self._sides[1])
        return csr_array((shares.ravel(), (rows, corners.ravel())), shape=shape)

    def _corners(self, states: Floats) -> tuple[NDArray[np.int64], Floats]:
        """The four places of the grid around each state, and how much each counts, (4, n)."""
        top = np.array(self._sides) - 1
        at = np.clip((states - self._low) / (self._high - self._low), 0.0, 1.0) * top
        low = np.minimum(at.astype(np.int64), top - 1)
        (x, y), corner = (at - low).T, low[:, 0] * self._sides[1] + low[:, 1]
        next_row = self._sides[1]
        corners = np.stack([corner, corner + 1, corner + next_row, corner + next_row + 1])
        return corners, np.stack([(1 - x) * (1 - y), (1 - x) * y, x * (1 - y), x * y])
