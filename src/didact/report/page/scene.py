"""A world as a picture: the ground that does not move, drawn once, and where things are on it.

A scene knows the place of every state. Grids come from the task's layout; Taxi and MiniGrid's rooms
are read from the names of their states. Worlds without either have no scene and are shown as a
strip of boxes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from didact.mdp import MDP, Task
from didact.mdp.naming import state_words
from didact.planning import Plan
from didact.report.page.svg import View

CELL = 20.0
"""Units of a picture that one cell is wide."""

WIDEST_CELL = 4.2
"""How wide a cell may become on a page, in rem."""

Box = tuple[int, int, int, int]
"""First row, first column, number of rows, number of columns."""

Place = tuple[float, float]


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
        row, column = self.cell(state)
        return (column + 0.5) * CELL, (row + 0.5) * CELL

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


def scene_of(task: Task, plan: Plan | None = None) -> Scene | None:
    """The scene of a task, or None where there is nothing to draw it by; plan: where it leads."""
    from didact.report.page.grid import grid_scene
    from didact.report.page.rooms import room_scene
    from didact.report.page.taxi import taxi_scene

    if task.layout is not None:
        return grid_scene(task, plan)
    return taxi_scene(task) or room_scene(task, plan)


def state_in_words(mdp: MDP, state: int, scene: Scene | None) -> str:
    """Where one is: as the picture says it, else by name or number."""
    return state_words(mdp, state) if scene is None else scene.in_words(state)


def only_successor(mdp: MDP, state: int, action: int) -> int | None:
    """Where an action leads when there is only one outcome."""
    moves = mdp.transitions
    row = state * mdp.n_actions + action
    low, high = int(moves.offsets[row]), int(moves.offsets[row + 1])
    return int(moves.successors[low]) if high == low + 1 else None
