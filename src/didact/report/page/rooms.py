"""Gymnasium's Taxi and MiniGrid's rooms as pictures, read from the names of their states.

Of Taxi's map nothing is assumed: its size comes from the taxi's places, its walls from moves that
stay where they are, and its four stands from where passengers are picked up. The name of a state of
MiniGrid says where the agent stands and looks, what it carries, and what lies where. The floor is
every cell that is named; all other cells inside it are walls. Keys, balls and boxes move with their
states; a door has a drawing for each of its three looks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from didact.mdp import MDP, Task
from didact.mdp.model import idle_states
from didact.mdp.naming import cell_words
from didact.mdp.task import action_directions
from didact.planning import Plan
from didact.planning.ends import END, GOAL, WORSE, ends_alike, kinds_of_ends, only_successor
from didact.report.page.grid import Cells, cell_runs, grid_lines
from didact.report.page.scene import CELL, Box, Place, Scene, Token, View, number

RIDE_NAME = re.compile(
    r"row (\d{1,3}), column (\d{1,3}); passenger (in taxi|[^;]{1,8}); to ([^;]{1,8}?)(?: \(end\))?"
)
OLD_RIDE_NAME = re.compile(RIDE_NAME.pattern.replace("row", "taxi").replace(", column ", ","))
"""As older files name the states: cells from 0."""

Ride = tuple[int, int, str, str]
"""Row and column of the taxi, where the passenger is, where the ride goes."""


@dataclass(frozen=True)
class Streets:
    """The map: squares (x, y, width, height), lines, stands (letter, x, y), walls as a path."""

    squares: tuple[View, ...]
    lines: str
    stands: tuple[tuple[str, float, float], ...]
    bars: str


@dataclass(frozen=True, eq=False)
class Town:
    """Where taxi, passenger and destination are in each state; stands by letter."""

    mdp: MDP
    rides: tuple[Ride, ...]
    stands: dict[str, tuple[int, int]]

    def cell(self, state: int) -> tuple[int, int]:
        """The row and column of the taxi."""
        return self.rides[state][:2]

    def taxi(self, state: int) -> Place:
        """The middle of the taxi's cell."""
        return _middle(*self.cell(state))

    def rider(self, state: int) -> Place | None:
        """The passenger: beside a stand, or in the taxi."""
        _, _, where, to = self.rides[state]
        if self.mdp.terminal[state]:
            x, y = _middle(*self.stands.get(to, self.cell(state)))
            return x + 5, y + 5
        if where == "in taxi":
            return self.taxi(state)
        if where not in self.stands:
            return None
        x, y = _middle(*self.stands[where])
        return x + 5, y + 5

    def flag(self, state: int) -> Place | None:
        """Where the ride goes."""
        to = self.rides[state][3]
        if to not in self.stands:
            return None
        x, y = _middle(*self.stands[to])
        return x - 7, y - 3

    def in_words(self, state: int) -> str:
        """Where taxi and passenger are, for people who do not see the picture."""
        row, column, where, to = self.rides[state]
        place = cell_words(row, column)
        if self.mdp.terminal[state]:
            return f"{place}, passenger brought to {to}"
        if where == "in taxi":
            return f"{place}, passenger in the taxi, to {to}"
        return f"{place}, passenger waiting at {where}, to {to}"


def taxi_scene(task: Task) -> Scene | None:
    """The scene, or None where the states are not named as Taxi's are."""
    mdp = task.mdp
    rides = _rides(mdp)
    if rides is None:
        return None
    town = Town(mdp, rides, _stands(mdp, rides))
    walls = _walls(mdp, rides)
    return Scene(
        kind="taxi",
        rows=1 + max(ride[0] for ride in rides),
        columns=1 + max(ride[1] for ride in rides),
        ground=lambda boxes: _streets(boxes, town.stands, walls),
        cell=town.cell,
        in_words=town.in_words,
        tokens=(
            Token("goal", "flag", town.flag),
            Token("agent", "car", town.taxi),
            Token("rider", "rider", town.rider),
        ),
        arrows=action_directions(mdp),
    )


def _rides(mdp: MDP) -> tuple[Ride, ...] | None:
    """What the name of every state says, or None where one is not Taxi's."""
    if mdp.state_names is None or mdp.action_names is None or "pickup" not in mdp.action_names:
        return None
    for pattern, first in ((RIDE_NAME, 1), (OLD_RIDE_NAME, 0)):
        matches = [pattern.fullmatch(name) for name in mdp.state_names]
        found = [(int(m[1]) - first, int(m[2]) - first, m[3], m[4]) for m in matches if m]
        if len(found) == len(matches):
            return tuple(found)
    return None


def _middle(row: int, column: int) -> Place:
    return (column + 0.5) * CELL, (row + 0.5) * CELL


