"""Gymnasium's Taxi and MiniGrid's rooms as pictures, from the layouts of their tasks.

A layout says where the agent and all things are in each state, and of Taxi's map where its stands
and walls are. The floor of a room is every cell where the agent or a thing can be; all other cells
inside it are walls. Keys, balls and boxes move with their states; a door has a drawing for each of
its three looks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from didact.mdp import Task
from didact.mdp.naming import cell_words
from didact.mdp.task import CARRIED, DOORS, action_directions, cell_of
from didact.planning import Plan
from didact.planning.paths import END, GOAL, WORSE, ends_alike, kinds_of_ends
from didact.report.page.grid import Cells, cell_runs, grid_lines
from didact.report.page.scene import CELL, Box, Place, Scene, Token, View, number

Cell = tuple[int, int]
"""Row and column."""


@dataclass(frozen=True)
class Streets:
    """The map: squares (x, y, width, height), lines, stands (letter, x, y), walls as a path."""

    squares: tuple[View, ...]
    lines: str
    stands: tuple[tuple[str, float, float], ...]
    bars: str


@dataclass(frozen=True, eq=False)
class Town:
    """Where taxi, passenger and destination are in each state; stands by cell."""

    task: Task
    things: tuple[dict[str, Cell], ...]
    stands: dict[Cell, str]

    def cell(self, state: int) -> Cell:
        """The row and column of the taxi."""
        return cell_of(self.task, state)

    def taxi(self, state: int) -> Place:
        """The middle of the taxi's cell."""
        return _middle(*self.cell(state))

    def rider(self, state: int) -> Place | None:
        """The passenger: beside a stand, or in the taxi."""
        things = self.things[state]
        if "riding" in things and not self.task.mdp.terminal[state]:
            return self.taxi(state)
        cell = things.get("destination" if self.task.mdp.terminal[state] else "waiting")
        return None if cell is None else _beside(cell, 5, 5)

    def flag(self, state: int) -> Place | None:
        """Where the ride goes."""
        cell = self.things[state].get("destination")
        return None if cell is None else _beside(cell, -7, -3)

    def in_words(self, state: int) -> str:
        """Where taxi and passenger are, for people who do not see the picture."""
        things, place = self.things[state], cell_words(*self.cell(state))
        to, where = (
            self._stand(things[name]) if name in things else ""
            for name in ("destination", "waiting")
        )
        if self.task.mdp.terminal[state]:
            return f"{place}, passenger brought to {to}"
        if "riding" in things:
            return f"{place}, passenger in the taxi, to {to}"
        return f"{place}, passenger waiting at {where}, to {to}"

    def _stand(self, cell: Cell) -> str:
        return self.stands.get(cell, cell_words(*cell))


def taxi_scene(task: Task) -> Scene:
    """The scene of a task with Taxi's layout."""
    assert task.layout is not None
    columns = int(task.layout["columns"])
    things = tuple(
        {name: divmod(cell, columns) for name, cell in each} for each in task.layout["things"]
    )
    signs = [(name, divmod(cell, columns)) for name, cell in task.layout["signs"]]
    walls = [cell for name, cell in signs if name == "wall"]
    town = Town(task, things, {cell: name for name, cell in signs if name != "wall"})
    return Scene(
        kind="taxi",
        rows=int(task.layout["rows"]),
        columns=columns,
        ground=lambda boxes: _streets(boxes, town.stands, walls),
        cell=town.cell,
        in_words=town.in_words,
        tokens=(
            Token("goal", "flag", town.flag),
            Token("agent", "car", town.taxi),
            Token("rider", "rider", town.rider),
        ),
        arrows=action_directions(task.mdp),
    )


def _middle(row: int, column: int) -> Place:
    return (column + 0.5) * CELL, (row + 0.5) * CELL


def _beside(cell: Cell, right: float, down: float) -> Place:
    x, y = _middle(*cell)
    return x + right, y + down


def _streets(boxes: Sequence[Box], stands: dict[Cell, str], walls: Sequence[Cell]) -> Streets:
    bars = "".join(
        f"M{number((column + 1) * CELL)} {number(row * CELL)}v{number(CELL)}"
        for row, column in walls
    )
    return Streets(
        squares=tuple(
            (column * CELL, row * CELL, width * CELL, height * CELL)
            for row, column, height, width in sorted(set(boxes))
        ),
        lines=grid_lines(boxes),
        stands=tuple(
            (letter, column * CELL, row * CELL)
            for letter, (row, column) in sorted((letter, cell) for cell, letter in stands.items())
        ),
        bars=bars,
    )


LOOKS = {0: "east", 90: "south", 180: "west", 270: "north"}
MAX_THINGS = 24
STRENGTH = {END: 0, WORSE: 1, GOAL: 2}
"""Which sign a cell gets where its states are ends of several kinds: the last."""


@dataclass(frozen=True)
class Moment:
    """Where the agent stands, the angle it looks at, what it carries, and things by cell.

    A thing is its drawing and its colour, as 'key yellow' or 'locked red'.
    """

    cell: Cell
    looks: int
    carried: str | None
    things: tuple[tuple[str, Cell], ...]


