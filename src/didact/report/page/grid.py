"""Grid worlds as pictures: cells by feature with its letter, walls, starts and ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from didact.mdp import MDP, Task
from didact.mdp.layout import (
    action_directions,
    active_feature,
    feature_letters,
    marked_starts,
    states_by_cell,
)
from didact.report.page.scene import CELL, Box, Scene, Token
from didact.report.page.svg import number, safe

N_COLOURS = 12
LETTERS_UP_TO = 30
"""No letters in the cells of pictures that are wider than this."""

AGENT = '<circle r="5.6" class="agent"/><circle r="2" class="agent-eye"/>'


def grid_scene(task: Task) -> Scene:
    """The scene of a task with a grid layout."""
    assert task.layout is not None
    rows, columns = int(task.layout["rows"]), int(task.layout["columns"])
    cells = task.layout.get("cells")

    def cell(state: int) -> tuple[int, int]:
        return divmod(state if cells is None else cells[state], columns)

    def centre(state: int) -> tuple[float, float]:
        row, column = cell(state)
        return (column + 0.5) * CELL, (row + 0.5) * CELL

    return Scene(
        kind="grid",
        rows=rows,
        columns=columns,
        ground=lambda boxes: _ground(task, boxes, rows, columns),
        cell=cell,
        in_words=lambda state: _in_words(task.mdp, state, cell),
        tokens=(Token("agent", AGENT, centre),),
        arrows=action_directions(task.mdp),
    )


def _in_words(mdp: MDP, state: int, cell: Callable[[int], tuple[int, int]]) -> str:
    row, column = cell(state)
    place = f"row {row + 1}, column {column + 1}"
    feature = active_feature(mdp, state)
    return place if feature is None else f"{place}, on {mdp.feature_name(feature)}"


def _ground(task: Task, boxes: Sequence[Box], rows: int, columns: int) -> str:
    """The cells in the boxes: a path for each colour, one line of letters for each row."""
    state_at = states_by_cell(task)
    wanted = np.zeros((rows, columns), dtype=np.bool_)
    for row, column, height, width in boxes:
        wanted[row : row + height, column : column + width] = True
    colour = np.full((rows, columns), "", dtype=object)
    letter = np.full((rows, columns), "", dtype=object)
    letters = feature_letters(task.mdp)
    marks = []
    starts = marked_starts(task.mdp) & ~task.mdp.terminal
    for row, column in np.argwhere(wanted).tolist():
        state = int(state_at[row, column])
        if state < 0:
            colour[row, column] = "wall"
            continue
        feature = active_feature(task.mdp, state)
        colour[row, column] = "plain" if feature is None else f"f{feature % N_COLOURS}"
        letter[row, column] = "" if feature is None else letters[feature]
        x, y = number((column + 0.5) * CELL), number((row + 0.5) * CELL)
        if task.mdp.terminal[state]:
            marks.append(f'<circle cx="{x}" cy="{y}" r="6.5" class="end"/>')
            marks.append(f'<circle cx="{x}" cy="{y}" r="3.2" class="end"/>')
        if starts[state]:
            marks.append(f'<circle cx="{x}" cy="{y}" r="8" class="start"/>')
    parts = [_runs(colour, name) for name in sorted(set(colour[wanted].tolist()))]
    parts.append(grid_lines(boxes))
    if max(max(height, width) for _, _, height, width in boxes) <= LETTERS_UP_TO:
        parts += _letters(letter)
    return "".join([*parts, *marks])


def _runs(colour: Any, name: str) -> str:
    """All cells of one colour as one path, neighbours in a row joined."""
    parts = []
    for row, line in enumerate((colour == name).astype(np.int8)):
        edges = np.flatnonzero(np.diff(np.concatenate(([0], line, [0]))))
        for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            width = number((last - first) * CELL)
            x, y = number(first * CELL), number(row * CELL)
            parts.append(f"M{x} {y}h{width}v{number(CELL)}h-{width}z")
    return f'<path class="{name}" d="{"".join(parts)}"/>'


def grid_lines(boxes: Sequence[Box]) -> str:
    """The lines between the cells of the boxes."""
    parts = []
    for row, column, height, width in sorted(set(boxes)):
        for i in range(height + 1):
            y = number((row + i) * CELL)
            parts.append(f"M{number(column * CELL)} {y}h{number(width * CELL)}")
        for i in range(width + 1):
            x = number((column + i) * CELL)
            parts.append(f"M{x} {number(row * CELL)}v{number(height * CELL)}")
    return f'<path class="lines" d="{"".join(parts)}"/>'


def _letters(letter: Any) -> Iterator[str]:
    for row, line in enumerate(letter.tolist()):
        columns = [column for column, sign in enumerate(line) if sign]
        if columns:
            xs = " ".join(number(column * CELL + 2.2) for column in columns)
            signs = safe("".join(line[column] for column in columns), len(columns))
            y = number(row * CELL + 7)
            yield f'<text class="letter" x="{xs}" y="{y}">{signs}</text>'
