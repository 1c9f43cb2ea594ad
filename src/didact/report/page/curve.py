"""The coverage curve: demonstrations against constraints covered and the largest loss left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from didact.report.page.facts import LessonPoint
from didact.report.page.svg import Picture, amount, number

WIDTH, HEIGHT = 360.0, 200.0
LEFT, RIGHT, TOP, BOTTOM = 44.0, 14.0, 26.0, 34.0
MOST_LABELS = 11


@dataclass(frozen=True)
class Chart:
    """Values over 0, 1, 2 ... demonstrations: a line of steps, a dot at each.

    kind: of colour. left, right, base, ceiling: the sides of the axes. ticks: numbers below, with
    their places. most: the value at the ceiling, in words.
    """

    frame: Picture
    title: str
    kind: str
    left: float
    right: float
    base: float
    ceiling: float
    most: str
    line: str
    dots: tuple[tuple[float, float], ...]
    ticks: tuple[tuple[float, int], ...]


def coverage_charts(curve: Sequence[LessonPoint], total: int) -> tuple[Chart, Chart]:
    """Two small charts over one axis: how many of the constraints, and what can still be lost."""
    told = "; ".join(
        f"after {point.n}: {point.covered} of {total} covered, loss {amount(point.loss)}"
        for point in curve
    )
    view = (0.0, 0.0, WIDTH, HEIGHT)
    covered = Picture("covered", view, f"Constraints covered, of {total}", told, "chart")
    loss = Picture("losses", view, "Largest loss found that is still possible", told, "chart")
    counts, losses = [float(point.covered) for point in curve], [point.loss for point in curve]
    most = float(max(total, 1))
    return (
        _steps(covered, counts, most, f"constraints covered (of {total})", "good"),
        _steps(loss, losses, max([*losses, 1e-12]), "largest loss still found", "risk"),
    )


def _steps(frame: Picture, values: Sequence[float], most: float, title: str, kind: str) -> Chart:
    n = max(len(values) - 1, 1)

    def x(i: float) -> float:
        return LEFT + i / n * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - value / most * (HEIGHT - TOP - BOTTOM)

    dots = tuple((x(i), y(value)) for i, value in enumerate(values))
    every = max(1, -(-len(values) // MOST_LABELS))
    return Chart(
        frame=frame,
        title=title,
        kind=kind,
        left=x(0),
        right=x(n),
        base=y(0),
        ceiling=y(most),
        most=amount(most) if most > 1e-12 else "",
        line=_line(dots),
        dots=dots,
        ticks=tuple((x(i), i) for i in range(0, len(values), every)),
    )


def _line(dots: Sequence[tuple[float, float]]) -> str:
    """The path along the dots: across, then up or down."""
    (first_x, first_y), *others = dots
    steps = "".join(f"H{number(x)}V{number(y)}" for x, y in others)
    return f"M{number(first_x)} {number(first_y)}{steps}"
