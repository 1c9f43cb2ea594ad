"""The coverage curve: demonstrations against constraints covered and the largest loss left."""

from __future__ import annotations

from collections.abc import Sequence

from didact.report.page.facts import Point
from didact.report.page.svg import amount, number, picture, text

WIDTH, HEIGHT = 360.0, 200.0
LEFT, RIGHT, TOP, BOTTOM = 44.0, 14.0, 26.0, 34.0
MOST_LABELS = 11


def coverage_chart(curve: Sequence[Point], total: int) -> str:
    """Two small charts over one axis: how many of the constraints, and what can still be lost."""
    covered = [float(point.covered) for point in curve]
    losses = [point.loss for point in curve]
    told = "; ".join(
        f"after {point.n}: {point.covered} of {total} covered, loss {amount(point.loss)}"
        for point in curve
    )
    left = picture(
        (0, 0, WIDTH, HEIGHT),
        f"Constraints covered, of {total}",
        _steps(covered, float(max(total, 1)), f"constraints covered (of {total})", "good"),
        name="covered",
        classes="chart",
        description=told,
    )
    right = picture(
        (0, 0, WIDTH, HEIGHT),
        "Largest loss found that is still possible",
        _steps(losses, max([*losses, 1e-12]), "largest loss still found", "risk"),
        name="losses",
        classes="chart",
        description=told,
    )
    return f'<div class="charts">{left}{right}</div>'


def _steps(values: Sequence[float], most: float, title: str, classes: str) -> str:
    """Values over 0, 1, 2 ... demonstrations: a line of steps with a dot at each."""
    n = max(len(values) - 1, 1)

    def x(i: float) -> float:
        return LEFT + i / n * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - value / most * (HEIGHT - TOP - BOTTOM)

    base = number(y(0))
    axis = (
        f'<path class="axis" d="M{number(x(0))} {base}H{number(x(n))}"/>'
        f'<path class="faint" d="M{number(x(0))} {number(y(most))}H{number(x(n))}"/>'
    )
    every = max(1, -(-len(values) // MOST_LABELS))
    ticks = "".join(
        text(x(i), HEIGHT - BOTTOM + 15, str(i), "tick", "middle")
        for i in range(0, len(values), every)
    )
    places = [(x(i), y(value)) for i, value in enumerate(values)]
    line = f"M{number(places[0][0])} {number(places[0][1])}" + "".join(
        f"H{number(px)}V{number(py)}" for px, py in places[1:]
    )
    area = f'<path class="area {classes}" d="{line}V{base}H{number(x(0))}z"/>'
    dots = "".join(
        f'<circle class="{classes}" cx="{number(px)}" cy="{number(py)}" r="3.6"/>'
        for px, py in places
    )
    return (
        text(LEFT - 32, 14, title, "chart-title")
        + axis
        + text(LEFT - 6, y(0) + 4, "0", "tick", "end")
        + text(LEFT - 6, y(most) + 4, amount(most) if most > 1e-12 else "", "tick", "end")
        + area
        + f'<path class="line {classes}" d="{line}"/>{dots}'
        + ticks
        + text((x(0) + x(n)) / 2, HEIGHT - 4, "demonstrations shown", "tick", "middle")
    )
