"""Greedy volume minimisation on half-spaces: the core of UVM (Algorithm 2, Cakmak and Lopes 2012).

G(D) is the share of n points, uniform in the box [-1, 1]^k or on the sphere, that satisfy every row
stated by the picked candidates. Each step picks the candidate that leaves the smallest G.

A point is inside a row when r.w >= 0, with the products added from the first coordinate to the last
in double precision. A row and its negative split the points exactly: picks that state both leave
nothing, and G = 0 says that all is known although a whole hyperplane of weights remains. That false
certainty is the algorithm's, and it is kept.

Only points that are still alive are looked at, and a candidate's last known gain bounds its gain
from above (fewer points are left to remove), so most candidates are not looked at again. The points
are a function of one key: they are drawn in blocks, used, and dropped. As soon as the points alive
fit into STORED_NUMBERS they are kept; until then each step draws them anew. A row that is not zero
removes about half of the points, so that takes a few steps. Memory does not grow with n.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from didact.errors import InvalidParameter
from didact.inputs import as_float, choice, is_whole, shown, whole_number
from didact.teaching.methods.half_spaces import Floats, StatedHalfSpaces, stated_half_spaces

Progress = Callable[[float], object]
Region = Literal["box", "sphere"]

BLOCK_NUMBERS = 2**19
"""Coordinates drawn at a time; the points do not depend on it."""

STORED_NUMBERS = 2**23
"""Coordinates of points alive that are kept between steps, 64 MiB; more are drawn anew."""

MOST_SAMPLES = 10**9
"""More would take minutes to hours, and no estimate needs them."""


@dataclass(frozen=True)
class VolumePicks:
    """Candidates in the order picked, and G before the first pick (1.0) and after each.

    stopped_by: 'no gain' (no candidate lowers G, the paper's stop), 'threshold' or 'budget'.
    n_passes: how often all points were drawn.
    """

    picks: tuple[int, ...]
    volumes: tuple[float, ...]
    n_samples: int
    region: Region
    stopped_by: Literal["no gain", "threshold", "budget"]
    n_passes: int


def minimise_volume(
    normals: ArrayLike,
    offsets: ArrayLike,
    members: ArrayLike,
    *,
    n_samples: int,
    rng: np.random.Generator,
    region: Region = "box",
    threshold: float = 0.0,
    budget: int | None = None,
    progress: Progress | None = None,
) -> VolumePicks:
    """Pick candidates that leave the least volume, one at a time; ties go to the lowest number.

    normals: (m, k). Candidate i states the rows members[offsets[i]:offsets[i + 1]]. Stops when no
    candidate lowers G, when G <= threshold, or after `budget` picks. The points are those of
    `default_rng(words)` for four 64-bit words taken from `rng`, point by point, whatever the block
    size. `progress` gets the share done, which never falls and ends at 1.
    """
    candidates = stated_half_spaces(normals, offsets, members)
    _require_settings(region, n_samples, threshold, budget)
    words = tuple(rng.integers(0, 2**64, size=4, dtype=np.uint64).tolist())
    search = _Search(candidates, _Points(words, n_samples, candidates.k, region), progress)
    picks: list[int] = []
    alive = [n_samples]
    while True:
        stopped_by = _stop(alive[-1] / n_samples, threshold, len(picks), budget)
        gain, best = (0, -1) if stopped_by else search.best(picks)
        if gain == 0:
            break
        picks.append(best)
        alive.append(alive[-1] - gain)
    if progress is not None:
        progress(1.0)
    volumes = tuple(count / n_samples for count in alive)
    return VolumePicks(
        *(tuple(picks), volumes, n_samples, region, stopped_by or "no gain", search.n_passes)
    )


def _stop(
    volume: float, threshold: float, n_picks: int, budget: int | None
) -> Literal["threshold", "budget"] | None:
    if volume <= threshold:
        return "threshold"
    return "budget" if budget is not None and n_picks >= budget else None


@dataclass(frozen=True)
class _Points:
    """Points of the region, a function of the words alone."""

    words: tuple[int, ...]
    n_samples: int
    k: int
    region: Region

    def blocks(self) -> Iterator[Floats]:
        """The points in order, in fresh arrays of shape (k, size)."""
        rng = np.random.default_rng(self.words)
        size = max(1, BLOCK_NUMBERS // self.k)
        for start in range(0, self.n_samples, size):
            shape = (min(size, self.n_samples - start), self.k)
            if self.region == "sphere":
                points = rng.standard_normal(shape)
            else:
                points = 2.0 * rng.random(shape) - 1.0
            yield points.T.copy()


class _Search:
    """Points alive, and for each candidate an upper bound on how many of them it removes."""

    def __init__(self, candidates: StatedHalfSpaces, points: _Points, progress: Progress | None):
        self.n_passes = 0
        self._candidates = candidates
        self._points = points
        self._progress = progress
        self._stored: Floats | None = None
        self._n_stored = 0
        self._n_filtered = 0
        self._queue: list[tuple[int, int, int]] = []

    def best(self, picks: list[int]) -> tuple[int, int]:
        """The largest number of points alive that a candidate removes, and the first such one."""
        if not len(self._candidates.members):
            return 0, -1
        if self._stored is None:
            self._survey(picks)
        else:
            self._filter(picks)
        while self._queue and self._queue[0][2] < len(picks):
            candidate = self._queue[0][1]
            if self._stored is None:
                raise AssertionError("a survey must leave fresh gains only")
            gain = self._candidates.count_removed_by(candidate, self._stored, self._n_stored)
            heapq.heapreplace(self._queue, (-gain, candidate, len(picks)))
        return (-self._queue[0][0], self._queue[0][1]) if self._queue else (0, -1)

    def _survey(self, picks: list[int]) -> None:
        """Draw all points: the gains of all candidates, and the points alive if they fit."""
        gains = np.zeros(len(self._candidates), dtype=np.int64)
        k, n_samples = self._points.k, self._points.n_samples
        capacity = min(n_samples, max(1, STORED_NUMBERS // k))
        store = np.empty((k, capacity)) if picks or n_samples <= capacity else None
        done = n_stored = 0
        for block in self._points.blocks():
            count = block.shape[1]
            done += count
            for pick in picks:
                count = self._candidates.keep_inside(pick, block, count)
            gains += self._candidates.count_removed(block, count)
            if store is not None and n_stored + count <= capacity:
                store[:, n_stored : n_stored + count] = block[:, :count]
                n_stored += count
            else:
                store = None
            self._report(done / n_samples)
        self.n_passes += 1
        self._stored, self._n_stored, self._n_filtered = store, n_stored, len(picks)
        self._queue = [(-gain, i, len(picks)) for i, gain in enumerate(gains.tolist()) if gain]
        heapq.heapify(self._queue)

    def _filter(self, picks: list[int]) -> None:
        assert self._stored is not None
        for pick in picks[self._n_filtered :]:
            self._n_stored = self._candidates.keep_inside(pick, self._stored, self._n_stored)
        self._n_filtered = len(picks)

    def _report(self, share: float) -> None:
        """The first pass is half of the way, the next one half of the rest, and so on."""
        if self._progress is not None:
            self._progress(1.0 - 0.5**self.n_passes * (1.0 - 0.5 * share))


def _require_settings(region: str, n_samples: int, threshold: float, budget: int | None) -> None:
    choice(region, "region", get_args(Region))
    whole_number(n_samples, "n_samples", 1, MOST_SAMPLES)
    if not 0.0 <= as_float(threshold) <= 1.0:
        raise InvalidParameter(f"threshold must lie between 0 and 1; it is {shown(threshold)}")
    if budget is not None and (not is_whole(budget) or budget < 0):
        raise InvalidParameter(
            f"budget must be None or a whole number, at least 0; it is {shown(budget)}"
        )
