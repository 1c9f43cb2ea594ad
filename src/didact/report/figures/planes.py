"""Half-spaces in the plane of two weights, their intersection shaded."""

from __future__ import annotations

import math

from didact.report.figures.shapes import COLOURS, FAINT, INK, Canvas, Point, marker
from didact.studies.figure import Plane

PLANE_SIZE = (300.0, 330.0)
SIDE = 236.0


def draw_plane(canvas: Canvas, panel: Plane, x: float, y: float) -> None:
    """The square of weights around zero: shaded class, border lines, marked points."""
    reach = 1.25 * max([1.0, *(abs(v) for p in panel.points for v in p[:2])])
    left, top = x + 34, y + 4

    def place(point: Point) -> Point:
        across, up = (point[0] + reach) / (2 * reach), (point[1] + reach) / (2 * reach)
        return left + across * SIDE, top + (1 - up) * SIDE

    square: list[Point] = [(-reach, -reach), (reach, -reach), (reach, reach), (-reach, reach)]
    region = square
    for a, b, _ in panel.normals:
        region = cut(region, a, b)
    if len(region) > 2:
        canvas.area(*map(place, region), fill=COLOURS[0], opacity=0.25)
    corners = [place(point) for point in square]
    canvas.line(*corners, corners[0], colour=FAINT)
    canvas.line(place((-reach, 0.0)), place((reach, 0.0)), colour=FAINT)
    canvas.line(place((0.0, -reach)), place((0.0, reach)), colour=FAINT)
    for number, (a, b, label) in enumerate(panel.normals):
        border = border_in_square(a, b, reach)
        colour = COLOURS[(number + 1) % len(COLOURS)]
        canvas.line(*map(place, border), colour=colour, width=1.8)
        inward = _inward(a, b, reach)
        canvas.line(place((0.0, 0.0)), place(inward), colour=colour, width=1.0)
        canvas.area(*marker(2, *place(inward), 2.4), fill=colour)
        at = top + SIDE + 34 + 14 * number
        canvas.line((left, at - 4), (left + 16, at - 4), colour=colour, width=1.8)
        canvas.text(left + 22, at, label, size=10.5)
    for first, second, name in panel.points:
        px, py = place((first, second))
        canvas.area(*marker(2, px, py, 3.6), fill=INK)
        canvas.text(px + 7, py + 4, name, size=10)
    canvas.text(left + SIDE / 2, top + SIDE + 16, panel.x_title, size=11, anchor="middle")
    canvas.text(x + 12, top + SIDE / 2, panel.y_title, size=11, anchor="middle", angle=90)


def cut(region: list[Point], a: float, b: float) -> list[Point]:
    """The part of a convex polygon where a x + b y >= 0."""
    kept: list[Point] = []
    for (x0, y0), (x1, y1) in zip(region, region[1:] + region[:1], strict=True):
        first, second = a * x0 + b * y0, a * x1 + b * y1
        if first >= 0:
            kept.append((x0, y0))
        if first * second < 0:
            share = first / (first - second)
            kept.append((x0 + share * (x1 - x0), y0 + share * (y1 - y0)))
    return kept


def border_in_square(a: float, b: float, reach: float) -> tuple[Point, Point]:
    """The two ends of the line a x + b y = 0 on the border of the square."""
    scale = reach / max(abs(a), abs(b))
    return (-b * scale, a * scale), (b * scale, -a * scale)


def _inward(a: float, b: float, reach: float) -> Point:
    """A short way into the half-space from its border."""
    length = math.hypot(a, b) or 1.0
    return a / length * 0.18 * reach, b / length * 0.18 * reach
