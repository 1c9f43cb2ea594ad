"""Spans and null spaces of rows by singular values; convex polygons cut by half-spaces.

What rows span, and what is orthogonal to it, is decided by how large singular values are, so every
caller says from which size on a direction counts: rounding makes the others.

Polygons are cut as by Sutherland and Hodgman (1974). A polygon is its corners in order; a segment
and a point are polygons too. Corners have any number of coordinates, and those are fractions or
floats: with fractions a cut is exact. A half-space is given by its heights, what its linear
function is at the corners, so that the caller decides how these are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np

from didact.numerics.exact import Floats

Number = TypeVar("Number", float, Fraction)


def singular_directions(rows: Floats) -> tuple[Floats, Floats]:
    """The singular values of rows (n, k), largest first, and their orthonormal directions (k, k).

    There are k values; those beyond the number of rows are 0.
    """
    n, k = rows.shape
    if n == 0:
        return np.zeros(k), np.eye(k)
    # R of the QR has the rows' singular values and directions, in k x k numbers.
    _, sizes, directions = np.linalg.svd(np.linalg.qr(rows, mode="r") if n > k else rows)
    return np.append(sizes, np.zeros(k - len(sizes))), np.asarray(directions)


def row_space(rows: Floats, limit: float) -> Floats:
    """An orthonormal basis (r, k) of what rows (n, k) span, by singular values above the limit."""
    sizes, directions = singular_directions(rows)
    return directions[sizes > limit]


def null_space(rows: Floats, limit: float) -> Floats:
    """An orthonormal basis (k - r, k) of what is orthogonal to the `row_space` of rows (n, k)."""
    sizes, directions = singular_directions(rows)
    return directions[sizes <= limit]


def cut(corners: Sequence[Sequence[Number]], heights: Sequence[Number]) -> list[tuple[Number, ...]]:
    """The corners of the part of a convex polygon where the heights are not negative, in order."""
    kept: list[tuple[Number, ...]] = []
    for here, height in enumerate(heights):
        before = heights[here - 1]
        if height < 0 < before or before < 0 < height:
            share = before / (before - height)
            pairs = zip(corners[here - 1], corners[here], strict=True)
            kept.append(tuple(start + share * (end - start) for start, end in pairs))
        if height >= 0:
            kept.append(tuple(corners[here]))
    return kept


def cut_by_line(
    corners: Sequence[Sequence[Number]], line: tuple[Number, Number, Number]
) -> list[tuple[Number, ...]]:
    """The part of a polygon in the plane where a*x + b*y + c >= 0, each corner once."""
    a, b, c = line
    kept = cut(corners, [a * x + b * y + c for x, y in corners])
    return [p for i, p in enumerate(kept) if len(kept) == 1 or p != kept[i - 1]] or kept[:1]


def square(reach: Number) -> list[tuple[Number, ...]]:
    """The corners of the square of half-width `reach` around zero."""
    return [(-reach, -reach), (reach, -reach), (reach, reach), (-reach, reach)]
