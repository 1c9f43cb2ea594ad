"""A world as a picture: the ground that does not move, drawn once, and where things are on it.

A scene knows the place of every state by the task's layout. Worlds without one have no scene and
are shown as a strip of boxes. Numbers, frames and arrows are written as templates need them: few
signs, and a name for the ear.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from didact.mdp import MDP, Task
from didact.mdp.naming import state_words
from didact.planning import Plan

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


SHIFT = 2.4
"""Paths keep to the right, so that there and back do not cover each other."""


def way(here: Place, there: Place) -> str:
    """A line from cell to cell, shifted to its right side, with a head before its end."""
    dx, dy = there[0] - here[0], there[1] - here[1]
    length = (dx * dx + dy * dy) ** 0.5
    ux, uy = dx / length, dy / length
    x0, y0 = here[0] - uy * SHIFT + ux * 2, here[1] + ux * SHIFT + uy * 2
    x1, y1 = there[0] - uy * SHIFT - ux * 2, there[1] + ux * SHIFT - uy * 2
    return f"M{number(x0)} {number(y0)}L{number(x1)} {number(y1)}{_head(x1, y1, ux, uy)}"


def stub(here: Place, direction: tuple[int, int], length: float, *, hooked: bool = False) -> str:
    """A short line against the side of the cell; a bar across its end where it stays."""
    ux, uy = direction
    x1, y1 = here[0] + ux * length, here[1] + uy * length
    line = f"M{number(here[0])} {number(here[1])}L{number(x1)} {number(y1)}"
    if not hooked:
        return line + _head(x1, y1, ux, uy)
    ax, ay = x1 - uy * 3.4, y1 + ux * 3.4
    bx, by = x1 + uy * 3.4, y1 - ux * 3.4
    return f"{line}M{number(ax)} {number(ay)}L{number(bx)} {number(by)}"


def _head(x: float, y: float, ux: float, uy: float) -> str:
    ax, ay = x - 3 * ux - 2.4 * uy, y - 3 * uy + 2.4 * ux
    bx, by = x - 3 * ux + 2.4 * uy, y - 3 * uy - 2.4 * ux
    return f"M{number(ax)} {number(ay)}L{number(x)} {number(y)}L{number(bx)} {number(by)}"


def across(here: Place, direction: tuple[int, int]) -> str:
    """An arrow through the cell; each stroke starts anew, so that dashes leave its head whole."""
    ux, uy = direction
    x, y = here[0] + ux * 7.5, here[1] + uy * 7.5
    ends = [(here[0] - ux * 7, here[1] - uy * 7)]
    ends += [(x - 4 * ux + way * uy, y - 4 * uy - way * ux) for way in (3, -3)]
    return "".join(f"M{number(a)} {number(b)}L{number(x)} {number(y)}" for a, b in ends)


Arrow = Callable[[tuple[float, float], tuple[int, int]], str]
"""Draws a move from a place in a direction."""

CELL = 20.0
"""Units of a picture that one cell is wide."""

WIDEST_CELL = 4.2
"""How wide a cell may become on a page, in rem."""

Box = tuple[int, int, int, int]
"""First row, first column, number of rows, number of columns."""

Place = tuple[float, float]


def middle(row: int, column: int) -> Place:
    """The middle of a cell, in units of the picture."""
    return (column + 0.5) * CELL, (row + 0.5) * CELL


@dataclass(frozen=True)
class Token:
    """Something that moves: its name, the macro that draws it, and where it is in each state."""

    name: str
    drawing: str
    place: Callable[[int], Place | None]


@dataclass(frozen=True)
class Scene:
    """The ground of a world and what moves on it; sizes in cells.

    kind: names the macro that draws the ground. ground(boxes): what that draws, of the cells in any
    of the boxes. cell(state): row and column.
    in_words(state): where it is, for people who do not see the picture.
    arrows: the direction (dx, dy) of each action, or None where it is no move. signs: what stands
    on the ground: 'goal', 'worse' (an end that pays less), 'end', 'fall'.
    """

    kind: str
    rows: int
    columns: int
    ground: Callable[[Sequence[Box]], Any]
    cell: Callable[[int], tuple[int, int]]
    in_words: Callable[[int], str]
    tokens: tuple[Token, ...]
    arrows: tuple[tuple[int, int] | None, ...]
    signs: frozenset[str] = frozenset()

    @property
    def size(self) -> Place:
        """Width and height of the world, in units of the picture."""
        return self.columns * CELL, self.rows * CELL

    def centre(self, state: int) -> Place:
        """The middle of the state's cell, in units of the picture."""
        return middle(*self.cell(state))

    def box_around(self, states: Iterable[int], *, whole: int, most: int) -> Box:
        """The whole world up to `whole` cells a side, else what the states need, up to `most`."""
        cells = [self.cell(state) for state in states]
        row, rows = _span([r for r, _ in cells], self.rows, whole, most)
        column, columns = _span([c for _, c in cells], self.columns, whole, most)
        return row, column, rows, columns


def _span(places: Sequence[int], size: int, whole: int, most: int) -> tuple[int, int]:
    """First and number of cells: two cells around the places, at least 8, at most `most`."""
    if size <= whole or not places:
        return 0, min(size, most)
    low, high = min(places) - 2, max(places) + 3
    if high - low > most:
        low = places[0] - most // 2
        high = low + most
    length = min(max(high - low, 8), size)
    low -= (length - (high - low)) // 2
    return max(0, min(low, size - length)), length


def view_of(box: Box) -> View:
    """The view box of a picture of these cells, with a little air."""
    row, column, rows, columns = box
    return column * CELL - 1, row * CELL - 1, columns * CELL + 2, rows * CELL + 2


def scene_frame(name: str, box: Box, title: str, told: str) -> Picture:
    """The frame of a picture of these cells of a world."""
    return Picture(name, view_of(box), title, told, "scene", box[3] * WIDEST_CELL)


def moves_path(scene: Scene, pairs: Iterable[tuple[int, int]], arrow: Arrow = across) -> str:
    """Arrows of the moves among pairs, as one path."""
    drawn = ((scene.centre(state), scene.arrows[action]) for state, action in pairs)
    return "".join(arrow(here, to) for here, to in drawn if to is not None)


def arrows(scene: Scene | None, pairs: Iterable[tuple[int, int]], arrow: Arrow = across) -> str:
    """The same on a grid; nothing elsewhere, where states share cells."""
    return "" if scene is None or scene.kind != "grid" else moves_path(scene, pairs, arrow)


def scene_of(task: Task, plan: Plan | None = None, *, neutral: bool = False) -> Scene | None:
    """The scene of a task, or None where there is nothing to draw it by; plan: where it leads.

    neutral: nothing in it depends on the reward, for people who are to find the reward out.
    """
    from didact.report.page.grid import grid_scene, room_scene, taxi_scene

    kind = None if task.layout is None else task.layout["kind"]
    if kind == "grid":
        return grid_scene(task, plan, neutral=neutral)
    if kind == "taxi":
        return taxi_scene(task)
    return room_scene(task, plan, neutral=neutral) if kind == "room" else None


def state_in_words(mdp: MDP, state: int, scene: Scene | None) -> str:
    """Where one is: as the picture says it, else by name or number."""
    return state_words(mdp, state) if scene is None else scene.in_words(state)
