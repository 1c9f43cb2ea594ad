"""The point robot's nearly best policy: value iteration on a fine grid, bilinear in between."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.numerics.compiled import inlined, kernel

Floats = NDArray[np.float64]

SIDE = 61
"""Places along each side of the grid."""
SETTLED = 1e-9
"""Change of values, against the largest one, at which iteration stops."""


class GridPolicy:
    """In every place the move whose end is worth most, by values (SIDE, SIDE) between 0 and 1."""

    def __init__(self, values: Floats, moves: Floats):
        self.values, self.moves = np.ascontiguousarray(values), np.ascontiguousarray(moves)

    def __call__(self, places: Any) -> NDArray[np.int64]:
        """Actions (n,) in places (n, 2)."""
        here = np.ascontiguousarray(np.atleast_2d(places), dtype=np.float64)
        actions = np.zeros(len(here), dtype=np.int64)
        best_moves.run(
            here.size * len(self.moves) * 8,
            here.ravel(),
            self.moves.ravel(),
            self.values.ravel(),
            actions,
        )
        return actions


def grid_policy(rewards_of: Any, moves: Floats, discount: float) -> GridPolicy:
    """The policy that is best on the grid.

    rewards_of: rewards (n,) of places (n, 2). moves: (A, 2), in side lengths; walls stop them.
    """
    line = np.linspace(0.0, 1.0, SIDE)
    places = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    rewards = rewards_of(places)
    after = np.clip(places + moves[:, None], 0.0, 1.0)
    between = _interpolation(after.reshape(-1, 2))
    values, size = np.zeros(len(places)), float(np.abs(rewards).max())
    while True:
        better = rewards + discount * (between @ values).reshape(len(moves), -1).max(axis=0)
        change = float(np.abs(better - values).max())
        values = better
        if change <= SETTLED * max(size / (1 - discount), 1e-300):
            return GridPolicy(values.reshape(SIDE, SIDE), moves)


def _interpolation(places: Floats) -> Any:
    """A matrix (n, SIDE * SIDE) whose product with values is their value at places (n, 2)."""
    from scipy.sparse import csr_array

    at = places * (SIDE - 1)
    low = np.minimum(at.astype(np.int64), SIDE - 2)
    part = at - low
    rows = np.repeat(np.arange(len(places)), 4)
    corner = low[:, 0] * SIDE + low[:, 1]
    columns = np.stack([corner, corner + 1, corner + SIDE, corner + SIDE + 1], axis=1)
    across, along = part.T
    shares = np.stack(
        [(1 - across) * (1 - along), (1 - across) * along, across * (1 - along), across * along],
        axis=1,
    )
    return csr_array((shares.ravel(), (rows, columns.ravel())), shape=(len(places), SIDE * SIDE))


@inlined
def value_at(values: Any, across: Any, along: Any) -> Any:
    """Bilinear interpolation at one place."""
    i = min(int(across * (SIDE - 1)), SIDE - 2)
    j = min(int(along * (SIDE - 1)), SIDE - 2)
    x, y = across * (SIDE - 1) - i, along * (SIDE - 1) - j
    corner = i * SIDE + j
    low = values[corner] * (1.0 - y) + values[corner + 1] * y
    high = values[corner + SIDE] * (1.0 - y) + values[corner + SIDE + 1] * y
    return low * (1.0 - x) + high * x


@kernel
def best_moves(places: Any, moves: Any, values: Any, actions: Any) -> None:
    """The first of the best moves in each place."""
    n_moves = len(moves) // 2
    for i in range(len(actions)):
        best, chosen = 0.0, 0
        for move in range(n_moves):
            across = min(max(places[2 * i] + moves[2 * move], 0.0), 1.0)
            along = min(max(places[2 * i + 1] + moves[2 * move + 1], 0.0), 1.0)
            worth = value_at(values, across, along)
            if move == 0 or worth > best:
                best, chosen = worth, move
        actions[i] = chosen
