"""From a figure's description to shapes: axes, ticks, legends, bars, half-planes, worlds."""

from __future__ import annotations

import math
from collections.abc import Sequence

from didact.report.figures.planes import PLANE_SIZE, draw_plane
from didact.report.figures.shapes import (
    COLOURS,
    FAINT,
    INK,
    PAPER,
    Canvas,
    Point,
    marker,
    text_width,
)
from didact.report.figures.worlds import draw_world, world_size
from didact.studies.figure import Bars, Figure, Lines, Panel, Plane, Series

MARGIN, GAP, TITLE, PER_ROW = 14.0, 26.0, 30.0, 2
LINES_SIZE = (400.0, 290.0)
BAR, BETWEEN, BARS_WIDTH = 9.0, 7.0, 440.0
PAPERS = "the paper"
"""Series of this name are the paper's numbers: grey, without intervals."""


def lay_out(figure: Figure) -> Canvas:
    """All panels of a figure, two in a row, under its title."""
    sizes = [_size(panel) for panel in figure.panels]
    rows = [range(i, min(i + PER_ROW, len(sizes))) for i in range(0, len(sizes), PER_ROW)]
    widths = [sum(sizes[i][0] for i in row) + GAP * (len(row) - 1) for row in rows]
    heights = [max(sizes[i][1] for i in row) for row in rows]
    width = max(*widths, text_width(figure.title, 14, bold=True)) + 2 * MARGIN
    height = MARGIN + TITLE + sum(heights) + GAP * (len(rows) - 1) + MARGIN
    canvas = Canvas(width, height, figure.title)
    canvas.box(0, 0, width, height, PAPER)
    canvas.text(MARGIN, MARGIN + 14, figure.title, size=14, bold=True)
    y = MARGIN + TITLE
    for row, tall in zip(rows, heights, strict=True):
        x = MARGIN
        for i in row:
            _draw(canvas, figure.panels[i], x, y)
            x += sizes[i][0] + GAP
        y += tall + GAP
    return canvas


def _size(panel: Panel) -> tuple[float, float]:
    if isinstance(panel, Lines):
        return LINES_SIZE
    if isinstance(panel, Bars):
        group = BAR * len(panel.series) + BETWEEN
        return BARS_WIDTH, 20 + 18 + group * len(panel.categories) + 40
    if isinstance(panel, Plane):
        return PLANE_SIZE
    return world_size(panel)


