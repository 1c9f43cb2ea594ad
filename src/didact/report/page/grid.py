"""Grid worlds as pictures: cells by feature with its letter, walls, starts, ends and falls.

What cells mean is read from the model: nothing is known of a world but its moves and rewards. What
ends are is told in `planning.paths`; a neutral scene draws all of them alike. A cell that no state
has is a wall where moves against it stay, and a fall where one of them throws far away.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from didact.mdp import MDP, Task
from didact.mdp.naming import cell_words, state_words
from didact.mdp.task import (
    action_directions,
    active_feature,
    cell_of,
    feature_letters,
    marked_starts,
    states_by_cell,
)
from didact.planning import Plan, reachable_states
from didact.planning.paths import END, ends_alike, kinds_of_ends
from didact.report.page.scene import CELL, Box, Scene, Token, number


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


@dataclass(frozen=True)
class Cells:
    """The ground of a grid: a path for each class of cells, lines, letters by row, rings, signs.

    signs: the middle of a goal or of a worse end, and which of the two.
    """

    areas: tuple[tuple[str, str], ...]
    lines: str
    letters: tuple[tuple[str, float, str], ...]
    rings: tuple[Ring, ...]
    signs: tuple[tuple[float, float, str], ...] = ()


def grid_scene(task: Task, plan: Plan | None = None, *, neutral: bool = False) -> Scene:
    """The scene of a task with a grid layout; plan: tells which ends are sought.

    neutral: all ends look alike, whatever they pay.
    """
    assert task.layout is not None
    ends, thrown = ends_alike(task) if neutral else kinds_of_ends(task, plan), falls(task)
    rows, columns = int(task.layout["rows"]), int(task.layout["columns"])

    def cell(state: int) -> tuple[int, int]:
        return cell_of(task, state)

    def centre(state: int) -> tuple[float, float]:
        row, column = cell(state)
        return (column + 0.5) * CELL, (row + 0.5) * CELL

    return Scene(
        kind="grid",
        rows=rows,
        columns=columns,
        ground=lambda boxes: _ground(task, boxes, ends, thrown),
        cell=cell,
        in_words=lambda state: _in_words(task, state),
        tokens=(Token("agent", "walker", centre),),
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
) -> Cells:
    """The cells in the boxes: a path for each colour, one line of letters for each row."""
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
        look = _look(task.mdp, int(state_at[row, column]), letters)
        colour[row, column], letter[row, column] = look
        if (row, column) in thrown:
            colour[row, column] = "fall"
    lettered = max(max(height, width) for _, _, height, width in boxes) <= LETTERS_UP_TO
    return Cells(
        areas=tuple(
            (name, cell_runs(colour == name)) for name in sorted(set(colour[wanted].tolist()))
        ),
        lines=grid_lines(boxes),
        letters=tuple(_letters(letter)) if lettered else (),
        rings=tuple(_rings(task.mdp, state_at, places, ends)),
        signs=tuple(
            ((column + 0.5) * CELL, (row + 0.5) * CELL, kind)
            for row, column in places
            if (kind := ends.get(int(state_at[row, column]), END)) != END
        ),
    )


def _look(mdp: MDP, state: int, letters: Sequence[str]) -> tuple[str, str]:
    """The class of a state's cell and its letter; -1 is no state."""
    if state < 0:
        return "wall", ""
    feature = active_feature(mdp, state)
    return ("plain", "") if feature is None else (f"f{feature % N_COLOURS}", letters[feature])


def _rings(
    mdp: MDP, state_at: Any, places: Iterable[Sequence[int]], ends: Mapping[int, str]
) -> Iterator[Ring]:
    """Two rings where an episode just ends, a dotted one where it may start."""
    starts = marked_starts(mdp) & ~mdp.terminal
    for row, column in places:
        state, x, y = int(state_at[row, column]), (column + 0.5) * CELL, (row + 0.5) * CELL
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
