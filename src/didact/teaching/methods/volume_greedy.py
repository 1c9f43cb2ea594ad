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
from didact.inputs import as_float, choice, is_whole, shown, whole_number
from didact.numerics.compiled import kernel

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Progress = Callable[[float], object]

BLOCK_NUMBERS = 2**19
"""Coordinates drawn at a time; the points do not depend on it."""

STORED_NUMBERS = 2**23
"""Coordinates of points alive that are kept between steps, 64 MiB; more are drawn anew."""

TILE = 512
"""Points tested together, so that they stay in the nearest cache; a multiple of 32."""

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
    """Half-spaces, and which candidate states which.

    Row r has the factors [starts[r]:starts[r + 1]] in those columns, an even number of them: zeros
    are left out, and one is put back to make up a pair.
    """

    k: int
    starts: Indices
    columns: Indices
    factors: Floats
    offsets: Indices
    members: Indices

    @property
    def n_rows(self) -> int:
        return len(self.starts) - 1

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def stated_by(self, candidate: int) -> Indices:
        return self.members[self.offsets[candidate] : self.offsets[candidate + 1]]

    def count_removed(self, points: Floats, count: int) -> Indices:
        """How many of the first `count` points, (k, size), each candidate excludes, (n,)."""
        rows = np.arange(self.n_rows, dtype=np.int64)
        return self._count(points, count, rows, self.offsets, self.members)

    def count_removed_by(self, candidate: int, points: Floats, count: int) -> int:
        """How many of the first `count` points, (k, size), one candidate excludes."""
        rows = self.stated_by(candidate)
        order = np.arange(len(rows), dtype=np.int64)
        return int(self._count(points, count, rows, np.array([0, len(rows)]), order)[0])

    def _count(
        self, points: Floats, count: int, rows: Indices, offsets: Indices, members: Indices
    ) -> Indices:
        removed = np.zeros(len(offsets) - 1, dtype=np.int64)
        count_outside.run(
            count * (len(rows) * self.k + len(members)),
            *(points.ravel(), points.shape[1], count, self.starts, self.columns, self.factors),
            *(rows, len(rows), offsets, members, len(removed)),
            *(np.empty(TILE), np.empty(len(rows) * TILE // 32, dtype=np.int64), removed),
        )
        return removed

    def keep_inside(self, candidate: int, points: Floats, count: int) -> int:
        """Move those of the first `count` points that a candidate leaves to the front; how many."""
        rows = self.stated_by(candidate)
        kept: int = move_inside.run(
            count * (len(rows) + 1) * self.k,
            *(points.ravel(), points.shape[1], count, self.k),
            *(self.starts, self.columns, self.factors, rows, len(rows)),
            *(np.empty(TILE), np.empty(TILE // 32, dtype=np.int64)),
        )
        return kept


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
        if not len(self._candidates.members):
            return 0, -1
        if self._stored is None:
            self._survey(picks)
        else:
            self._filter(picks)
        while self._queue and self._queue[0][2] < len(picks):
            candidate = self._queue[0][1]
            assert self._stored is not None, "a survey leaves fresh gains only"
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


@kernel
def mark_outside(
    points: Any,
    stride: int,
    start: int,
    width: int,
    starts: Any,
    columns: Any,
    factors: Any,
    row: int,
    values: Any,
    outside: Any,
    at: int,
) -> None:
    """Bit i of the words from outside[at] on: whether the row is negative at point start + i.

    Coordinate j of the points begins at j * stride. Words have 32 bits.
    """
    for i in range(width):
        values[i] = 0.0
    for entry in range(starts[row], starts[row + 1], 2):
        a, b = factors[entry], factors[entry + 1]
        left, right = columns[entry] * stride + start, columns[entry + 1] * stride + start
        x, y = points[left : left + width], points[right : right + width]
        for i in range(width):
            values[i] = values[i] + a * x[i] + b * y[i]
    for word in range((width + 31) // 32):
        part = values[word * 32 : min(width, word * 32 + 32)]
        bits = 0
        for i in range(len(part)):
            bits |= (part[i] < 0.0) << i
        outside[at + word] |= bits


@kernel
def count_bits(word: int) -> int:
    """How many of the 32 bits are set."""
    word = word - (word >> 1 & 0x55555555)
    word = (word & 0x33333333) + (word >> 2 & 0x33333333)
    word = word + (word >> 4) & 0x0F0F0F0F
    return (word * 0x01010101 & 0xFFFFFFFF) >> 24


@kernel
def count_outside(
    points: Any,
    stride: int,
    count: int,
    starts: Any,
    columns: Any,
    factors: Any,
    rows: Any,
    n_rows: int,
    offsets: Any,
    members: Any,
    n_candidates: int,
    values: Any,
    outside: Any,
    removed: Any,
) -> None:
    """Add to `removed` how many points each candidate excludes; rows are tested once a tile.

    members: positions in `rows`. values: one for each point of a tile.
    """
    tile = len(values)
    n_words = tile // 32
    for start in range(0, count, tile):
        width = min(tile, count - start)
        for i in range(n_rows * n_words):
            outside[i] = 0
        for i in range(n_rows):
            mark_outside(
                *(points, stride, start, width, starts, columns, factors, rows[i]),
                *(values, outside, i * n_words),
            )
        for candidate in range(n_candidates):
            total = 0
            for word in range(n_words):
                union = 0
                for member in range(offsets[candidate], offsets[candidate + 1]):
                    union |= outside[members[member] * n_words + word]
                total += count_bits(union)
            removed[candidate] += total


@kernel
def move_inside(
    points: Any,
    stride: int,
    count: int,
    k: int,
    starts: Any,
    columns: Any,
    factors: Any,
    rows: Any,
    n_rows: int,
    values: Any,
    outside: Any,
) -> int:
    """Move the points that no row excludes to the front, in order; how many they are."""
    tile = len(values)
    kept = 0
    for start in range(0, count, tile):
        width = min(tile, count - start)
        for word in range(tile // 32):
            outside[word] = 0
        for i in range(n_rows):
            mark_outside(
                *(points, stride, start, width, starts, columns, factors, rows[i]),
                *(values, outside, 0),
            )
        for i in range(width):
            if not outside[i // 32] >> i % 32 & 1:
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
    entries = _in_pairs(_without_overflow(rows[used]))
    return _Candidates(rows.shape[1], *entries, first, renamed.astype(np.int64).ravel())


def _in_pairs(rows: Floats) -> tuple[Indices, Indices, Floats]:
    """Starts, columns and factors of the entries that are not zero, filled up to pairs by a zero.

    Adding a zero changes no sum, so signs are those of the full rows.
    """
    counts = np.count_nonzero(rows, axis=1)
    starts = np.concatenate(([0], np.cumsum(counts + counts % 2))).astype(np.int64)
    columns = np.zeros(starts[-1], dtype=np.int64)
    factors = np.zeros(starts[-1])
    row, column = np.nonzero(rows)
    firsts = np.concatenate(([0], np.cumsum(counts)))
    places = starts[row] + np.arange(len(row)) - firsts[row]
    columns[places], factors[places] = column, rows[row, column]
    return starts, columns, factors


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
    choice(region, "region", get_args(Region))
    whole_number(n_samples, "n_samples", 1, MOST_SAMPLES)
    if not 0.0 <= as_float(threshold) <= 1.0:
        raise InvalidParameter(f"threshold must lie between 0 and 1; it is {shown(threshold)}")
    if budget is not None and (not is_whole(budget) or budget < 0):
        raise InvalidParameter(
            f"budget must be None or a whole number, at least 0; it is {shown(budget)}"
        )