def _draw(canvas: Canvas, panel: Panel, x: float, y: float) -> None:
    canvas.text(x, y + 11, panel.title, size=12, bold=True)
    if isinstance(panel, Lines):
        _draw_lines(canvas, panel, x, y + 20)
    elif isinstance(panel, Bars):
        _draw_bars(canvas, panel, x, y + 20)
    elif isinstance(panel, Plane):
        draw_plane(canvas, panel, x, y + 20)
    else:
        draw_world(canvas, panel, x, y + 20)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers that divide low to high into at most so many parts."""
    span = high - low
    if not span > 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(power * m for m in (1, 2, 5, 10) if span / (power * m) <= most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def tick_text(value: float) -> str:
    """A tick without digits that say nothing."""
    return f"{value:.10g}" if abs(value) < 1e5 else f"{value:.0e}"


def _legend(
    canvas: Canvas, series: Sequence[Series], x: float, y: float, *, lines: bool = False
) -> None:
    for number, each in enumerate(series):
        sign = marker(number if lines else 0, x + 5, y - 4, 3.5)
        canvas.area(*sign, fill=_colour(number, each.name))
        canvas.text(x + 13, y, each.name, size=10)
        x += 13 + text_width(each.name, 10) + 14


def _colour(number: int, name: str) -> str:
    return "#8a8a8a" if name == PAPERS else COLOURS[number % len(COLOURS)]


def _draw_lines(canvas: Canvas, panel: Lines, x: float, y: float) -> None:
    left, top = x + 48, y + 22
    width, height = LINES_SIZE[0] - 56, LINES_SIZE[1] - 20 - 22 - 38
    _legend(canvas, panel.series, left, y + 12, lines=True)
    every_y = [v for s in panel.series for v in (*s.ys, *(s.highs or ()))]
    every_x = [v for s in panel.series for v in s.xs]
    low_x, high_x = min(every_x), max(every_x)
    if panel.log_y:
        positive = [v for v in every_y if v > 0]
        low, high = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
        marks = [(10.0**p, f"{10.0**p:g}") for p in range(low, max(high, low + 1) + 1)]
    else:
        marks = [(v, tick_text(v)) for v in ticks(min(0.0, *every_y), _rounded_up(max(every_y)))]
    bottom, ceiling = marks[0][0], marks[-1][0]

    def place(px: float, py: float) -> Point:
        if panel.log_y:
            py = max(py, bottom)
            up = math.log10(py / bottom) / math.log10(ceiling / bottom)
        else:
            up = (py - bottom) / (ceiling - bottom) if ceiling > bottom else 0.0
        across = (px - low_x) / (high_x - low_x) if high_x > low_x else 0.5
        return left + across * width, top + (1 - up) * height

    for value, text in marks:
        _, at = place(low_x, value)
        canvas.line((left, at), (left + width, at), colour=FAINT, width=0.5)
        canvas.text(left - 6, at + 3.5, text, size=10, anchor="end")
    whole = all(v == int(v) for v in every_x)
    for value in ticks(low_x, high_x, 10):
        if whole and value != int(value):
            continue
        at, _ = place(value, bottom)
        canvas.line((at, top + height), (at, top + height + 4))
        canvas.text(at, top + height + 16, tick_text(value), size=10, anchor="middle")
    for number, each in enumerate(panel.series):
        if each.lows is not None and each.highs is not None:
            upper = [place(px, py) for px, py in zip(each.xs, each.highs, strict=True)]
            lower = [place(px, max(py, bottom)) for px, py in zip(each.xs, each.lows, strict=True)]
            colour = _colour(number, each.name)
            canvas.area(*upper, *reversed(lower), fill=colour, opacity=0.15)
    for number, each in enumerate(panel.series):
        points = [place(px, py) for px, py in zip(each.xs, each.ys, strict=True)]
        canvas.line(*points, colour=_colour(number, each.name), width=1.8)
        for point in points:
            canvas.area(*marker(number, *point, 2.6), fill=_colour(number, each.name))
    canvas.line((left, top), (left, top + height), (left + width, top + height))
    canvas.text(left + width / 2, top + height + 32, panel.x_title, size=11, anchor="middle")
    canvas.text(x + 10, top + height / 2, panel.y_title, size=11, anchor="middle", angle=90)


def _rounded_up(value: float) -> float:
    """The next tick at or above a largest value, so that nothing sticks out of the axes."""
    marks = ticks(0.0, value) if value > 0 else [0.0, 1.0]
    step = marks[1] - marks[0] if len(marks) > 1 else max(value, 1.0)
    return math.ceil(value / step - 1e-9) * step


def _draw_bars(canvas: Canvas, panel: Bars, x: float, y: float) -> None:
    labels = max(text_width(name, 10.5) for name in panel.categories) + 8
    left, top = x + labels, y + 22
    width = BARS_WIDTH - labels - 12
    group = BAR * len(panel.series) + BETWEEN
    height = group * len(panel.categories)
    _legend(canvas, panel.series, left, y + 12)
    every = [v for s in panel.series for v in (*s.ys, *(s.highs or ())) if math.isfinite(v)]
    marks = ticks(0.0, _rounded_up(max(every, default=1.0)), 5)
    scale = width / (marks[-1] or 1.0)
    for value in marks:
        at = left + value * scale
        canvas.line((at, top), (at, top + height), colour=FAINT, width=0.5)
        canvas.text(at, top + height + 14, tick_text(value), size=10, anchor="middle")
    for place, name in enumerate(panel.categories):
        middle = top + place * group + group / 2
        canvas.text(left - 6, middle + 3.5, name, size=10.5, anchor="end")
    for number, each in enumerate(panel.series):
        for i, (category, value) in enumerate(zip(each.xs, each.ys, strict=True)):
            at = top + category * group + BETWEEN / 2 + number * BAR
            canvas.box(left, at, value * scale, BAR - 1.5, _colour(number, each.name))
            if each.lows is not None and each.highs is not None and math.isfinite(each.highs[i]):
                low, high = max(0.0, each.lows[i]) * scale, each.highs[i] * scale
                middle = at + (BAR - 1.5) / 2
                canvas.line((left + low, middle), (left + high, middle), colour=INK, width=1.0)
    canvas.line((left, top), (left, top + height))
    canvas.text(left + width / 2, top + height + 30, panel.y_title, size=11, anchor="middle")
