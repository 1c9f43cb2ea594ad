"""Grid worlds as pictures: cells by feature with its letter, walls, starts, ends and falls.

What cells mean is read from the model: nothing is known of a world but its moves and rewards. An
end is worth what arriving there pays. Where ends pay differently, those that pay most are goals,
and so are those that pay more than a usual step; the others are worse ends, unless an optimal
action leads to them for certain. Where all pay the same, goals are those that optimal actions lead
to. A cell that no state has is a wall where moves against it stay, and a fall where one of them
throws far away. A neutral scene draws all ends alike.
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
from didact.numerics.exact import Floats
from didact.planning import Plan, reachable_states
from didact.planning.kernels import reward_table
from didact.report.page.scene import CELL, Box, Scene, Token, number, only_successor

SAME = 1e-9
"""Ends whose worth differs by less pay the same."""

GOAL, WORSE, END = "goal", "worse", "end"


def kinds_of_ends(task: Task, plan: Plan | None = None) -> dict[int, str]:
    """For each terminal state 'goal', 'worse' (it pays less than a goal) or 'end'."""
    mdp = task.mdp
    ends = np.flatnonzero(mdp.terminal).tolist()
    worth = {end: value for end in ends if (value := _worth(task, end)) is not None}
    if len(worth) == len(ends) > 1 and max(worth.values()) - min(worth.values()) > SAME:
        best, usual = max(worth.values()), _usual(task)
        aimed = set() if plan is None else _aimed_at(mdp, plan)

        def kind(end: int) -> str:
            if worth[end] >= best - SAME or worth[end] > usual + SAME:
                return GOAL
            return END if end in aimed else WORSE

        return {end: kind(end) for end in ends}
    sought = set() if plan is None else _led_to(mdp, plan)
    return {end: GOAL if end in sought else END for end in ends}


def ends_alike(task: Task) -> dict[int, str]:
    """Every terminal state as 'end': what a picture shows that tells nothing of the reward."""
    return dict.fromkeys(np.flatnonzero(task.mdp.terminal).tolist(), END)


def _usual(task: Task) -> float:
    """What a step usually pays that cannot end the episode; 0 where every step can."""
    mdp = task.mdp
    rewards = reward_table(mdp, task.weights)[0]
    plain = ~np.repeat(mdp.terminal, mdp.n_actions)
    if mdp.has_action_features:
        for end in np.flatnonzero(mdp.terminal).tolist():
            plain &= _chances(mdp, end)[0] == 0
    return float(np.median(rewards[plain])) if plain.any() else 0.0


def _aimed_at(mdp: MDP, plan: Plan) -> set[int]:
    """The ends that an optimal action leads to for certain."""
    pairs = np.argwhere(plan.optimal & ~mdp.terminal[:, None]).tolist()
    after = {only_successor(mdp, state, action) for state, action in pairs}
    return {end for end in after if end is not None and mdp.terminal[end]}


def _worth(task: Task, end: int) -> float | None:
    """What arriving in an end pays; None where the model does not tell.

    With rewards of states that is the end's own. With rewards of actions it is found from the
    actions whose only end it is: their reward, less the usual one of actions that end nowhere.
    """
    mdp = task.mdp
    rewards = reward_table(mdp, task.weights)[0]
    if not mdp.has_action_features:
        return float(rewards[end * mdp.n_actions])
    into, others = _chances(mdp, end)
    telling = (into > 0) & (others == 0)
    if not telling.any():
        return None
    plain = (into == 0) & (others == 0) & ~np.repeat(mdp.terminal, mdp.n_actions)
    usual = float(np.median(rewards[plain])) if plain.any() else 0.0
    chance = into[telling]
    return float(np.median((rewards[telling] - (1.0 - chance) * usual) / chance))


def _chances(mdp: MDP, end: int) -> tuple[Floats, Floats]:
    """The probability (S * A,) that an action leads to an end, and to any other."""
    moves = mdp.transitions
    rows = np.repeat(np.arange(moves.offsets.size - 1), np.diff(moves.offsets))
    chances = moves.probabilities.floats
    here = moves.successors == end
    elsewhere = mdp.terminal[moves.successors] & ~here
    size = moves.offsets.size - 1
    into, others = (
        np.asarray(np.bincount(rows[part], chances[part], size), dtype=np.float64)
        for part in (here, elsewhere)
    )
    return into, others


def _led_to(mdp: MDP, plan: Plan) -> set[int]:
    """The ends that optimal actions can lead to from the start."""
    moves, found = mdp.transitions, set(np.flatnonzero(mdp.start.floats > 0).tolist())
    open_states = list(found)
    while open_states:
        state = open_states.pop()
        for action in plan.optimal_actions(state):
            row = state * mdp.n_actions + action
            for target in moves.successors[moves.offsets[row] : moves.offsets[row + 1]].tolist():
                if target not in found:
                    found.add(target)
                    open_states.append(target)
    return {state for state in found if mdp.terminal[state]}


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
