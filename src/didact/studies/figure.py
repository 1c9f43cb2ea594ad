"""Figures as data: panels with axes, series, half-spaces or a world; renderers draw them."""

from __future__ import annotations

from dataclasses import dataclass

from didact.mdp import Task


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
    """A grid world: thin arrows for a policy, heavy ones for what is shown, short texts on states.

    policy, shown: (state, action) pairs. marks: (state, text).
    """

    title: str
    task: Task
    policy: tuple[tuple[int, int], ...] = ()
    shown: tuple[tuple[int, int], ...] = ()
    marks: tuple[tuple[int, str], ...] = ()


Panel = Lines | Bars | Plane | World


@dataclass(frozen=True)
class Figure:
    """Panels side by side under one title."""

    name: str
    title: str
    panels: tuple[Panel, ...]
