"""A grid world drawn by cells: features by colour and letter, arrows for moves."""

from __future__ import annotations

from didact.report.figures.shapes import COLOURS, FAINT, INK, Canvas, Point, text_width
from didact.studies.figure import World

LARGE, SMALL = 58.0, 40.0
"""Sides of a cell, in worlds of up to four cells a side and in larger ones."""
NAMED = {
    "white": "#ffffff", "grey": "#b5b5b5", "gray": "#b5b5b5", "black": "#8c8c8c", "red": "#e8837a",
    "orange": "#f3b562", "table": "#f4ead8",
}  # fmt: skip
PALE = ("#f2f2f2", "#c6dbef", "#fdd0a2", "#c7e9c0", "#dadaeb", "#fbc9d4", "#e6d8b5", "#cfe8e6")
TURN = {"up": (0.0, -1.0), "down": (0.0, 1.0), "left": (-1.0, 0.0), "right": (1.0, 0.0)}


def world_size(panel: World) -> tuple[float, float]:
    """Cells and a line for the legend."""
    cell = _side(panel)
    cells = len(panel.cells[0]) * cell
    legend = sum(22 + text_width(name, 10) for name in panel.names)
    title = text_width(panel.title, 12, bold=True)
    return max(cells, legend, title), 20 + len(panel.cells) * cell + 26


def draw_world(canvas: Canvas, panel: World, x: float, y: float) -> None:
    """Cells, arrows, ends (a star), marks, and the features' names."""
    cell = _side(panel)
    for i, row in enumerate(panel.cells):
        for j, feature in enumerate(row):
            fill = colour_of(panel.names[feature], feature)
            canvas.box(x + j * cell, y + i * cell, cell, cell, fill, FAINT)
            letter = panel.names[feature][:1]
            canvas.text(x + j * cell + 4, y + i * cell + 12, letter, size=9, colour="#555555")
    for row_number, column in panel.ends:
        at = x + (column + 0.5) * cell, y + (row_number + 0.5) * cell
        canvas.area(*_star(*at, 0.22 * cell), fill=INK)
    for arrows, colour, width in ((panel.arrows, "#444444", 1.4), (panel.strong, COLOURS[0], 3.6)):
        for row_number, column, direction in arrows:
            at = x + (column + 0.5) * cell, y + (row_number + 0.5) * cell
            _arrow(canvas, at, TURN[direction], cell, colour, width)
    for row_number, column, text in panel.marks:
        at = x + (column + 1) * cell - 4, y + row_number * cell + 12
        canvas.text(*at, text, size=9, anchor="end", bold=True, colour="#a33b00")
    at_x, at_y = x, y + len(panel.cells) * cell + 17
    for feature, name in enumerate(panel.names):
        canvas.box(at_x, at_y - 9, 10, 10, colour_of(name, feature), FAINT)
        canvas.text(at_x + 14, at_y, name, size=10)
        at_x += 22 + text_width(name, 10)


def _side(panel: World) -> float:
    return LARGE if max(len(panel.cells), len(panel.cells[0])) <= 4 else SMALL


def colour_of(name: str, number: int) -> str:
    """The colour that a feature is named after, else one by its number."""
    return NAMED.get(name, PALE[number % len(PALE)])


def _arrow(canvas: Canvas, at: Point, turn: Point, cell: float, colour: str, width: float) -> None:
    (x, y), (across, down) = at, turn
    head, half = 7.0 + width, 4.0 + 0.6 * width
    tip = x + across * 0.38 * cell, y + down * 0.38 * cell
    neck = tip[0] - across * head, tip[1] - down * head
    canvas.line((x - across * 2, y - down * 2), neck, colour=colour, width=width)
    sides = (neck[0] + down * half, neck[1] + across * half)
    other = (neck[0] - down * half, neck[1] - across * half)
    canvas.area(tip, sides, other, fill=colour)


def _star(x: float, y: float, radius: float) -> tuple[Point, ...]:
    """Five points; sines and cosines written out, so that every machine has the same digits."""
    outer = ((0.0, -1.0), (0.951, -0.309), (0.588, 0.809), (-0.588, 0.809), (-0.951, -0.309))
    inner = ((0.225, -0.309), (0.363, 0.118), (0.0, 0.382), (-0.363, 0.118), (-0.225, -0.309))
    points = [p for pair in zip(outer, inner, strict=True) for p in pair]
    return tuple((x + radius * a, y + radius * b) for a, b in points)
