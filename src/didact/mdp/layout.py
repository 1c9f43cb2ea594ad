"""How a task lies on a grid: the state of each cell, where actions point, the feature of a cell.

What every picture needs, in a terminal, on a page or on paper, whatever it is drawn with.
"""

from __future__ import annotations

import string
from unicodedata import east_asian_width

import numpy as np
from numpy.typing import NDArray

from didact.mdp.idle import deciding_states, idle_states
from didact.mdp.model import MDP
from didact.mdp.task import Task

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
    """Row and column of a state on the grid, from 0."""
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
