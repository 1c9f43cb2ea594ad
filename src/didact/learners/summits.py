"""Search for the highest summit on the unit sphere: many looks, some climbs, kicks from the best.

A likelihood of pairs is not concave: how a learner goes on where nothing was shown depends on its
weights, and each way to go on can have a summit of its own. No search proves that it found the
highest one. What it can say is how many climbs found the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from didact.errors import InvalidParameter
from didact.learners.ascent import Ascent, Function, ascend
from didact.numerics.exact import Floats, shown

Norm = Literal["l2-sphere", "l1-sphere"]
ORDERS: dict[str, Literal[1, 2]] = {"l2-sphere": 2, "l1-sphere": 1}

LOOKS = 128
"""Directions looked at for each start that is climbed from."""
LEADING_STEPS = 60
"""Steps on a function that only has to show the way."""
KICKS = (0.3, 0.6)
"""How far from the best summit the search goes on."""
AS_HIGH = 1e-7
"""Difference of values, against their size, below which two summits count as equally high."""


@dataclass(frozen=True, eq=False)
class Search:
    """The best summit found, and how much speaks for it.

    n_reached: how many of the n_climbs climbs ended as high as the best.
    """

    best: Ascent
    n_climbs: int
    n_reached: int


def spread_directions(rng: np.random.Generator, n: int, n_features: int) -> Floats:
    """Unit vectors (n, k) that point apart: random orthonormal frames, each vector both ways.

    A line has two directions only, and both are taken.
    """
    if n_features == 1:
        return np.array([[1.0], [-1.0]])
    directions: list[Floats] = []
    while len(directions) < n:
        frame, _ = np.linalg.qr(rng.standard_normal((n_features, n_features)))
        directions += [sign * vector for vector in frame.T for sign in (1.0, -1.0)]
    return np.array(directions[:n])
