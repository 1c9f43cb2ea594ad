"""Rewards of two features: directions in the plane, and the sectors that half-planes leave."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

NARROW = 0.35
"""A class that is narrower than this, in radians, is drawn stretched."""

Normal = Sequence[Fraction]
Span = tuple[float, float]
"""Angles from-to, counter-clockwise."""


def stretched(
    normals: Sequence[Normal], stretch: tuple[Fraction, Fraction]
) -> list[list[Fraction]]:
    """The half-planes after the axes are stretched; lines through the origin stay lines."""
    return [[n / s for n, s in zip(normal, stretch, strict=True)] for normal in normals]


def stretch_of(normals: Sequence[Normal]) -> tuple[Fraction, Fraction]:
    """Powers of ten for the two axes that make a narrow class visible; 1, 1 where it is wide."""
    scales = [Fraction(10) ** e for e in range(6)]
    choices = [(s, Fraction(1)) for s in scales] + [(Fraction(1), s) for s in scales[1:]]
    widths = [_width(stretched(normals, choice)) for choice in choices]
    if widths[0] >= NARROW:
        return choices[0]
    return next((c for c, w in zip(choices, widths, strict=True) if w >= NARROW), choices[0])


def _width(normals: Sequence[Normal]) -> float:
    spans = wedge(normals)
    return math.pi if spans is None else sum(last - first for first, last in spans)


def wedge(normals: Sequence[Normal]) -> list[Span] | None:
    """The directions in all half-planes as angles from-to, counter-clockwise; None: all of them.

    The edges are found exactly, among the perpendiculars of the normals. A wedge is one range; an
    equality leaves one direction, or two opposite ones; contradictions leave none.
    """
    useful = [(n[0], n[1]) for n in normals if n[0] or n[1]]
    if not useful:
        return None
    edges = {edge for x, y in useful for edge in ((y, -x), (-y, x))}
    inside = [e for e in edges if all(n[0] * e[0] + n[1] * e[1] >= 0 for n in useful)]
    angles = sorted({math.atan2(float(y), float(x)) for x, y in inside})
    if len(angles) < 2:
        return [(angle, angle) for angle in angles]
    first, last = angles[0], angles[-1]
    for span in ((first, last), (last, first + 2 * math.pi)):
        middle = (span[0] + span[1]) / 2
        x, y = math.cos(middle), math.sin(middle)
        if all(float(n[0]) * x + float(n[1]) * y > 0 for n in useful):
            return [span]
    return [(angle, angle) for angle in angles]