def room_scene(task: Task, plan: Plan | None = None, *, neutral: bool = False) -> Scene | None:
    """The scene of a task with a room's layout; None where it has too many kinds of things.

    neutral: all ends look alike, whatever they pay.
    """
    moments = [_moment(task, state) for state in range(task.mdp.n_states)]
    if len({drawing for moment in moments for drawing, _ in moment.things}) > MAX_THINGS:
        return None
    used = {moment.cell for moment in moments}
    used |= {cell for moment in moments for _, cell in moment.things}
    top, left = (min(cell[axis] for cell in used) for axis in (0, 1))
    rows, columns = (1 + max(cell[axis] for cell in used) for axis in (0, 1))

    def cell(state: int) -> Cell:
        row, column = moments[state].cell
        return row - top, column - left

    kinds = (ends_alike(task) if neutral else kinds_of_ends(task, plan)).items()
    ends = {
        cell(state): kind for state, kind in sorted(kinds, key=lambda found: STRENGTH[found[1]])
    }
    floor = {(row - top, column - left) for row, column in used}
    n_cells = (rows - top) * (columns - left)
    return Scene(
        kind="room",
        rows=rows - top,
        columns=columns - left,
        ground=lambda boxes: _floor(boxes, floor, ends),
        cell=cell,
        in_words=lambda state: _in_words(
            moments[state], cell(state), bool(task.mdp.terminal[state])
        ),
        tokens=tuple(_tokens(moments, (top, left))),
        arrows=(None,) * task.mdp.n_actions,
        signs=frozenset({*ends.values(), *(["wall"] if len(floor) < n_cells else [])}),
    )


def _moment(task: Task, state: int) -> Moment:
    assert task.layout is not None
    looks, carried, things = 0, None, []
    for name, cell in task.layout["things"][state]:
        if name.startswith("facing "):
            looks = int(name.removeprefix("facing "))
        elif name.startswith(CARRIED):
            carried = name.removeprefix(CARRIED)
        else:
            things.append((name, divmod(cell, int(task.layout["columns"]))))
    return Moment(cell_of(task, state), looks, carried, tuple(things))


def _tokens(moments: Sequence[Moment], corner: Cell) -> list[Token]:
    """Doors below, things above them, the agent on top; one of them for each look."""
    drawings = {drawing for moment in moments for drawing, _ in moment.things}
    drawings |= {moment.carried for moment in moments if moment.carried is not None}
    most = {
        drawing: max(sum(d == drawing for d, _ in moment.things) for moment in moments) or 1
        for drawing in sorted(drawings)
    }
    tokens: list[Token] = []
    for drawing, n in sorted(most.items(), key=lambda entry: (not _is_door(entry[0]), entry[0])):
        for nth in range(n):
            place = _place_of(moments, corner, drawing, nth)
            tokens.append(Token(f"thing{len(tokens)}", drawing, place))
    for angle, looks in LOOKS.items():
        tokens.append(Token(looks, f"facing {angle}", _agent(moments, corner, angle)))
    return tokens


def _is_door(drawing: str) -> bool:
    return drawing.split(" ")[0] in DOORS


def _agent(moments: Sequence[Moment], corner: Cell, looks: int) -> Callable[[int], Place | None]:
    def place(state: int) -> Place | None:
        moment = moments[state]
        return _centre(moment.cell, corner) if moment.looks == looks else None

    return place


def _place_of(
    moments: Sequence[Moment], corner: Cell, drawing: str, number: int
) -> Callable[[int], Place | None]:
    """Where the thing is: in its cell, or at the corner of the agent's that carries it."""

    def place(state: int) -> Place | None:
        moment = moments[state]
        cells = [cell for each, cell in moment.things if each == drawing]
        if number < len(cells):
            return _centre(cells[number], corner)
        if moment.carried == drawing and number == len(cells):
            x, y = _centre(moment.cell, corner)
            return x + 4, y + 5
        return None

    return place


def _centre(cell: Cell, corner: Cell) -> Place:
    return (cell[1] - corner[1] + 0.5) * CELL, (cell[0] - corner[0] + 0.5) * CELL


def _in_words(moment: Moment, cell: Cell, ends: bool) -> str:
    parts = [f"{cell_words(*cell)}, looking {LOOKS[moment.looks]}"]
    if moment.carried is not None:
        kind, colour = moment.carried.split(" ")
        parts.append(f"carrying the {colour} {kind}")
    for drawing, _ in moment.things:
        look, colour = drawing.split(" ")
        if _is_door(drawing) and not ends:
            parts.append(f"the {colour} door is {look}")
    return ", ".join(parts)


def _floor(boxes: Sequence[Box], floor: set[Cell], ends: dict[Cell, str]) -> Cells:
    rows, columns = (1 + max(cell[axis] for cell in floor) for axis in (0, 1))
    solid, plain = np.zeros((2, rows, columns), dtype=np.bool_)
    for row, column in np.ndindex(rows, columns):
        plain[row, column] = (row, column) in floor
    solid |= ~plain
    rings = [((c + 0.5) * CELL, (r + 0.5) * CELL) for (r, c), kind in ends.items() if kind == END]
    return Cells(
        areas=(("plain", cell_runs(plain)), ("wall", cell_runs(solid))),
        lines=grid_lines(boxes),
        letters=(),
        rings=tuple((x, y, radius, "end") for x, y in rings for radius in (6.5, 3.2)),
        signs=tuple(
            ((c + 0.5) * CELL, (r + 0.5) * CELL, kind)
            for (r, c), kind in sorted(ends.items())
            if kind != END
        ),
    )
