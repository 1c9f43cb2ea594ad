"""When two rows are one half-space: the single direction-aware tolerance, and labels by it.

A half-space {w : r.w >= 0} is the direction of its row r, so rows are scaled to unit length and
compared by the distance between their end points, which for small angles is the angle. A row and
its negative are opposite directions and never share a label.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from didact.errors import InvalidNumber, InvalidParameter
from didact.numerics.compiled import kernel
from didact.random import stream

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

TOLERANCE = 1e-9
"""Directions, in radians, that are not told apart; also the distance that counts as none."""

NEGLIGIBLE = 1e-12
"""Length of a zero row as a share of the longest row: below it a difference is rounding."""

_SHARE_OF_SEED = 1.0 / 64.0
"""Rows within this share of the tolerance of a seed join it without further comparisons."""

_SAFE_TO_SQUARE = 1e100
"""Entries between its inverse and it can be squared and summed without overflow or underflow."""


def unit_rows(rows: ArrayLike, zero_below: float | None = None) -> tuple[Floats, Indices]:
    """The rows that are not zero, scaled to unit length, (m, k), and their indices, (m,).

    A row is zero when its length is at most `zero_below`: the caller's bound on the error of a row,
    or, when none is given, NEGLIGIBLE times the length of the longest row. Scaling all rows by one
    positive number changes nothing.
    """
    matrix = _as_matrix(rows)
    largest = max(float(matrix.max(initial=0.0)), -float(matrix.min(initial=0.0)))
    if not np.isfinite(largest):
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        raise InvalidNumber(
            f"rows[{row}, {column}] must be a finite number; it is {matrix[row, column]}"
        )
    scale = 1.0
    if largest > 0.0 and not 1.0 / _SAFE_TO_SQUARE < largest < _SAFE_TO_SQUARE:
        scale = largest
        matrix = matrix / scale
    lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
    if zero_below is None:
        limit = NEGLIGIBLE * float(lengths.max(initial=0.0))
    else:
        limit = zero_below / scale
    kept = (lengths > limit).nonzero()[0]
    if len(kept) < len(matrix):
        matrix, lengths = matrix[kept], lengths[kept]
    return matrix / lengths[:, None], kept


def label_directions(rows: ArrayLike) -> tuple[Indices, Indices]:
    """A label for each row, (n,), and for each label the first row that bears it, (d,).

    Rows within TOLERANCE of each other share a label, and so do rows linked by a chain of such
    rows; labels count up in order of first appearance, and the classes do not depend on the order
    of the rows. Zero rows (see `unit_rows`) have no direction: their label is -1.
    """
    matrix = _as_matrix(rows)
    units, kept = unit_rows(matrix)
    labels, representatives = label_units(units)
    if len(kept) == len(matrix):
        return labels, representatives
    spread = np.full(len(matrix), -1, dtype=np.int64)
    spread[kept] = labels
    return spread, kept[representatives]


def label_units(units: Floats) -> tuple[Indices, Indices]:
    """`label_directions` of rows that have unit length already.

    Two rows within a distance are within it on every line as well, so after sorting along one
    fixed random line only near neighbours are compared: O(n log n), and memory for a few numbers
    a row.
    """
    n, k = units.shape
    labels = np.empty(n, dtype=np.int64)
    if n == 0:
        return labels, labels.copy()
    along = units @ _line(k)
    order = along.argsort()
    rows = SortedRows(np.ascontiguousarray(units).ravel(), k, order, along[order])
    first = np.empty(n, dtype=np.int64)
    count = join_neighbours.run(n * (k + 20), rows, TOLERANCE, room_for_seeds(n), labels, first)
    return labels, first[:count].copy()


class SortedRows(NamedTuple):
    """Unit rows, flat, of k numbers each; their order along a line, and how far along it."""

    values: Any
    k: int
    order: Any
    along: Any


class Seeds(NamedTuple):
    """Seeds in the order found: how far along the line, which row, and a union-find forest."""

    along: Any
    row: Any
    parent: Any


def room_for_seeds(n: int) -> Seeds:
    """Working memory for the seeds of n rows."""
    return Seeds(np.empty(n), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64))


@kernel
def join_neighbours(
    rows: SortedRows, tolerance: float, seeds: Seeds, labels: Any, first: Any
) -> int:
    """Fill `labels` and `first`; the number of labels.

    The first row of its neighbourhood becomes a seed; rows very close to a seed only remember it,
    so a million copies of one row cost one comparison each. Seeds within the tolerance (widened by
    what their followers may add) are joined.
    """
    n, k = len(rows.order), rows.k
    close = tolerance * _SHARE_OF_SEED
    reach = tolerance + 2.0 * close
    n_seeds = 0
    for position in range(n):
        row = rows.order[position]
        joined = -1
        home = -1
        seed = n_seeds - 1
        while home < 0 and seed >= 0 and rows.along[position] - seeds.along[seed] <= reach:
            distance = square_distance(rows.values, row * k, seeds.row[seed] * k, k)
            if distance <= reach * reach:
                root = find_root(seeds.parent, seed)
                if joined >= 0:
                    seeds.parent[joined] = root
                joined = root
                if distance <= close * close:
                    home = seed
            seed -= 1
        if home < 0:
            home = n_seeds
            seeds.along[home] = rows.along[position]
            seeds.row[home] = row
            seeds.parent[home] = joined if joined >= 0 else home
            n_seeds += 1
        labels[row] = home
    count: int = number_by_appearance(n_seeds, seeds.parent, labels, first, seeds.row)
    return count


@kernel
def number_by_appearance(n_seeds: int, parent: Any, labels: Any, first: Any, number: Any) -> int:
    """Turn each row's seed into the number of its class, in order of first appearance."""
    for seed in range(n_seeds):
        number[seed] = -1
    count = 0
    for row in range(len(labels)):
        root = find_root(parent, labels[row])
        if number[root] < 0:
            number[root] = count
            first[count] = row
            count += 1
        labels[row] = number[root]
    return count


@kernel
def find_root(parent: Any, node: int) -> int:
    """The root of a node's tree, halving the path on the way."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@kernel
def square_distance(values: Any, left: int, right: int, k: int) -> float:
    """Squared distance between the k numbers from `left` on and those from `right` on."""
    total = 0.0
    for j in range(k):
        gap = values[left + j] - values[right + j]
        total += gap * gap
    return total


@cache
def _line(k: int) -> Floats:
    """A fixed random direction in k dimensions."""
    line = stream(0, "directions", k).standard_normal(k)
    unit: Floats = line / np.linalg.norm(line)
    return unit


def _as_matrix(rows: ArrayLike) -> Floats:
    matrix = np.asarray(rows, dtype=np.float64)
    if matrix.ndim != 2:
        raise InvalidParameter(f"rows must have shape (n, k); they have shape {matrix.shape}")
    return matrix
