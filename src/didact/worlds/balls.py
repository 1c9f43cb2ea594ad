"""The ball-sorting table."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from didact.errors import InvalidParameter
from didact.inputs import whole_number
from didact.mdp import Task
from didact.random import Seed, as_generator
from didact.worlds.grids import grid_task, one_hot
from didact.worlds.weights import draw_unit_weights

FEATURE_NAMES = ("table", "bin 1", "bin 2", "bin 3", "bin 4")


def ball_sorting(
    size: int = 6,
    starts: int | None = None,
    weights: Any = None,
    discount: Any = 0.95,
    seed: Seed = 0,
) -> Task:
    """The paper's ball-sorting table: four bins in the corners end the episode; five features.

    Bins 1 to 4 are the corners row by row. `starts` is how many positions the ball may start from,
    a square number n*n: n evenly spaced rows times n evenly spaced columns, without the bins, where
    there is nothing to show. None is all of them; the paper has 36 on its 6 x 6 table in a caption
    and the appendix, and 25 in the text. Without `weights` they are drawn by `seed`, uniform on the
    signed L1 unit sphere.
    """
    size = whole_number(size, "size", 3, 3000)
    per_side = _starts_per_side(size, starts)
    active = np.zeros((size, size), dtype=np.int64)
    active[0, 0], active[0, -1], active[-1, 0], active[-1, -1] = 1, 2, 3, 4
    terminal = (active > 0).ravel()
    spaced = np.round(np.linspace(0, size - 1, per_side)).astype(np.int64)
    positions = (spaced[:, None] * size + spaced).ravel()
    positions = positions[~terminal[positions]]
    if weights is None:
        weights = draw_unit_weights(len(FEATURE_NAMES), as_generator(seed, "ball-sorting"))
    return grid_task(
        np.ones((size, size), dtype=np.bool_),
        one_hot(active.ravel(), len(FEATURE_NAMES)),
        weights,
        terminal=terminal,
        discount=discount,
        start=[(position, Fraction(1, positions.size)) for position in positions.tolist()],
        feature_names=FEATURE_NAMES,
        name="ball-sorting",
    )


def _starts_per_side(size: int, starts: int | None) -> int:
    if starts is None:
        return size
    starts = whole_number(starts, "starts", 9, size * size)
    root = math.isqrt(starts)
    if root * root != starts:
        raise InvalidParameter(
            f"starts must be a square number, since starts are n rows times n columns; "
            f"it is {starts}. Take {root * root} or {min(root + 1, size) ** 2}"
        )
    return root
