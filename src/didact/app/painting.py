"""A painted grid world: the document that a page keeps, and the exact task that it means.

    {"name": "meadow", "rows": ["aab", "a#b"], "features": [["grass", "-1", 3], ["sand", "-2", 5]],
     "ends": [2], "starts": [], "slip": "0.1", "discount": "0.95"}

Letters are features in order, '#' is a wall; ends and starts are numbers of cells, row by row from
the top left. Without starts every cell that does not end is one. Numbers are read exactly as they
are written. A colour is one of twelve. What a page sends is checked here, with limits, before
anything is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from string import ascii_lowercase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidParameter
from didact.inputs import shown, shown_name, whole_number
from didact.mdp import Task
from didact.mdp.files import task_document, write_number
from didact.mdp.task import active_feature, cell_of
from didact.numerics.exact import read_number
from didact.worlds.grids import ACTION_NAMES, as_probability, grid_task, one_hot

MOST_ROWS = 30
"""How many rows and columns a painting may have."""
WALL = "#"
N_COLOURS = 12
LONGEST_NAME, LONGEST_NUMBER = 60, 40
KEYS = {"name", "rows", "features", "ends", "starts", "slip", "discount"}


@dataclass(frozen=True)
class Ground:
    """A kind of ground: its name, its weight as it was written, and its colour."""

    name: str
    weight: str
    colour: int


@dataclass(frozen=True)
class Painting:
    """A grid world as it was painted; all entries are within their limits."""

    name: str
    rows: tuple[str, ...]
    features: tuple[Ground, ...]
    ends: tuple[int, ...]
    starts: tuple[int, ...]
    slip: str
    discount: str

    @property
    def n_columns(self) -> int:
        """How wide it is."""
        return len(self.rows[0])

    @property
    def letters(self) -> NDArray[np.str_]:
        """The letter of every cell, (rows, columns)."""
        return np.array([list(row) for row in self.rows])

    def states(self, cells: Sequence[int]) -> list[int]:
        """The states of free cells."""
        free = (self.letters != WALL).ravel()
        number = np.cumsum(free) - 1
        return [int(number[cell]) for cell in cells]

    def task(self) -> Task:
        """The task that it means, every number exact as it was written."""
        letters = self.letters
        free = letters != WALL
        n_states = int(free.sum())
        terminal = np.zeros(n_states, dtype=np.bool_)
        terminal[self.states(self.ends)] = True
        if terminal.all():
            raise InvalidParameter("a world must have a cell that does not end; all cells do")
        active = np.array([ascii_lowercase.index(letter) for letter in letters[free].tolist()])
        starts = self.states(self.starts)
        return grid_task(
            free,
            one_hot(active, len(self.features)),
            [read_number(ground.weight, f"weight of {ground.name}") for ground in self.features],
            terminal=terminal,
            discount=read_number(self.discount, "discount"),
            slip=as_probability(self.slip, "slip"),
            start=[(s, Fraction(1, len(starts))) for s in starts] if starts else "uniform",
            feature_names=[ground.name for ground in self.features],
            name=self.name,
        )

    def document(self) -> dict[str, Any]:
        """The same as JSON, as `read_painting` reads it."""
        plain = asdict(self)
        return {
            **{
                name: list(part) if isinstance(part, tuple) else part
                for name, part in plain.items()
            },
            "features": [[ground.name, ground.weight, ground.colour] for ground in self.features],
        }


def read_painting(document: Any) -> Painting:
    """The painting of a document; what breaks a rule is refused by name and place."""
    if not isinstance(document, dict) or set(document) != KEYS:
        raise InvalidParameter(
            f"a painting must be an object with {', '.join(sorted(KEYS))}; it is {shown(document)}"
        )
    grounds = tuple(
        _ground(entry, f"features[{i}]")
        for i, entry in enumerate(_listed(document, "features", 1, len(ascii_lowercase)))
    )
    rows = _rows(_listed(document, "rows", 1, MOST_ROWS), len(grounds))
    letters = "".join(rows)
    return Painting(
        name=_text(document["name"], "name"),
        rows=rows,
        features=_named_apart(grounds),
        ends=_cells(document, "ends", letters),
        starts=_cells(document, "starts", letters),
        slip=_number(document["slip"], "slip"),
        discount=_number(document["discount"], "discount"),
    )


def _listed(document: dict[str, Any], place: str, lowest: int, most: int) -> list[Any]:
    given = document[place]
    if not isinstance(given, list) or not lowest <= len(given) <= most:
        raise InvalidParameter(
            f"{place} must be a list of {lowest} to {most} entries; it is {shown(given)}"
        )
    return given


def _rows(given: list[Any], n_features: int) -> tuple[str, ...]:
    allowed = {WALL, *ascii_lowercase[:n_features]}
    for i, row in enumerate(given):
        if not isinstance(row, str) or not 1 <= len(row) <= MOST_ROWS or not {*row} <= allowed:
            raise InvalidParameter(
                f"rows[{i}] must be 1 to {MOST_ROWS} signs, '#' for walls and a letter for each "
                f"feature; it is {shown(row)}"
            )
        if len(row) != len(given[0]):
            raise InvalidParameter(f"rows must be equally long; rows[{i}] has {len(row)} signs")
    if not set("".join(given)) - {WALL}:
        raise InvalidParameter("a world must have a cell that is no wall; all cells are walls")
    return tuple(given)


def _ground(entry: Any, place: str) -> Ground:
    if not isinstance(entry, list) or len(entry) != 3:
        raise InvalidParameter(f"{place} must be [name, weight, colour]; it is {shown(entry)}")
    name, weight, colour = entry
    return Ground(
        name=_text(name, f"{place} name"),
        weight=_number(weight, f"{place} weight"),
        colour=whole_number(colour, f"{place} colour", 0, N_COLOURS - 1),
    )


def _named_apart(grounds: tuple[Ground, ...]) -> tuple[Ground, ...]:
    names = [ground.name for ground in grounds]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise InvalidParameter(f"features must have different names; two are {shown(name)}")
    return grounds


def _text(given: Any, place: str) -> str:
    if not isinstance(given, str) or not given.strip() or len(given) > LONGEST_NAME:
        raise InvalidParameter(
            f"{place} must be a text of 1 to {LONGEST_NAME} signs; it is {shown(given)}"
        )
    return shown_name(given, LONGEST_NAME)


def _number(given: Any, place: str) -> str:
    """A number as it was written, read once to know that it is one."""
    text = given if isinstance(given, str) else shown(given)
    if isinstance(given, bool) or len(text) > LONGEST_NUMBER:
        raise InvalidParameter(
            f"{place} must be a number of at most {LONGEST_NUMBER} signs; it is {shown(given)}"
        )
    read_number(given, place)
    return text


def _cells(document: dict[str, Any], place: str, letters: str) -> tuple[int, ...]:
    """Numbers of free cells, each once."""
    given = _listed(document, place, 0, len(letters))
    cells = [
        whole_number(cell, f"{place}[{i}]", 0, len(letters) - 1) for i, cell in enumerate(given)
    ]
    for cell in cells:
        if letters[cell] == WALL:
            raise InvalidParameter(f"{place} must be cells that are no walls; cell {cell} is one")
    return tuple(sorted({*cells}))


def painting_of(task: Task) -> Painting | None:
    """The painting of a task that is a plain grid world; None where no painting means the same."""
    if task.layout is None or not _is_paintable(task):
        return None
    mdp, layout = task.mdp, task.layout
    n_rows, n_columns = int(layout["rows"]), int(layout["columns"])
    places = [cell_of(task, state) for state in range(mdp.n_states)]
    cells = [row * n_columns + column for row, column in places]
    letters = np.full(n_rows * n_columns, WALL)
    for state, cell in enumerate(cells):
        feature = active_feature(mdp, state)
        if feature is None:
            return None
        letters[cell] = ascii_lowercase[feature]
    begins = [s for s in range(mdp.n_states) if mdp.start.floats[s] > 0]
    everywhere = len(begins) == mdp.n_states - int(mdp.terminal.sum())
    found = Painting(
        name=shown_name(task.name, LONGEST_NAME),
        rows=tuple("".join(row) for row in letters.reshape(n_rows, n_columns).tolist()),
        features=tuple(
            Ground(mdp.feature_name(i), str(write_number(weight)), i % N_COLOURS)
            for i, weight in enumerate(task.true_weights.fractions())
        ),
        ends=tuple(cells[s] for s in np.flatnonzero(mdp.terminal).tolist()),
        starts=() if everywhere else tuple(cells[s] for s in begins),
        slip=str(write_number(_slip(task))),
        discount=str(write_number(mdp.exact_discount)),
    )
    return found if _means(found, task) else None


def _is_paintable(task: Task) -> bool:
    layout, mdp = task.layout, task.mdp
    small = layout is not None and max(int(layout["rows"]), int(layout["columns"])) <= MOST_ROWS
    few = mdp.n_features <= len(ascii_lowercase)
    return small and few and mdp.action_names == ACTION_NAMES


def _slip(task: Task) -> Fraction:
    """Twice the smallest chance of an outcome: what side steps have in a grid that slips."""
    if task.mdp.is_deterministic():
        return Fraction(0)
    palette, codes = task.mdp.transitions.exact()
    return 2 * min(Fraction(palette[code]) for code in np.unique(codes).tolist())


def _means(painting: Painting, task: Task) -> bool:
    """Whether the painting's task is this one, to the last number."""
    try:
        again = read_painting(painting.document())
        made, wanted = task_document(again.task()), task_document(task)
    except InvalidParameter:
        return False
    return {**made, "name": None} == {**wanted, "name": None}
