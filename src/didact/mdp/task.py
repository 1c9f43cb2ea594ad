"""A task: an MDP, the true weights, a name, and how it lies on a grid.

The layout is what every picture needs, in a terminal, on a page or on paper: the state of each
cell, where actions point, the feature of a cell."""

from __future__ import annotations

import math
import os
import string
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from unicodedata import east_asian_width

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidModel
from didact.files.json import write_json
from didact.inputs import LARGEST_COUNT, instance, shown, shown_name, whole_number
from didact.mdp.model import MDP, as_weights, deciding_states, idle_states, require_text
from didact.mdp.observations import Observations, observation_of, observation_text, shown_text
from didact.mdp.showing import draw, in_notebook
from didact.mdp.transitions import MAX_ROWS, require_index
from didact.numerics.exact import Floats, Numbers


@dataclass(frozen=True, eq=False, init=False)
class Task:
    """What is to be taught: the reward w.phi of an MDP, with weights kept exactly as given.

    mdp: the MDP whose behaviour is to be taught.
    weights: the true weights (k,), as `true_weights`; `task.weights` are the same as floats.
    name: what reports call the task.
    layout: None, or {"kind": "grid", "rows": r, "columns": c} with an optional "cells" that names
        the grid cell (row * columns + column) of every state when not all cells are states.
    observations: what an environment shows in each state, so that its recordings can be read: one
        value for each state, None for a state that shows nothing; by default the state numbers.
    first_action: the environment's number of action 0, as of `Discrete(4, start=1)`: recordings and
        policies of the environment are read so. In models and lessons actions count from 0.
    """

    mdp: MDP
    true_weights: Numbers
    name: str
    layout: Mapping[str, Any] | None
    observations: Observations | None

    def __init__(
        self,
        mdp: MDP,
        weights: Any,
        *,
        name: str = "task",
        layout: Mapping[str, Any] | None = None,
        observations: Sequence[Any] | Observations | None = None,
        first_action: int = 0,
    ):
        if not isinstance(mdp, MDP):
            raise InvalidModel(f"mdp must be an MDP; it is {shown(mdp)}")
        object.__setattr__(self, "mdp", mdp)
        object.__setattr__(self, "true_weights", as_weights(weights, mdp.n_features))
        object.__setattr__(self, "name", require_text(name, "name"))
        object.__setattr__(self, "layout", _as_layout(layout, mdp.n_states))
        first = whole_number(first_action, "first_action", -LARGEST_COUNT, error=InvalidModel)
        is_seen = observations is not None or first != 0
        seen = Observations.read(observations, mdp.n_states, first) if is_seen else None
        object.__setattr__(self, "observations", seen)

    @property
    def weights(self) -> Floats:
        """The true weights as floats, shape (k,)."""
        return self.true_weights.floats

    @property
    def first_action(self) -> int:
        """The environment's number of action 0."""
        return 0 if self.observations is None else self.observations.first_action

    def state(self, observation: Any) -> int:
        """The state that shows an observation; of two, the one that goes on.

        observation: as the environment gives it, or as a file holds it.
        """
        if self.observations is None:
            number = observation.tolist() if isinstance(observation, np.ndarray) else observation
            return require_index(number, self.mdp.n_states, "observation")
        text = observation_text(observation)
        alike = self.observations.states.get(text, ())
        going = [state for state in alike if not self.mdp.terminal[state]] or alike
        if len(going) == 1:
            return going[0]
        how_many = f"{len(going)} states look like" if going else "no state of the task shows"
        raise InvalidModel(f"{how_many} the observation {shown_text(text)}")

    def observation(self, state: int) -> Any:
        """What the environment shows in a state: a number, a text, a tuple, or a dict of them.

        state: the state's number.
        """
        number = require_index(state, self.mdp.n_states, "state")
        if self.observations is None:
            return number
        text = self.observations.texts[number]
        return None if text is None else observation_of(text)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the world: cells by feature, a policy where one is given.

        ax: Matplotlib axes, new ones by default; they are returned.
        style: options of `didact.plots.world`.
        """
        return draw(self, ax, **style)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a `didact.task/1` file; `load_task` gives the same task exactly.

        path: of the file; one that is there is replaced.
        """
        from didact.mdp.files import task_document

        write_json(task_document(self), path)

    def __reduce__(self) -> tuple[Any, ...]:
        layout = None if self.layout is None else dict(self.layout)
        return _restored, (self.mdp, self.true_weights, self.name, layout, self.observations)

    _repr_html_ = in_notebook

    def __repr__(self) -> str:
        return f"Task({shown_name(self.name)!r}, {self.mdp!r})"