def _stands(mdp: MDP, rides: Sequence[Ride]) -> dict[str, tuple[int, int]]:
    """Where passengers are picked up, by the letter of the place."""
    assert mdp.action_names is not None
    pickup = mdp.action_names.index("pickup")
    found: dict[str, tuple[int, int]] = {}
    for state, (row, column, where, _) in enumerate(rides):
        after = only_successor(mdp, state, pickup)
        if after is not None and where != "in taxi" and rides[after][2] == "in taxi":
            found[where] = (row, column)
    return found


def _walls(mdp: MDP, rides: Sequence[Ride]) -> list[tuple[int, int]]:
    """Cells (row, column) with a wall on their right side, inside the map."""
    assert mdp.action_names is not None
    if "east" not in mdp.action_names:
        return []
    east = mdp.action_names.index("east")
    last, idle = max(ride[1] for ride in rides), idle_states(mdp)
    found = {
        (row, column)
        for state, (row, column, _, _) in enumerate(rides)
        if column < last and not idle[state] and only_successor(mdp, state, east) == state
    }
    return sorted(found)


def _streets(
    boxes: Sequence[Box], stands: dict[str, tuple[int, int]], walls: list[tuple[int, int]]
) -> Streets:
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
            (letter, column * CELL, row * CELL) for letter, (row, column) in sorted(stands.items())
        ),
        bars=bars,
    )


CELL_NAME = r"row (\d{1,3}), column (\d{1,3})"
NAME = re.compile(rf"{CELL_NAME}, looking (east|south|west|north)((?:; [^;]{{1,60}})*)")
THING = re.compile(rf"(\w+) (key|ball|box|door)(?:, (open|closed|locked))? at {CELL_NAME}")
OLD_AGENT = re.compile(r"^(\d{1,3}),(\d{1,3}) (?=east|south|west|north)")
OLD_THING = re.compile(r" at (\d{1,3}),(\d{1,3})(?=;|$)")
"""Cells as older files name them: column and row."""
CARRIED = re.compile(r"carrying (\w+) (key|ball|box)")
TURN = {"east": 0, "south": 90, "west": 180, "north": 270}
COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")
MOST_THINGS = 24
STRENGTH = {END: 0, WORSE: 1, GOAL: 2}
"""Which sign a cell gets where its states are ends of several kinds: the last."""

Cell = tuple[int, int]


@dataclass(frozen=True)
class Moment:
    """What a name says: the agent's cell (row, column) and look, what it carries, things by cell.

    A thing is its drawing and its colour, as 'key yellow' or 'locked red'.
    """

    cell: Cell
    looks: str
    carried: str | None
    things: tuple[tuple[str, Cell], ...]


def room_scene(task: Task, plan: Plan | None = None, *, neutral: bool = False) -> Scene | None:
    """The scene, or None where the states are not named as MiniGrid's are.

    neutral: all ends look alike, whatever they pay.
    """
    moments = _moments(task.mdp)
    if moments is None:
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


def _moments(mdp: MDP) -> tuple[Moment, ...] | None:
    """What the name of every state says, or None where one is not MiniGrid's."""
    actions = mdp.action_names
    if mdp.state_names is None or actions is None or not {"forward", "toggle"} <= {*actions}:
        return None
    found = [_moment(name.removesuffix(" (end)")) for name in mdp.state_names]
    known = [moment for moment in found if moment is not None]
    kinds = {drawing for moment in known for drawing, _ in moment.things}
    return tuple(known) if len(known) == len(found) and len(kinds) <= MOST_THINGS else None


def _moment(name: str) -> Moment | None:
    name = OLD_AGENT.sub(r"row \2, column \1, looking ", name)
    match = NAME.fullmatch(OLD_THING.sub(r" at row \2, column \1", name))
    if match is None:
        return None
    carried, things = None, []
    for part in match[4].split("; ")[1:]:
        held, thing = CARRIED.fullmatch(part), THING.fullmatch(part)
        if held and held[1] in COLOURS:
            carried = f"{held[2]} {held[1]}"
        elif thing and thing[1] in COLOURS:
            drawing = f"{thing[3] or thing[2]} {thing[1]}"
            things.append((drawing, (int(thing[4]), int(thing[5]))))
        else:
            return None
    return Moment((int(match[1]), int(match[2])), match[3], carried, tuple(things))


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
    for looks, angle in TURN.items():
        tokens.append(Token(looks, f"facing {angle}", _agent(moments, corner, looks)))
    return tokens


def _is_door(drawing: str) -> bool:
    return drawing.split(" ")[0] in ("open", "closed", "locked")


def _agent(moments: Sequence[Moment], corner: Cell, looks: str) -> Callable[[int], Place | None]:
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
    parts = [f"{cell_words(*cell)}, looking {moment.looks}"]
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
