"""Rows of whole numbers that fit into 64 bits, all at once.

Paths that merge make short differences: rows of grid worlds are products and sums of a few digits.
Where a bound on their sizes, found beforehand, says that none of them can leave 64 bits, NumPy's
integers are as exact as Python's; where it does not, there is no answer, and long integers decide.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

SAFE = 2.0**61
"""Products below it can be subtracted; it leaves room for the rounding of the bound."""

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""Odd, and far from any number of a row."""


def short_differences(
    whole: Sequence[tuple[tuple[int, ...], int]], better: Integers, worse: Integers
) -> Integers | None:
    """The directions of counts[better[i]] - counts[worse[i]], (n, k), as primitive vectors.

    whole: counts as whole numbers, and what they are divided by. None where they may be too long.
    """
    try:
        numbers = np.array([numbers for numbers, _ in whole], dtype=np.int64)
        below = np.array([below for _, below in whole], dtype=np.int64)
    except OverflowError:
        return None
    left_below, right_below = below[better], below[worse]
    common = np.gcd(left_below, right_below)
    up, down = right_below // common, left_below // common
    sizes = np.abs(numbers.astype(np.float64)).max(axis=1, initial=0.0)
    reach = np.maximum(sizes[better] * up, sizes[worse] * down)
    if not reach.max(initial=0.0) < SAFE:
        return None
    rows = numbers[better] * up[:, None] - numbers[worse] * down[:, None]
    rows //= np.maximum(np.gcd.reduce(rows, axis=1), 1)[:, None]
    return np.asarray(rows)


def label_rows(rows: Integers) -> tuple[Integers, Integers]:
    """A label for each row, (n,), -1 where it is zero, and the first row of each label.

    Labels count up in order of first appearance. Rows are told apart by a number each; where two
    have the same one, by all they hold.
    """
    labels = np.full(len(rows), -1, dtype=np.int64)
    kept = np.flatnonzero(rows.any(axis=1))
    own = rows[kept]
    factors = np.cumprod(np.full(rows.shape[1], _FACTOR, dtype=np.uint64))
    keys = own.view(np.uint64) @ factors
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    if not np.array_equal(own, own[first[inverse]]):
        _, first, inverse = np.unique(own, axis=0, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    order = np.argsort(first)
    rank[order] = np.arange(len(first))
    labels[kept] = rank[inverse.ravel()]
    return labels, kept[first[order]]
