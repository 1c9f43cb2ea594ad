"""The world that a question is about: painted, named, or given as a document; what is best in it.

A painted grid world is a document that a page keeps, and it means an exact task:

    {"name": "meadow", "rows": ["aab", "a#b"], "features": [["grass", "-1", 3], ["sand", "-2", 5]],
     "ends": [2], "starts": [], "slip": "0.1", "discount": "0.95"}

Letters are features in order, '#' is a wall; ends and starts are numbers of cells, row by row from
the top left. Without starts every cell that does not end is one. Numbers are read exactly as they
are written. A colour is one of twelve. What a page sends is checked here, with limits, before
anything is computed.

Names are those of built-in worlds and of registered environments of Gymnasium, parameters are
numbers: a page can neither name a file nor have a module imported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from string import ascii_lowercase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidParameter
from didact.inputs import shown, shown_name, whole_number
from didact.mdp import Family, Task
from didact.mdp.files import family_document, task_document, task_or_family_from_document
from didact.mdp.task import active_feature, cell_of, is_grid, states_by_cell
from didact.numerics.exact import read_number, write_number
from didact.planning import solve
from didact.report.page.neutral import neutral_world
from didact.report.page.world import task_drawn
from didact.worlds.grids import ACTION_NAMES, as_probability, grid_task, one_hot
from didact.worlds.gym.environments import installed_id
from didact.worlds.gym.minigrid import is_minigrid
from didact.worlds.opening import open_task_or_family
from didact.worlds.registry import worlds

MAX_ROWS = 30
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
    rows = _rows(_listed(document, "rows", 1, MAX_ROWS), len(grounds))
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
        if not isinstance(row, str) or not 1 <= len(row) <= MAX_ROWS or not {*row} <= allowed:
            raise InvalidParameter(
                f"rows[{i}] must be 1 to {MAX_ROWS} signs, '#' for walls and a letter for each "
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
        weight=_number(weight, f"weight of {shown(name)}"),
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
    if not is_grid(task) or not _is_paintable(task):
        return None
    mdp = task.mdp
    n_rows, n_columns = states_by_cell(task).shape
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
    small = layout is not None and max(int(layout["rows"]), int(layout["columns"])) <= MAX_ROWS
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


def looked_at(painting: Painting, task: Task | None = None) -> dict[str, Any]:
    """The picture, and by cell the value and the optimal actions (None and [] in walls).

    task: of the painting, where it is at hand.
    neutral: the picture that games show, in which nothing depends on the reward.
    n_close: comparisons that floats leave open; they are drawn as ties.
    """
    task = painting.task() if task is None else task
    plan = solve(task.mdp, task.true_weights, arithmetic="float")
    values: list[float | None] = []
    optimal: list[list[int]] = []
    state = 0
    for letter in "".join(painting.rows):
        free = letter != WALL
        values.append(float(plan.values[state]) if free else None)
        optimal.append(plan.optimal_actions(state) if free else [])
        state += free
    picture, key = task_drawn(task, plan)
    hidden = neutral_world(task)
    return {
        "picture": picture,
        "neutral": {"picture": hidden.picture(), "legend": hidden.legend, "rules": hidden.rules},
        "key": key,
        "values": values,
        "optimal": optimal,
        "n_close": plan.n_close - plan.n_settled,
    }


WAYS = ("painting", "world", "task")
MAX_STATES = 5_000
"""How many states a world may have in all to be opened by a page."""
NAMELESS = {"grid", "gymnasium"}
"""Built-in worlds that are drawn or named by texts; a page paints, or gives the id itself."""
_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,40}(/[\w.-]{1,40})?-v[0-9]{1,3}")
_VALUE = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,12})?(/[0-9]{1,12})?|[0-9]{1,2}x[0-9]{1,2}")


_read: tuple[str, Task | Family] | None = None
"""What the last question named. A page asks for the picture of a world, its lesson, and what stays
open after each demonstration: a worker then makes the world once, and so its class."""


def read_subject(question: Any) -> Task | Family:
    """The task or the family that a question names; the same object while questions name one."""
    global _read
    _way(question)
    words = repr([question.get(name) for name in (*WAYS, "parameters")])
    if _read is None or _read[0] != words:
        _read = words, _subject(question)
    return _read[1]


def _subject(question: Mapping[str, Any]) -> Task | Family:
    way = _way(question)
    if way == "painting":
        return read_painting(question["painting"]).task()
    if way == "task":
        return _small(task_or_family_from_document(question["task"]))
    return _small(open_task_or_family(*_named(question)))


def painting_in(question: Any) -> Painting:
    """The painting that a question is about."""
    if _way(question) != "painting":
        raise InvalidParameter("this can only be asked about a painted world; paint one")
    return read_painting(question["painting"])


def _way(question: Any) -> str:
    given = [way for way in WAYS if isinstance(question, dict) and way in question]
    if len(given) != 1:
        raise InvalidParameter(
            f"a question must name its world by one of {', '.join(WAYS)}; it is {shown(question)}"
        )
    return given[0]


def _named(question: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    source, parameters = question["world"], question.get("parameters", {})
    is_built_in = isinstance(source, str) and source in worlds() and source not in NAMELESS
    if not is_built_in and not (isinstance(source, str) and _is_environment(source)):
        raise InvalidParameter(
            "world must be the name of a built-in world or of an environment of Gymnasium; it is "
            f"{shown(source)}"
        )
    if not isinstance(parameters, dict) or len(parameters) > 20:
        raise InvalidParameter(f"parameters must be a table; it is {shown(parameters)}")
    for name in parameters:
        if not name.isidentifier():  # it stands in the code that the page shows to be copied
            raise InvalidParameter(f"the name of a parameter must be a word; it is {shown(name)}")
    return source, {name: _value(value, name) for name, value in parameters.items()}


def _is_environment(source: str) -> bool:
    if not _ID.fullmatch(source):
        return False
    return installed_id(source) is not None or is_minigrid(source)


def _value(value: Any, name: str) -> Any:
    if isinstance(value, bool) or (isinstance(value, int) and abs(value) < 10**9):
        return value
    if isinstance(value, Decimal) and abs(value) < 10**9:
        return str(value)
    if isinstance(value, str) and _VALUE.fullmatch(value):
        return int(value) if value.isdigit() else value
    raise InvalidParameter(
        f"parameter {shown(name)} must be a number, a fraction or sides such as 4x5; it is "
        f"{shown(value)}"
    )


def _small(found: Task | Family) -> Task | Family:
    members = found.members if isinstance(found, Family) else [found]
    n_states = sum(member.mdp.n_states for member in members)
    if n_states > MAX_STATES:
        raise InvalidParameter(
            f"a world must have at most {MAX_STATES} states here; it has {n_states}. "
            "The command line takes larger ones"
        )
    return found


def opened(found: Task | Family, question: Mapping[str, Any]) -> dict[str, Any]:
    """How a page keeps a world: as a painting where it is one, else by name or document."""
    _small(found)
    painting = None if isinstance(found, Family) else painting_of(found)
    if painting is not None:
        return {"subject": {"painting": painting.document()}, "name": found.name}
    if "world" in question and _can_be_named(question):
        plain = {
            name: str(value) if isinstance(value, Decimal) else value
            for name, value in question.get("parameters", {}).items()
        }
        kept = {"world": question["world"], "parameters": plain}
        return {"subject": kept, "name": found.name}
    document = family_document(found) if isinstance(found, Family) else task_document(found)
    return {"subject": {"task": document}, "name": found.name}


def _can_be_named(question: Mapping[str, Any]) -> bool:
    try:
        _named(question)
    except InvalidParameter:
        return False
    return True