def as_task(given: Any, place: str = "task") -> Task:
    """A task, checked to be one."""
    return instance(given, Task, place, "such as didact.make('six-cell') or Task(mdp, weights)")


def as_mdp(given: Any, place: str = "mdp") -> MDP:
    """The MDP itself, or that of a task."""
    return given.mdp if isinstance(given, Task) else instance(given, MDP, place, "or a Task")


def _restored(
    mdp: MDP,
    weights: Numbers,
    name: str,
    layout: Mapping[str, Any] | None,
    observations: Observations | None = None,
) -> Task:
    return Task(mdp, weights, name=name, layout=layout, observations=observations)


CARRIED = "carried "
DOORS = ("open", "closed", "locked")
_COLOURED = [
    f"{what} {colour}"
    for what in ("key", "ball", "box", *DOORS)
    for colour in ("red", "green", "blue", "purple", "yellow", "grey")
]
THINGS = {
    "grid": frozenset[str](),
    "taxi": frozenset({"waiting", "riding", "destination"}),
    "room": frozenset(
        {
            *("facing 0", "facing 90", "facing 180", "facing 270"),
            *_COLOURED,
            *(CARRIED + thing for thing in _COLOURED),
        }
    ),
}
"""The kinds of layouts, and what may lie in a cell; angles go clockwise from east."""


def _as_layout(layout: Any, n_states: int) -> Mapping[str, Any] | None:
    if layout is None:
        return None
    kind = layout.get("kind") if isinstance(layout, Mapping) else None
    if not isinstance(kind, str) or kind not in THINGS:
        raise InvalidModel(
            "layout must be null or an object with kind 'grid', rows and columns; "
            f"it is {shown(layout)}"
        )
    known = {"kind", "rows", "columns", "cells", *(() if kind == "grid" else ("things", "signs"))}
    unknown = set(layout) - known
    if unknown:
        raise InvalidModel(f"layout has no entry {shown(min(unknown, key=str))}; remove it")
    rows, columns = (
        whole_number(layout.get(name), f"layout.{name}", 1, math.inf, error=InvalidModel)
        for name in ("rows", "columns")
    )
    if rows * columns > MAX_ROWS:
        raise InvalidModel(
            f"layout must have at most {MAX_ROWS} cells; it has {shown(rows)} * {shown(columns)}"
        )
    found: dict[str, Any] = {"kind": kind, "rows": rows, "columns": columns}
    if kind == "grid" and layout.get("cells") is None:
        if rows * columns != n_states:
            raise InvalidModel(
                f"layout has {rows} * {columns} cells for {n_states} states; "
                "name the cell of each state in layout.cells"
            )
        return MappingProxyType(found)
    found["cells"] = tuple(
        require_index(cell, rows * columns, f"layout.cells[{i}]")
        for i, cell in enumerate(_each_state(layout, "cells", "a cell", n_states))
    )
    if kind == "grid":
        if len(set(found["cells"])) != n_states:
            raise InvalidModel("layout.cells must differ: two states cannot share a cell")
        return MappingProxyType(found)
    found["things"] = tuple(
        _named_cells(each, f"layout.things[{i}]", rows * columns, THINGS[kind])
        for i, each in enumerate(_each_state(layout, "things", "what is where", n_states))
    )
    found["signs"] = _named_cells(layout.get("signs", ()), "layout.signs", rows * columns)
    return MappingProxyType(found)


def _each_state(layout: Mapping[str, Any], name: str, what: str, n_states: int) -> Sequence[Any]:
    given = layout.get(name)
    if not isinstance(given, list | tuple) or len(given) != n_states:
        raise InvalidModel(
            f"layout.{name} must list {what} for each of the {n_states} states; it is "
            f"{shown(given)}"
        )
    return given


