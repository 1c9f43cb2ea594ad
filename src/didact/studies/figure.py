"""Figures as data: panels with axes, series, half-spaces or a world; renderers draw them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Series:
    """A named line or group of bars: x, y, and where known the interval of each y."""

    name: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    lows: tuple[float, ...] | None = None
    highs: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Lines:
    """Lines over numbers, with bands for their intervals."""

    title: str
    x_title: str
    y_title: str
    series: tuple[Series, ...]
    log_y: bool = False


@dataclass(frozen=True)
class Bars:
    """Bars in groups: one group for each category, in it one bar for each series.

    The xs of a series are category numbers.
    """

    title: str
    y_title: str
    categories: tuple[str, ...]
    series: tuple[Series, ...]


@dataclass(frozen=True)
class Plane:
    """Half-spaces a w0 + b w1 >= 0 in the plane of two weights, their intersection shaded.

    normals: (a, b) of each half-space, with a label; points: named weights to mark.
    """

    title: str
    x_title: str
    y_title: str
    normals: tuple[tuple[float, float, str], ...]
    points: tuple[tuple[float, float, str], ...] = ()


@dataclass(frozen=True)
class World:
    """A grid of cells by colour number, arrows (row, column, direction), terminals, a mark.

    directions: 'up', 'down', 'left', 'right'. strong: arrows to draw heavily, as a demonstration.
    """

    title: str
    cells: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]
    arrows: tuple[tuple[int, int, str], ...] = ()
    strong: tuple[tuple[int, int, str], ...] = ()
    ends: tuple[tuple[int, int], ...] = ()
    marks: tuple[tuple[int, int, str], ...] = ()


Panel = Lines | Bars | Plane | World


@dataclass(frozen=True)
class Figure:
    """Panels side by side under one title."""

    name: str
    title: str
    panels: tuple[Panel, ...]
