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
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from didact.bec.volume import Region
from didact.errors import InvalidParameter
from didact.numerics.exact import shown
from didact.numerics.kernels import kernel

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Progress = Callable[[float], object]

BLOCK_NUMBERS = 2**19
"""Coordinates drawn at a time; the points do not depend on it."""

STORED_NUMBERS = 2**23
"""Coordinates of points alive that are kept between steps, 64 MiB; more are drawn anew."""

_WIDEST_TILE = 512
_NARROWEST_TILE = 32
_TILE_FLAGS = 2**18


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
    candidates = _candidates(normals, offsets, members)
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


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Rows that some candidate states, (m, k), and which candidate states which."""

    normals: Floats
    offsets: Indices
    members: Indices

    @property
    def k(self) -> int:
        return int(self.normals.shape[1])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def only(self, candidate: int) -> _Candidates:
        """One candidate by itself."""
        stated = self.members[self.offsets[candidate] : self.offsets[candidate + 1]]
        order = np.arange(len(stated), dtype=np.int64)
        return _Candidates(self.normals[stated], np.array([0, len(stated)]), order)


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

    def __init__(self, candidates: _Candidates, points: _Points, progress: Progress | None):
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
        if not len(self._candidates.normals):
            return 0, -1
        if self._stored is None:
            self._survey(picks)
        else:
            self._filter(picks)
        while self._queue and self._queue[0][2] < len(picks):
            candidate = self._queue[0][1]
            assert self._stored is not None, "a survey leaves fresh gains only"
            gain = count_removed(self._candidates.only(candidate), self._stored, self._n_stored)[0]
            heapq.heapreplace(self._queue, (-int(gain), candidate, len(picks)))
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
                count = keep_inside(self._candidates.only(pick), block, count)
            gains += count_removed(self._candidates, block, count)
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
            only = self._candidates.only(pick)
            self._n_stored = keep_inside(only, self._stored, self._n_stored)
        self._n_filtered = len(picks)

    def _report(self, share: float) -> None:
        """The first pass is half of the way, the next one half of the rest, and so on."""
        if self._progress is not None:
            self._progress(1.0 - 0.5**self.n_passes * (1.0 - 0.5 * share))


def count_removed(candidates: _Candidates, points: Floats, count: int) -> Indices:
    """How many of the first `count` points, (k, size), each candidate excludes, (n,)."""
    n_rows, k = candidates.normals.shape
    tile = max(_NARROWEST_TILE, min(_WIDEST_TILE, _TILE_FLAGS // max(1, n_rows)))
    removed = np.zeros(len(candidates), dtype=np.int64)
    count_outside.run(
        count * (n_rows * k + len(candidates.members)),
        *(points.ravel(), points.shape[1], count, k, candidates.normals.ravel(), n_rows),
        *(candidates.offsets, candidates.members, len(candidates), tile),
        *(np.empty(tile), np.empty(tile, dtype=np.bool_)),
        *(np.empty(n_rows * tile, dtype=np.bool_), removed),
    )
    return removed


def keep_inside(candidate: _Candidates, points: Floats, count: int) -> int:
    """Move those of the first `count` points that satisfy all rows to the front; how many."""
    n_rows, k = candidate.normals.shape
    kept: int = move_inside.run(
        count * (n_rows + 1) * k,
        *(points.ravel(), points.shape[1], count, k, candidate.normals.ravel(), n_rows),
        *(_WIDEST_TILE, np.empty(_WIDEST_TILE)),
        *(np.empty(_WIDEST_TILE, dtype=np.bool_), np.empty(_WIDEST_TILE, dtype=np.bool_)),
    )
    return kept


@kernel
def mark_outside(
    points: Any,
    stride: int,
    start: int,
    width: int,
    k: int,
    normals: Any,
    row: int,
    values: Any,
    outside: Any,
) -> None:
    """outside[i]: whether the row is negative at point start + i; coordinate j at j * stride."""
    for i in range(width):
        values[i] = 0.0
    fours = k - k % 4
    for j in range(0, fours, 4):
        at = j * stride + start
        a, b = normals[row * k + j], normals[row * k + j + 1]
        c, d = normals[row * k + j + 2], normals[row * k + j + 3]
        w = points[at : at + width]
        x = points[at + stride : at + stride + width]
        y = points[at + 2 * stride : at + 2 * stride + width]
        z = points[at + 3 * stride : at + 3 * stride + width]
        for i in range(width):
            values[i] = values[i] + a * w[i] + b * x[i] + c * y[i] + d * z[i]
    for j in range(fours, k):
        factor = normals[row * k + j]
        column = points[j * stride + start : j * stride + start + width]
        for i in range(width):
            values[i] += factor * column[i]
    for i in range(width):
        outside[i] = values[i] < 0.0


@kernel
def count_outside(
    points: Any,
    stride: int,
    count: int,
    k: int,
    normals: Any,
    n_rows: int,
    offsets: Any,
    members: Any,
    n_candidates: int,
    tile: int,
    values: Any,
    union: Any,
    outside: Any,
    removed: Any,
) -> None:
    """Add to `removed` how many points each candidate excludes; rows are tested once a tile."""
    for start in range(0, count, tile):
        width = min(tile, count - start)
        for row in range(n_rows):
            mark_outside(points, stride, start, width, k, normals, row, values, union)
            outside[row * tile : row * tile + width] = union[:width]
        for candidate in range(n_candidates):
            for i in range(width):
                union[i] = False
            for member in range(offsets[candidate], offsets[candidate + 1]):
                row = members[member]
                flags = outside[row * tile : row * tile + width]
                for i in range(width):
                    union[i] |= flags[i]
            total = 0
            for i in range(width):
                total += union[i]
            removed[candidate] += total


@kernel
def move_inside(
    points: Any,
    stride: int,
    count: int,
    k: int,
    normals: Any,
    n_rows: int,
    tile: int,
    values: Any,
    union: Any,
    outside: Any,
) -> int:
    """Move the points that no row excludes to the front, in order; how many they are."""
    kept = 0
    for start in range(0, count, tile):
        width = min(tile, count - start)
        for i in range(width):
            union[i] = False
        for row in range(n_rows):
            mark_outside(points, stride, start, width, k, normals, row, values, outside)
            for i in range(width):
                union[i] |= outside[i]
        for i in range(width):
            if not union[i]:
                for j in range(k):
                    points[j * stride + kept] = points[j * stride + start + i]
                kept += 1
    return kept


def _candidates(normals: ArrayLike, offsets: ArrayLike, members: ArrayLike) -> _Candidates:
    """The candidates, checked, with the rows that nobody states left out."""
    rows = np.array(normals, dtype=np.float64, order="C")
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise InvalidParameter(f"normals must have shape (m, k) with k >= 1; it is {rows.shape}")
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0]
        raise InvalidParameter(
            f"normals[{row}, {column}] must be a finite number; it is {rows[row, column]}"
        )
    first, stated = _as_indices(offsets, "offsets"), _as_indices(members, "members")
    if not len(first) or first[0] != 0 or first[-1] != len(stated) or (np.diff(first) < 0).any():
        raise InvalidParameter(
            f"offsets must rise from 0 to the number of members, {len(stated)}; "
            f"they are {shown(first.tolist())}"
        )
    wrong = (stated < 0) | (stated >= len(rows))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise InvalidParameter(
            f"members[{place}] must be a row from 0 to {len(rows) - 1}; it is {stated[place]}"
        )
    used, renamed = np.unique(stated, return_inverse=True)
    return _Candidates(_without_overflow(rows[used]), first, renamed.astype(np.int64).ravel())


def _as_indices(values: ArrayLike, name: str) -> Indices:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InvalidParameter(f"{name} must be a list of whole numbers; it is {shown(values)}")
    return np.array(array, dtype=np.int64)


def _without_overflow(rows: Floats) -> Floats:
    """Each row times a power of two, so that its largest entry is near 1; signs stay."""
    exponents = np.frexp(np.abs(rows).max(axis=1, initial=0.0))[1]
    scaled: Floats = np.ldexp(rows, -exponents[:, None])
    return scaled


def _require_settings(region: str, n_samples: int, threshold: float, budget: int | None) -> None:
    if region not in get_args(Region):
        raise InvalidParameter(f"region must be 'box' or 'sphere'; it is {shown(region)}")
    if not _is_whole(n_samples) or n_samples < 1:
        raise InvalidParameter(
            f"n_samples must be a whole number, at least 1; it is {shown(n_samples)}"
        )
    if not 0.0 <= threshold <= 1.0:
        raise InvalidParameter(f"threshold must lie between 0 and 1; it is {shown(threshold)}")
    if budget is not None and (not _is_whole(budget) or budget < 0):
        raise InvalidParameter(
            f"budget must be None or a whole number, at least 0; it is {shown(budget)}"
        )


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
