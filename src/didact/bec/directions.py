"""Directions of half-spaces: which are one by the single tolerance, and how alike two sets are.

A half-space {w : r.w >= 0} is the direction of its row r, so rows are scaled to unit length and
compared by the distance between their end points, which for small angles is the angle. A row and
its negative are opposite directions and never share a label.

**Similarity** is by the angles between normals. That of two normals is 1 - angle/pi: 1 for the same
direction, 0 for opposite ones. Sets are compared by a one-to-one matching (appendix "BIO-IRL
algorithm specifics"). The paper matches greedily, which depends on the order of the normals: 40 and
10 degrees against 0 and 90 give 2/3, 10 and 40 give 5/6. The best matching does not depend on the
order and is the default.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from didact.bec.linear import exact_entry
from didact.errors import InvalidNumber, InvalidParameter
from didact.inputs import choice, entries, reason_of
from didact.numerics.exact import Floats
from didact.random import stream

Indices = NDArray[np.int64]
Matching = Literal["optimal", "greedy"]

TOLERANCE = 1e-9
"""Directions, in radians, that are not told apart; also the distance that counts as none."""
_BLOCK_NUMBERS = 2**21
"""Differences of normals held at a time, 16 MiB; the angles do not depend on it."""
_EXACT_AS_FLOAT = 2.0**53
"""Integers from here on may round when they become floats."""


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


def scaled_rows(rows: ArrayLike, place: str = "rows") -> Floats:
    """Each row divided by its largest magnitude, shape (m, k); zero rows stay zero.

    A correctly rounded quotient depends only on the true quotient, so rows that are positive
    multiples of each other come out with the same bits. Integers and fractions of any size are
    divided exactly first.
    """
    try:
        array = np.asarray(rows)
    except ValueError as error:
        raise InvalidParameter(f"{place} must have shape (m, k): {reason_of(error)}") from None
    is_wide = array.dtype.kind in "iu" and (np.abs(array.astype(float)) >= _EXACT_AS_FLOAT).any()
    if is_wide or array.dtype.kind in "OUS":
        return _scaled_exactly(np.asarray(rows, dtype=object), place)
    array = array.astype(np.float64)
    if array.ndim != 2:
        raise InvalidParameter(f"{place} must have shape (m, k); it has shape {array.shape}")
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise InvalidNumber(
            f"{place}[{row}, {column}] must be a finite number; it is {array[row, column]}"
        )
    largest = np.abs(array).max(axis=1, initial=0.0, keepdims=True)
    scaled: Floats = array / np.where(largest > 0.0, largest, 1.0) + 0.0
    return scaled


def _scaled_exactly(array: NDArray[Any], place: str) -> Floats:
    if array.ndim != 2:
        raise InvalidParameter(f"{place} must have shape (m, k); it has shape {array.shape}")
    scaled = np.zeros(array.shape)
    for i, row in enumerate(array.tolist()):
        exact = [exact_entry(value, f"{place}[{i}, {j}]") for j, value in enumerate(row)]
        largest = max((abs(value) for value in exact), default=0)
        if largest:
            scaled[i] = [float(value / largest) for value in exact]
    return scaled


def unit_normals(rows: ArrayLike, place: str = "rows") -> Floats:
    """Each row divided by its length, shape (m, k); a zero row has no direction and is refused."""
    scaled = scaled_rows(rows, place)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    if (lengths == 0.0).any():
        raise InvalidParameter(
            f"{place}[{int(np.argmin(lengths))}] must have a direction; it is zero. Drop it"
        )
    unit: Floats = scaled / lengths
    return unit


def angle(x: ArrayLike, y: ArrayLike) -> float:
    """The angle between two vectors in [0, pi], right to rounding also near 0 and pi.

    2 atan2(|x - y|, |x + y|) of the unit vectors; an arc cosine would lose angles below 1e-8.
    """
    return float(angles(np.asarray(x)[None], np.asarray(y)[None])[0, 0])


def angles(normals: ArrayLike, reference: ArrayLike) -> Floats:
    """The angle between each normal and each reference normal, shape (n, m)."""
    left, right = unit_normals(normals, "normals"), unit_normals(reference, "reference")
    if left.shape[1] != right.shape[1]:
        raise InvalidParameter(
            "normals and reference must have as many entries; "
            f"they have {left.shape[1]} and {right.shape[1]}"
        )
    result = np.empty((len(left), len(right)))
    step = max(1, _BLOCK_NUMBERS // max(1, right.size))
    for start in range(0, len(left), step):
        block = left[start : start + step, None, :]
        apart = np.linalg.norm(block - right, axis=2)
        together = np.linalg.norm(block + right, axis=2)
        result[start : start + step] = 2.0 * np.arctan2(apart, together)
    return result


def angular_similarity(
    normals: ArrayLike, reference: ArrayLike, *, matching: Matching = "optimal"
) -> float:
    """How similar two sets of half-space normals are, in [0, 1] (appendix, BIO-IRL specifics).

    The sum of 1 - angle / pi over matched normals, divided by the number of reference normals.
    Where there are more normals than reference normals, the surplus stays unmatched. Without
    reference normals the similarity is 1; without normals, and with reference normals, it is 0.

    normals: the half-spaces that were shown, (n, k), of any length.
    reference: the half-spaces that were to be shown, (m, k).
    matching: 'optimal' (the default) maximises the sum over one-to-one matchings, so no order
        matters. 'greedy' is the paper's: each normal in turn takes the closest reference normal
        left, the first of equals; the result depends on the order of the normals.
    """
    choice(matching, "matching", get_args(Matching))
    n, m = (
        len(entries(rows, place, "rows"))
        for rows, place in ((normals, "normals"), (reference, "reference"))
    )
    if not n or not m:
        return 0.0 if m else 1.0
    return similarity_sum(1.0 - angles(normals, reference) / np.pi, matching=matching) / m


def similarity_sum(similarity: Floats, *, matching: Matching) -> float:
    """The sum over a one-to-one matching of rows (normals) to columns (references).

    The largest by the Hungarian method; or, greedy, each row in turn takes its best column left.
    """
    if matching == "optimal":
        from scipy.optimize import linear_sum_assignment

        rows, columns = linear_sum_assignment(similarity, maximize=True)
        return float(np.sort(similarity[rows, columns]).sum())
    left = similarity.copy()
    total = 0.0
    for row in left[: left.shape[1]]:
        best = int(np.argmax(row))
        total += float(row[best])
        left[:, best] = -np.inf
    return total
