"""Scenes of worlds: grids, Gymnasium's Taxi, and MiniGrid's rooms, from the layouts of their tasks.

What cells of a grid mean is read from the model: nothing is known of a world but its moves and
rewards. What ends are is told in `planning.ends`; a neutral scene draws all of them alike. A cell
that no state has is a wall where moves against it stay, and a fall where one of them throws far
away.

The layouts of Taxi and of rooms say where the agent and all things are in each state, and of Taxi's
map where its stands and walls are. The floor of a room is every cell where the agent or a thing can
be; all other cells inside it are walls. Keys, balls and boxes move with their states; a door has a
drawing for each of its three looks.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from didact.mdp import MDP, Task
from didact.mdp.naming import cell_words, state_words
from didact.mdp.task import (
    CARRIED,
    DOORS,
    action_directions,
    active_feature,
    cell_of,
    feature_letters,
    marked_starts,
    states_by_cell,
)
from didact.planning import Plan, reachable_states
from didact.planning.paths import END, GOAL, WORSE, ends_alike, kinds_of_ends
from didact.report.page.scene import CELL, Box, Place, Scene, Token, middle, number


def falls(task: Task) -> set[tuple[int, int]]:
    """Cells (row, column) without a state where a move throws far away instead of staying."""
    state_at = states_by_cell(task)
    if (state_at >= 0).all():
        return set()
    place = {int(s): (r, c) for (r, c), s in np.ndenumerate(state_at) if s >= 0}
    reached = reachable_states(task.mdp)
    found = set()
    for state, cell, target in _moves_off(task, state_at, place):
        if reached[state] and any(_is_far(place.get(end), place[state]) for end in target):
            found.add(cell)
    return found


def _moves_off(
    task: Task, state_at: Any, place: dict[int, tuple[int, int]]
) -> Iterator[tuple[int, tuple[int, int], list[int]]]:
    """State, the cell without a state that an action points at, where the action may lead."""
    mdp, moves = task.mdp, task.mdp.transitions
    rows, columns = state_at.shape
    for state, (row, column) in place.items():
        for action, direction in enumerate(action_directions(mdp)):
            if direction is None or mdp.terminal[state]:
                continue
            cell = row + direction[1], column + direction[0]
            if 0 <= cell[0] < rows and 0 <= cell[1] < columns and state_at[cell] < 0:
                at = state * mdp.n_actions + action
                first, last = moves.offsets[at], moves.offsets[at + 1]
                yield state, cell, moves.successors[first:last].tolist()


def _is_far(there: tuple[int, int] | None, here: tuple[int, int]) -> bool:
    """Whether a place is more than one step away."""
    return there is not None and abs(there[0] - here[0]) + abs(there[1] - here[1]) > 1


N_COLOURS = 12
LETTERS_UP_TO = 30
"""No letters in the cells of pictures that are wider than this."""

Ring = tuple[float, float, float, str]
"""Middle, radius and class of a circle."""


def grid_scene(task: Task, plan: Plan | None = None, *, neutral: bool = False) -> Scene:
    """The scene of a task with a grid layout; plan: tells which ends are sought.

    neutral: all ends look alike, whatever they pay.
    """
    assert task.layout is not None
    ends, thrown = ends_alike(task) if neutral else kinds_of_ends(task, plan), falls(task)
    rows, columns = int(task.layout["rows"]), int(task.layout["columns"])

    return Scene(
        kind="grid",
        rows=rows,
        columns=columns,
        ground=lambda boxes: _ground(task, boxes, ends, thrown),
        cell=lambda state: cell_of(task, state),
        in_words=lambda state: _in_words(task, state),
        tokens=(Token("agent", "walker", lambda state: middle(*cell_of(task, state))),),
        arrows=action_directions(task.mdp),
        signs=frozenset({*ends.values(), *(["fall"] if thrown else [])}),
    )


def _in_words(task: Task, state: int) -> str:
    """The cell, and the feature that a picture shows by a colour; a name says it itself."""
    place, feature = state_words(task, state), active_feature(task.mdp, state)
    if feature is None or place != cell_words(*cell_of(task, state)):
        return place
    return f"{place}, on {task.mdp.feature_name(feature)}"


def _ground(
    task: Task, boxes: Sequence[Box], ends: Mapping[int, str], thrown: Container[tuple[int, int]]
) -> dict[str, Any]:
    """The cells in the boxes: a path for each class of them, lines, letters by row, rings, signs.

    signs: the middle of a goal or of a worse end, and which of the two.
    """
    state_at = states_by_cell(task)
    rows, columns = state_at.shape
    wanted = np.zeros((rows, columns), dtype=np.bool_)
    for row, column, height, width in boxes:
        wanted[row : row + height, column : column + width] = True
    places = np.argwhere(wanted).tolist()
    colour = np.full((rows, columns), "", dtype=object)
    letter = np.full((rows, columns), "", dtype=object)
    letters = feature_letters(task.mdp)
    for row, column in places:
        state = int(state_at[row, column])
        feature = None if state < 0 else active_feature(task.mdp, state)
        if feature is None:
            colour[row, column] = "wall" if state < 0 else "plain"
        else:
            colour[row, column], letter[row, column] = f"f{feature % N_COLOURS}", letters[feature]
        if (row, column) in thrown:
            colour[row, column] = "fall"
    lettered = max(max(height, width) for _, _, height, width in boxes) <= LETTERS_UP_TO
    names = sorted(set(colour[wanted].tolist()))
    return {
        "areas": [(name, cell_runs(colour == name)) for name in names],
        "lines": grid_lines(boxes),
        "letters": list(_letters(letter)) if lettered else [],
        "rings": list(_rings(task.mdp, state_at, places, ends)),
        "signs": [
            (*middle(row, column), kind)
            for row, column in places
            if (kind := ends.get(int(state_at[row, column]), END)) != END
        ],
    }


def _rings(
    mdp: MDP, state_at: Any, places: Iterable[Sequence[int]], ends: Mapping[int, str]
) -> Iterator[Ring]:
    """Two rings where an episode just ends, a dotted one where it may start."""
    starts = marked_starts(mdp) & ~mdp.terminal
    for row, column in places:
        state, (x, y) = int(state_at[row, column]), middle(row, column)
        if state < 0:
            continue
        if ends.get(state) == END:
            yield x, y, 6.5, "end"
            yield x, y, 3.2, "end"
        if starts[state]:
            yield x, y, 8, "start"


def cell_runs(cells: Any) -> str:
    """All cells of one colour as one path, neighbours in a row joined."""
    parts = []
    for row, line in enumerate(cells.astype(np.int8)):
        edges = np.flatnonzero(np.diff(np.concatenate(([0], line, [0]))))
        for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            width = number((last - first) * CELL)
            x, y = number(first * CELL), number(row * CELL)
            parts.append(f"M{x} {y}h{width}v{number(CELL)}h-{width}z")
    return "".join(parts)


def grid_lines(boxes: Sequence[Box]) -> str:
    """The lines between the cells of the boxes, as one path."""
    parts = []
    for row, column, height, width in sorted(set(boxes)):
        for i in range(height + 1):
            y = number((row + i) * CELL)
            parts.append(f"M{number(column * CELL)} {y}h{number(width * CELL)}")
        for i in range(width + 1):
            x = number((column + i) * CELL)
            parts.append(f"M{x} {number(row * CELL)}v{number(height * CELL)}")
    return "".join(parts)


def _letters(letter: Any) -> Iterator[tuple[str, float, str]]:
    """Row by row: the places of its letters, their height, the letters."""
    for row, line in enumerate(letter.tolist()):
        columns = [column for column, sign in enumerate(line) if sign]
        if columns:
            xs = " ".join(number(column * CELL + 2.2) for column in columns)
            yield xs, row * CELL + 7, "".join(line[column] for column in columns)


Cell = tuple[int, int]
"""Row and column."""


def taxi_scene(task: Task) -> Scene:
    """The scene of a task with Taxi's layout: where taxi, passenger and destination are."""
    assert task.layout is not None
    columns, ended = int(task.layout["columns"]), task.mdp.terminal
    whereabouts = [
        {name: divmod(cell, columns) for name, cell in each} for each in task.layout["things"]
    ]
    signs = [(name, divmod(cell, columns)) for name, cell in task.layout["signs"]]
    stands = {cell: name for name, cell in signs if name != "wall"}

    def taxi(state: int) -> Place:
        return middle(*cell_of(task, state))

    def beside(cell: Cell | None, right: float, down: float) -> Place | None:
        x, y = (0.0, 0.0) if cell is None else middle(*cell)
        return None if cell is None else (x + right, y + down)

    def rider(state: int) -> Place | None:
        """The passenger: beside a stand, or in the taxi."""
        if "riding" in whereabouts[state] and not ended[state]:
            return taxi(state)
        return beside(whereabouts[state].get("destination" if ended[state] else "waiting"), 5, 5)

    def in_words(state: int) -> str:
        """Where taxi and passenger are, for people who do not see the picture."""
        things, place = whereabouts[state], cell_words(*cell_of(task, state))
        to, where = (
            stands.get(things[name], cell_words(*things[name])) if name in things else ""
            for name in ("destination", "waiting")
        )
        if ended[state]:
            return f"{place}, passenger brought to {to}"
        if "riding" in things:
            return f"{place}, passenger in the taxi, to {to}"
        return f"{place}, passenger waiting at {where}, to {to}"

    def streets(boxes: Sequence[Box]) -> dict[str, Any]:
        """The map: squares (x, y, width, height), lines, stands (letter, x, y), walls as a path."""
        placed = sorted((letter, cell) for cell, letter in stands.items())
        walls = [cell for name, cell in signs if name == "wall"]
        return {
            "squares": [tuple(CELL * n for n in (c, r, w, h)) for r, c, h, w in sorted(set(boxes))],
            "lines": grid_lines(boxes),
            "stands": [(letter, column * CELL, row * CELL) for letter, (row, column) in placed],
            "bars": "".join(
                f"M{number((column + 1) * CELL)} {number(row * CELL)}v{number(CELL)}"
                for row, column in walls
            ),
        }

    return Scene(
        kind="taxi",
        rows=int(task.layout["rows"]),
        columns=columns,
        ground=streets,
        cell=lambda state: cell_of(task, state),
        in_words=in_words,
        tokens=(
            Token("goal", "flag", lambda s: beside(whereabouts[s].get("destination"), -7, -3)),
            Token("agent", "car", taxi),
            Token("rider", "rider", rider),
        ),
        arrows=action_directions(task.mdp),
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
        in_words=lambda state: _room_words(
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
    return middle(cell[0] - corner[0], cell[1] - corner[1])


def _room_words(moment: Moment, cell: Cell, ends: bool) -> str:
    parts = [f"{cell_words(*cell)}, looking {LOOKS[moment.looks]}"]
    if moment.carried is not None:
        kind, colour = moment.carried.split(" ")
        parts.append(f"carrying the {colour} {kind}")
    for drawing, _ in moment.things:
        look, colour = drawing.split(" ")
        if _is_door(drawing) and not ends:
            parts.append(f"the {colour} door is {look}")
    return ", ".join(parts)


def _floor(boxes: Sequence[Box], floor: set[Cell], ends: dict[Cell, str]) -> dict[str, Any]:
    """The ground of a room, by the names of `_ground`."""
    rows, columns = (1 + max(cell[axis] for cell in floor) for axis in (0, 1))
    plain = np.zeros((rows, columns), dtype=np.bool_)
    plain[tuple(np.transpose(list(floor)))] = True
    rings = [middle(*cell) for cell, kind in ends.items() if kind == END]
    return {
        "areas": (("plain", cell_runs(plain)), ("wall", cell_runs(~plain))),
        "lines": grid_lines(boxes),
        "letters": (),
        "rings": [(x, y, radius, "end") for x, y in rings for radius in (6.5, 3.2)],
        "signs": [(*middle(*cell), kind) for cell, kind in sorted(ends.items()) if kind != END],
    }
