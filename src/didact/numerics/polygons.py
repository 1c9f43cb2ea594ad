"""Convex polygons cut by half-spaces (Sutherland and Hodgman 1974).

A polygon is its corners in order; a segment and a point are polygons too. Corners have any number
of coordinates, and those are fractions or floats: with fractions a cut is exact. A half-space is
given by its heights, what its linear function is at the corners, so that the caller decides how
these are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar

Number = TypeVar("Number", float, Fraction)


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
