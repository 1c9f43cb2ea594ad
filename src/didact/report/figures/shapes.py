"""The plain shapes that a figure is made of, in points from the upper left."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import cos, pi, sin
from typing import Literal

Point = tuple[float, float]

_TWELFTHS = tuple((cos(number * pi / 6), sin(number * pi / 6)) for number in range(12))
_STAR = (1.6, 0.5, 0.5) * 4

INK, FAINT, PAPER = "#222222", "#b8b8b8", "#ffffff"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555")
"""Seven that people with any colour vision tell apart (Okabe and Ito), without yellow."""


@dataclass(frozen=True)
class Line:
    """A line through points."""

    points: tuple[Point, ...]
    colour: str = INK
    width: float = 1.0
    dashes: tuple[float, ...] = ()


@dataclass(frozen=True)
class Area:
    """A filled polygon, with an outline where a stroke is given."""

    points: tuple[Point, ...]
    fill: str
    opacity: float = 1.0
    stroke: str | None = None


@dataclass(frozen=True)
class Text:
    """One line of text; angle in degrees, anticlockwise."""

    at: Point
    text: str
    size: float = 11.0
    anchor: Literal["start", "middle", "end"] = "start"
    colour: str = INK
    bold: bool = False
    angle: float = 0.0


Shape = Line | Area | Text


@dataclass
class Canvas:
    """Shapes in the order to draw them, and the size of the picture."""

    width: float
    height: float
    title: str
    shapes: list[Shape] = field(default_factory=list)

    def line(self, *points: Point, colour: str = INK, width: float = 1.0) -> None:
        """Draw a line through points."""
        self.shapes.append(Line(points, colour, width))

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 11.0,
        anchor: Literal["start", "middle", "end"] = "start",
        bold: bool = False,
        colour: str = INK,
        angle: float = 0.0,
    ) -> None:
        """Write a line of text with its baseline at y."""
        self.shapes.append(Text((x, y), text, size, anchor, colour, bold, angle))

    def area(
        self, *points: Point, fill: str, opacity: float = 1.0, stroke: str | None = None
    ) -> None:
        """Fill a polygon."""
        self.shapes.append(Area(points, fill, opacity, stroke))

    def box(
        self, x: float, y: float, width: float, height: float, fill: str, stroke: str | None = None
    ) -> None:
        """Fill a rectangle with its upper left corner at (x, y)."""
        corners = (x, y), (x + width, y), (x + width, y + height), (x, y + height)
        self.area(*corners, fill=fill, stroke=stroke)


def text_width(text: str, size: float = 11.0, *, bold: bool = False) -> float:
    """About how wide a text is; every sans-serif type is close enough."""
    return (0.66 if bold else 0.57) * size * len(text)


def marker(number: int, x: float, y: float, radius: float = 3.0) -> tuple[Point, ...]:
    """The outline of a small sign: a different one for each of six series in turn."""
    r = radius
    signs = (
        ((-r, -r), (r, -r), (r, r), (-r, r)),
        ((0.0, -1.4 * r), (1.3 * r, r), (-1.3 * r, r)),
        ((0.0, -1.4 * r), (1.4 * r, 0.0), (0.0, 1.4 * r), (-1.4 * r, 0.0)),
        ((-1.3 * r, -r), (1.3 * r, -r), (0.0, 1.4 * r)),
        tuple((1.15 * r * a, 1.15 * r * b) for a, b in _TWELFTHS),
        tuple((k * r * a, k * r * b) for k, (a, b) in zip(_STAR, _TWELFTHS, strict=True)),
    )
    return tuple((x + a, y + b) for a, b in signs[number % len(signs)])
