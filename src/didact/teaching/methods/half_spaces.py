"""Half-spaces that candidates state, and which points they exclude: counted, or sorted out.

A point is inside a row when r.w >= 0, with the products added from the first coordinate to the last
in double precision; zeros are left out of a row, since adding them changes no sum. Points are
tested in tiles that stay in the nearest cache, and who is outside is a bit of a 32-bit word, so
that what a candidate excludes is a union of words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from didact.errors import InvalidParameter
from didact.inputs import shown
from didact.numerics.compiled import kernel

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

TILE = 512
"""Points tested together, so that they stay in the nearest cache; a multiple of 32."""


class Points(NamedTuple):
    """The first n points of a flat array; coordinate j of k begins at j * stride."""

    values: Any
    k: int
    stride: int
    n_points: int


class HalfSpaces(NamedTuple):
    """Row r has the factors [starts[r]:starts[r + 1]] in those columns, an even number of them."""

    starts: Any
    columns: Any
    factors: Any


class Stated(NamedTuple):
    """Rows to test; candidate i states those at the places members[offsets[i]:offsets[i + 1]]."""

    rows: Any
    offsets: Any
    members: Any


class Room(NamedTuple):
    """Working memory: a product for each point of a tile, and words of who is outside."""

    products: Any
    outside: Any


@dataclass(frozen=True, eq=False)
class StatedHalfSpaces:
    """Half-spaces, and which candidate states which: members[offsets[i]:offsets[i + 1]]."""

    k: int
    half_spaces: HalfSpaces
    offsets: Indices
    members: Indices

    @property
    def n_rows(self) -> int:
        """How many half-spaces there are."""
        return len(self.half_spaces.starts) - 1

    def __len__(self) -> int:
        """How many candidates there are."""
        return len(self.offsets) - 1

    def stated_by(self, candidate: int) -> Indices:
        """The half-spaces of a candidate."""
        return self.members[self.offsets[candidate] : self.offsets[candidate + 1]]

    def count_removed(self, points: Floats, count: int) -> Indices:
        """How many of the first `count` points, (k, size), each candidate excludes, (n,)."""
        rows = np.arange(self.n_rows, dtype=np.int64)
        return self._count(points, count, Stated(rows, self.offsets, self.members))

    def count_removed_by(self, candidate: int, points: Floats, count: int) -> int:
        """How many of the first `count` points, (k, size), one candidate excludes."""
        rows = self.stated_by(candidate)
        order = np.arange(len(rows), dtype=np.int64)
        return int(self._count(points, count, Stated(rows, np.array([0, len(rows)]), order))[0])

    def _count(self, points: Floats, count: int, stated: Stated) -> Indices:
        removed = np.zeros(len(stated.offsets) - 1, dtype=np.int64)
        n_rows = len(stated.rows)
        count_outside.run(
            count * (n_rows * self.k + len(stated.members)),
            *(_first(points, count), self.half_spaces, stated, _room(n_rows), removed),
        )
        return removed

    def keep_inside(self, candidate: int, points: Floats, count: int) -> int:
        """Move those of the first `count` points that a candidate leaves to the front; how many."""
        rows = self.stated_by(candidate)
        kept: int = move_inside.run(
            count * (len(rows) + 1) * self.k,
            *(_first(points, count), self.half_spaces, rows, _room(1)),
        )
        return kept


def _first(points: Floats, count: int) -> Points:
    return Points(points.ravel(), points.shape[0], points.shape[1], count)


def _room(n_rows: int) -> Room:
    return Room(np.empty(TILE), np.empty(n_rows * TILE // 32, dtype=np.int64))


@kernel
def count_outside(
    points: Points, half_spaces: HalfSpaces, stated: Stated, room: Room, removed: Any
) -> None:
    """Add to `removed` how many points each candidate excludes; rows are tested once a tile."""
    tile = len(room.products)
    n_words = tile // 32
    n_rows = len(stated.rows)
    for start in range(0, points.n_points, tile):
        width = min(tile, points.n_points - start)
        for i in range(n_rows * n_words):
            room.outside[i] = 0
        for i in range(n_rows):
            add_products(points, start, half_spaces, stated.rows[i], room.products)
            mark_negative(room.products, width, room.outside, i * n_words)
        for candidate in range(len(removed)):
            total = 0
            for word in range(n_words):
                union = 0
                for member in range(stated.offsets[candidate], stated.offsets[candidate + 1]):
                    union |= room.outside[stated.members[member] * n_words + word]
                total += count_bits(union)
            removed[candidate] += total


@kernel
def move_inside(points: Points, half_spaces: HalfSpaces, rows: Any, room: Room) -> int:
    """Move the points that no row excludes to the front, in order; how many they are."""
    values, stride = points.values, points.stride
    tile = len(room.products)
    kept = 0
    for start in range(0, points.n_points, tile):
        width = min(tile, points.n_points - start)
        for word in range(tile // 32):
            room.outside[word] = 0
        for i in range(len(rows)):
            add_products(points, start, half_spaces, rows[i], room.products)
            mark_negative(room.products, width, room.outside, 0)
        for i in range(width):
            if not room.outside[i // 32] >> i % 32 & 1:
                for j in range(points.k):
                    values[j * stride + kept] = values[j * stride + start + i]
                kept += 1
    return kept


@kernel
def add_products(
    points: Points, start: int, half_spaces: HalfSpaces, row: int, products: Any
) -> None:
    """The products of a row with the points from `start` on, as many as there is room for."""
    width = min(len(products), points.n_points - start)
    for i in range(width):
        products[i] = 0.0
    for entry in range(half_spaces.starts[row], half_spaces.starts[row + 1], 2):
        a, b = half_spaces.factors[entry], half_spaces.factors[entry + 1]
        left = half_spaces.columns[entry] * points.stride + start
        right = half_spaces.columns[entry + 1] * points.stride + start
        x, y = points.values[left : left + width], points.values[right : right + width]
        for i in range(width):
            products[i] = products[i] + a * x[i] + b * y[i]


@kernel
def mark_negative(products: Any, width: int, outside: Any, at: int) -> None:
    """Set bit i of the words from outside[at] on where product i of the first `width` is negative.

    Words have 32 bits.
    """
    for word in range((width + 31) // 32):
        part = products[word * 32 : min(width, word * 32 + 32)]
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


def stated_half_spaces(
    normals: ArrayLike, offsets: ArrayLike, members: ArrayLike
) -> StatedHalfSpaces:
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
    return StatedHalfSpaces(rows.shape[1], entries, first, renamed.astype(np.int64).ravel())


def _in_pairs(rows: Floats) -> HalfSpaces:
    """The entries that are not zero, filled up to pairs by a zero.

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
    return HalfSpaces(starts, columns, factors)


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
