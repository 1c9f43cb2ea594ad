"""A task: an MDP, the true weights, a name, and how to draw it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from didact.errors import InvalidModel
from didact.inputs import LARGEST_COUNT, instance, shown, shown_name, whole_number
from didact.mdp.model import MDP, as_weights, require_text
from didact.mdp.observations import Observations, observation_of, observation_text, shown_text
from didact.mdp.showing import show
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
        seen = Observations.read(observations, mdp.n_states, first)
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
        return show("plot of a task", self, ax, **style)

    def __reduce__(self) -> tuple[Any, ...]:
        layout = None if self.layout is None else dict(self.layout)
        return _restored, (self.mdp, self.true_weights, self.name, layout, self.observations)

    def _repr_html_(self) -> str:
        html: str = show("task", self)
        return html

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


def _as_layout(layout: Any, n_states: int) -> Mapping[str, Any] | None:
    if layout is None:
        return None
    if not isinstance(layout, Mapping) or layout.get("kind") != "grid":
        raise InvalidModel(
            "layout must be null or an object with kind 'grid', rows and columns; "
            f"it is {shown(layout)}"
        )
    unknown = set(layout) - {"kind", "rows", "columns", "cells"}
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
    cells = layout.get("cells")
    if cells is None:
        if rows * columns != n_states:
            raise InvalidModel(
                f"layout has {rows} * {columns} cells for {n_states} states; "
                "name the cell of each state in layout.cells"
            )
        return MappingProxyType({"kind": "grid", "rows": rows, "columns": columns})
    if not isinstance(cells, list | tuple) or len(cells) != n_states:
        raise InvalidModel(
            f"layout.cells must list a cell for each of the {n_states} states; it is {shown(cells)}"
        )
    numbered = tuple(
        require_index(cell, rows * columns, f"layout.cells[{i}]") for i, cell in enumerate(cells)
    )
    if len(set(numbered)) != n_states:
        raise InvalidModel("layout.cells must differ: two states cannot share a cell")
    return MappingProxyType({"kind": "grid", "rows": rows, "columns": columns, "cells": numbered})
