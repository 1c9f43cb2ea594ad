"""Numbers and frames of pictures, as templates write them: few signs, and a name for the ear."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

LONGEST_TEXT = 400

View = tuple[float, float, float, float]
"""Left, top, width and height of what a picture shows."""


@dataclass(frozen=True)
class Picture:
    """The frame of an inline SVG: its view, and its words for people who do not see it.

    name: its id on the page. widest: how wide it may be there, in rem.
    """

    name: str
    view: View
    title: str
    description: str
    classes: str
    widest: float | None = None


def number(value: float) -> str:
    """A coordinate in few signs: two decimals, no trailing zeros."""
    rounded = round(float(value), 2)
    return str(int(rounded)) if rounded == int(rounded) else f"{rounded:g}"


def points(pairs: Iterable[tuple[float, float]]) -> str:
    """Coordinates for a polygon or polyline."""
    return " ".join(f"{number(x)},{number(y)}" for x, y in pairs)


def amount(value: float) -> str:
    """A quantity for people: three significant digits, a true minus sign, never 1e+03."""
    value = float(value)
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    size = abs(value)
    text = f"{size:.3g}" if size < 1000 else f"{size:,.0f}"
    if "e" in text:
        mantissa, _, exponent = text.partition("e")
        text = f"{mantissa}×10^{int(exponent)}"
    return f"−{text}" if value < 0 else text
