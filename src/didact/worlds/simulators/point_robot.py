"""A robot on a square floor: it walks in eight directions or rests, and the ground is its reward.

The features of a place are how much it belongs to each of k kinds of ground: soft patches around
centres that a seed decides, and what no patch takes is plain ground. All numbers are functions of
the place, so lessons can be told on a map.

Its nearly best policy is value iteration on a fine grid, bilinear in between.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.inputs import whole_number
from didact.numerics.compiled import kernel
from didact.random import stream
from didact.worlds.simulators.batches import as_weights

Floats = NDArray[np.float64]

STRIDE = 0.05
"""Side lengths that a step takes."""
PATCHES = 3
"""Of each kind of ground but the plain one."""
WIDTH = 0.12
"""Of a patch: its standard deviation."""

MOVES = np.array(
    [(0.0, 0.0), *((math.cos(turn), math.sin(turn)) for turn in np.arange(8) * math.pi / 4)]
)
"""Rest, then the eight directions, counter-clockwise from the right."""


class PointRobot:
    """Array simulator: states (n, 2) are places in the unit square, actions 0 to 8.

    n_features: kinds of ground, plain ground last. seed: of the patches' places, and of the
    weights where none are given.
    """

    action_names = ("rest", "right", "up and right", "up", "up and left", "left",
                    "down and left", "down", "down and right")  # fmt: skip
    axis_names = ("across", "up")

    def __init__(self, n_features: int = 4, seed: int = 0, weights: Any = None):
        from gymnasium import spaces

        self.n_features = whole_number(n_features, "n_features", 2)
        rng = stream(seed, "point-robot", self.n_features)
        self.centres: Floats = rng.random(((self.n_features - 1) * PATCHES, 2))
        drawn = rng.normal(size=self.n_features)
        self.weights: Floats = (
            drawn / np.linalg.norm(drawn)
            if weights is None
            else as_weights(weights, self.n_features)
        )
        self.action_space = spaces.Discrete(len(MOVES))
        self.observation_space = spaces.Box(0.0, 1.0, (2,), np.float64)
        names = [f"patch {kind}" for kind in range(self.n_features - 1)]
        self.feature_names = (*names, "plain ground")

    @property
    def marks(self) -> list[tuple[str, float, float, float]]:
        """Name, place and radius of every patch, for pictures."""
        kinds = np.repeat(self.feature_names[:-1], PATCHES).tolist()
        return [
            (name, x, y, WIDTH) for name, (x, y) in zip(kinds, self.centres.tolist(), strict=True)
        ]

    def best_policy(self, discount: float, weights: Any = None) -> GridPolicy:
        """A policy that is nearly best for these weights, or for the world's own."""
        own = self.weights if weights is None else as_weights(weights, self.n_features)
        return grid_policy(
            lambda places: self.features(places, None, places, None) @ own, STRIDE * MOVES, discount
        )

    def start(self, n: int, rng: np.random.Generator) -> Floats:
        """Places where episodes begin: anywhere."""
        return rng.random((n, 2))

    def step(self, states: Floats, actions: Any) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """The places after a step, and what the ground before it was worth; nothing ever ends."""
        after = np.empty_like(states)
        chosen = np.ascontiguousarray(actions, dtype=np.int64)
        walk.run(states.size * 4, np.ascontiguousarray(states).ravel(), chosen, MOVES.ravel(),
                 after.ravel())  # fmt: skip
        rewards = self.features(states, chosen, after, None) @ self.weights
        return after, rewards, np.zeros(len(states), dtype=np.bool_)

    def features(self, observation: Floats, action: Any, after: Floats, ended: Any) -> Floats:
        """How much the place before a step belongs to each kind of ground, (n, k)."""
        places = np.atleast_2d(observation)
        found = np.empty((len(places), self.n_features))
        ground.run(found.size * PATCHES * 8, np.ascontiguousarray(places).ravel(),
                   self.centres.ravel(), found.ravel())  # fmt: skip
        return found


@kernel
def walk(states: Any, actions: Any, moves: Any, after: Any) -> None:
    """One stride of each robot; walls stop it."""
    for i in range(len(actions)):
        for axis in range(2):
            place = states[2 * i + axis] + STRIDE * moves[2 * actions[i] + axis]
            after[2 * i + axis] = min(max(place, 0.0), 1.0)


@kernel
def ground(places: Any, centres: Any, found: Any) -> None:
    """Shares of the kinds of ground: the nearest patch of each kind, and what is left."""
    n_places = len(places) // 2
    k = len(found) // max(n_places, 1)
    for i in range(n_places):
        left = 1.0
        for kind in range(k - 1):
            nearest = 8.0
            for patch in range(PATCHES):
                at = 2 * (kind * PATCHES + patch)
                across = places[2 * i] - centres[at]
                along = places[2 * i + 1] - centres[at + 1]
                nearest = min(nearest, across * across + along * along)
            share = left * math.exp(-nearest / (2.0 * WIDTH * WIDTH))
            found[i * k + kind] = share
            left -= share
        found[i * k + k - 1] = left


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


@kernel
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
