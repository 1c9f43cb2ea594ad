"""When two rows are one half-space: the single direction-aware tolerance, and labels by it.

A half-space {w : r.w >= 0} is the direction of its row r, so rows are scaled to unit length and
compared by the distance between their end points, which for small angles is the angle. A row and
its negative are opposite directions and never share a label.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from didact.random import stream

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

TOLERANCE = 1e-9
"""Directions, in radians, that are not told apart; also the distance that counts as none."""


def lengths_of(rows: Floats) -> Floats:
    """The Euclidean length of each row."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)))


def unit_rows(rows: Floats) -> Floats:
    """Rows, none of which is zero, scaled to length one."""
    return np.asarray(rows / lengths_of(rows)[:, None])


def label_units(units: Floats) -> tuple[Indices, Indices]:
    """A label for each unit row, (n,), and for each label the first row that bears it, (d,).

    Rows within TOLERANCE of each other share a label, and so do rows linked by a chain of such
    rows; labels count up in order of first appearance, and the classes do not depend on the order
    of the rows. Two rows within a distance are within it on every line as well, so gaps between
    neighbours on one fixed random line tell classes apart; O(n log n), however many copies a row
    has. Only classes that meet on that line by chance, or are chains, need more lines, or all
    pairs.
    """
    n, k = units.shape
    groups = np.zeros(n, dtype=np.int64)
    first, far = groups[:0], np.zeros(n, dtype=np.bool_)
    for line in (fixed_direction("directions", k), *np.eye(k)):
        groups, first = _split(groups, units @ line)
        far = lengths_of(units - units[first][groups]) > TOLERANCE
        if not far.any():
            break
    else:
        open_rows = np.isin(groups, groups[far]).nonzero()[0]
        groups[open_rows] = n + _linked(units[open_rows])
        _, first, groups = np.unique(groups, return_index=True, return_inverse=True)
    order = first.argsort()
    number = np.empty(len(first), dtype=np.int64)
    number[order] = np.arange(len(first))
    return number[groups], first[order]


def _split(groups: Indices, along: Floats) -> tuple[Indices, Indices]:
    """Groups (n,) cut at gaps of places on a line, numbered anew, and the first row of each."""
    order = np.lexsort((along, groups))
    # A little more than the tolerance: rounding of the places must not part two equal rows.
    gaps = np.diff(along[order]) > 1.001 * TOLERANCE
    cut = np.empty(len(groups), dtype=np.int64)
    cut[order] = np.append(0, np.cumsum(gaps | (np.diff(groups[order]) != 0)))[: len(groups)]
    _, first = np.unique(cut, return_index=True)
    return cut, first


def _linked(rows: Floats) -> Indices:
    """Components of rows under 'within the tolerance', from all pairs that are."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import KDTree

    left, right = KDTree(rows).query_pairs(TOLERANCE, output_type="ndarray").T
    graph = coo_array((np.ones(len(left)), (left, right)), shape=(len(rows), len(rows)))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def fixed_direction(use: str, k: int) -> Floats:
    """A random unit vector in k dimensions, the same for each use."""
    direction = stream(0, use, k).standard_normal(k)
    return np.asarray(direction / np.linalg.norm(direction))
