"""The rays of a cone where they cut a plane, and where on it a direction is least, exactly.

Floats with a bound on their errors leave out the rays that are surely not least; the few that
remain are compared in whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from didact.bec.linear import Floats, Row, dot

_LOST = 1e-300
"""More than the smallest floats may have lost, as a share of the largest entry."""

_DOUBT = 2e-16
"""A rounding is 1.2e-16 at most. A place has three of them, its step one, and each product and sum
of k one more: less than 8 + k in all."""


class Slice:
    """Where rays of positive height cut the plane of height one."""

    def __init__(
        self, vectors: Sequence[Row], heights: Sequence[int], nearest: Floats | None = None
    ):
        """nearest: the vectors as floats, where they are at hand."""
        self.vectors, self.heights = vectors, heights
        self._places = _places(vectors, heights, nearest)
        self._sizes = np.abs(self._places)

    def least(self, direction: Row) -> tuple[dict[int, int], list[int], int]:
        """Values of a direction on some rays; the rays where it is least on the slice; the next.

        The next is the first of those where it is least but for them, -1 where there are no others.
        """
        low, high = self._bounds(direction)
        near = np.flatnonzero(low <= high.min())
        values = {ray: dot(self.vectors[ray], direction) for ray in near.tolist()}
        tied = self._least_of(values, near)
        low[tied] = high[tied] = np.inf
        if len(tied) == len(low):
            return values, tied, -1
        near = np.flatnonzero((low <= high.min()) & self._all_but(tied))
        values |= {ray: dot(self.vectors[ray], direction) for ray in near.tolist()}
        return values, tied, self._least_of(values, near)[0]

    def _bounds(self, direction: Row) -> tuple[Floats, Floats]:
        """Numbers that the value of the direction lies between, for every ray, up to one factor."""
        scale = 1 << max(map(abs, direction)).bit_length()
        step = np.array([entry / scale for entry in direction])
        with np.errstate(all="ignore"):
            value = self._places @ step
            size = self._sizes @ np.abs(step) + _LOST * (1.0 + self._sizes.sum(axis=1))
            doubt = _DOUBT * (8 + len(step)) * size
            low, high = value - doubt, value + doubt
        unknown = ~np.isfinite(low + high)
        low[unknown], high[unknown] = -np.inf, np.inf
        return low, high

    def _all_but(self, rays: list[int]) -> NDArray[np.bool_]:
        others = np.ones(len(self.vectors), dtype=np.bool_)
        others[rays] = False
        return others

    def _least_of(self, values: dict[int, int], among: NDArray[np.int64]) -> list[int]:
        """The rays of the least ratio of value to height, compared exactly."""
        best, *others = among.tolist()
        tied = [best]
        for ray in others:
            order = values[ray] * self.heights[best] - values[best] * self.heights[ray]
            if order < 0:
                best, tied = ray, [ray]
            elif order == 0:
                tied.append(ray)
        return tied


def _places(vectors: Sequence[Row], heights: Sequence[int], nearest: Floats | None) -> Floats:
    """Vectors over heights, each entry rounded three times at most; infinite where none has one."""
    try:
        above = np.array(vectors, dtype=np.float64) if nearest is None else nearest
        return np.asarray(above / np.array(heights, dtype=np.float64)[:, None])
    except OverflowError:
        pass
    try:
        places = [[x / h for x in v] for v, h in zip(vectors, heights, strict=True)]
        return np.array(places, dtype=np.float64)
    except OverflowError:
        return np.full((len(vectors), len(vectors[0])), np.inf)