def _named_cells(
    given: Any, place: str, n_cells: int, names: Container[str] | None = None
) -> tuple[tuple[str, int], ...]:
    """[name, cell] pairs; names: what there is, by default any short text."""
    if not isinstance(given, list | tuple):
        raise InvalidModel(f"{place} must list [name, cell] pairs; it is {shown(given)}")
    found = []
    for i, pair in enumerate(given):
        name, cell = pair if isinstance(pair, list | tuple) and len(pair) == 2 else (None, None)
        fits = isinstance(name, str) and (len(name) < 9 if names is None else name in names)
        if not fits:
            raise InvalidModel(
                f"{place}[{i}] must be [name, cell] with a name that a picture has; "
                f"it is {shown(pair)}"
            )
        found.append((str(name), require_index(cell, n_cells, f"{place}[{i}]")))
    return tuple(found)


def is_grid(task: Task) -> bool:
    """Whether each state has a grid cell of its own."""
    return task.layout is not None and task.layout["kind"] == "grid"


ARROW_OF = {
    **dict.fromkeys(("up", "north"), "↑"),
    **dict.fromkeys(("down", "south"), "↓"),
    **dict.fromkeys(("left", "west"), "←"),
    **dict.fromkeys(("right", "east"), "→"),
    "stay": "·",
}
DIRECTION = {"↑": (0, -1), "↓": (0, 1), "←": (-1, 0), "→": (1, 0)}
"""Right and down by one cell."""
POINTING = {(0, -1): "up", (0, 1): "down", (-1, 0): "left", (1, 0): "right"}
"""What a direction is called."""


def states_by_cell(task: Task) -> NDArray[np.int64]:
    """The state in each cell of the grid (rows, columns), -1 where none can come up."""
    assert task.layout is not None
    shape = int(task.layout["rows"]), int(task.layout["columns"])
    cells = task.layout.get("cells")
    used = np.flatnonzero(~idle_states(task.mdp))
    state_at = np.full(shape[0] * shape[1], -1, dtype=np.int64)
    state_at[used if cells is None else np.asarray(cells)[used]] = used
    return state_at.reshape(shape)


def cell_of(task: Task, state: int) -> tuple[int, int]:
    """Row and column of a state in its layout, from 0."""
    assert task.layout is not None
    cells = task.layout.get("cells")
    return divmod(state if cells is None else int(cells[state]), int(task.layout["columns"]))


def action_directions(mdp: MDP) -> tuple[tuple[int, int] | None, ...]:
    """Where each action points by its name; four without names are up, down, left, right."""
    if mdp.action_names is None:
        known = ["↑", "↓", "←", "→"] if mdp.n_actions == 4 else [""] * mdp.n_actions
    else:
        known = [ARROW_OF.get(name.lower(), "") for name in mdp.action_names]
    return tuple(DIRECTION.get(arrow) for arrow in known)


def marked_starts(mdp: MDP) -> NDArray[np.bool_]:
    """Starts (S,) are marked where not every state that goes on is one."""
    starts = mdp.start.floats > 0
    going = deciding_states(mdp)
    return np.zeros_like(starts) if starts[going].all() else starts


def active_feature(mdp: MDP, state: int) -> int | None:
    """The one feature that is on in a state, or None where that is not the picture."""
    if mdp.has_action_features:
        return None
    on = np.flatnonzero(mdp.features.floats[state])
    return int(on[0]) if on.size == 1 else None


def feature_letters(mdp: MDP) -> list[str]:
    """A letter for each feature: those of a drawing, initials when they differ, else a, b, c ...

    From the 53rd feature on it is '+'.
    """
    names = [mdp.feature_name(i) for i in range(mdp.n_features)]
    if all(len(n) == 1 and _is_narrow(n) for n in names) and len(set(names)) == len(names):
        return names
    initials = [name[:1].lower() for name in names]
    plain = all(letter.isalnum() and _is_narrow(letter) for letter in initials)
    if plain and len(set(initials)) == len(initials):
        return initials
    return [*string.ascii_letters[: mdp.n_features], *"+" * (mdp.n_features - 52)]


def _is_narrow(letter: str) -> bool:
    """Whether a sign can be seen and takes one place in a terminal."""
    return letter.isprintable() and letter != " " and east_asian_width(letter) not in "WF"
