"""States, actions and steps as every message names them: "right in row 2, column 3".

A state has its name; where that is only a number, a grid says its row and column, counted from 1
and from the top left, and elsewhere it is "state 12". People count demonstrations, episodes and
steps from 1; Python and files count from 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from didact.inputs import shown_name
from didact.mdp.model import MDP
from didact.mdp.task import POINTING, Task, action_directions, as_mdp, cell_of, is_grid

LONGEST_STATE = 90
"""Signs of a state's name that are shown."""
ENDED = " (end)"
"""How the name of a state ends that looks like another one, but in which the episode has ended."""

EVENTS = {
    "Taxi": {
        "reward 20": ("delivering the passenger", "deliveries"),
        "reward -10": ("a wrong pick-up or drop-off", "wrong pick-ups or drop-offs"),
        "reward -1": ("a move", "moves"),
    },
    "CliffWalking": {
        "reward -1": ("a step", "steps"),
        "reward -100": ("falling off the cliff", "falls off the cliff"),
    },
    "FrozenLake": {
        "reward 1": ("reaching the goal", "arrivals at the goal"),
        "reward 0": ("any other step, also into a hole", "other steps"),
    },
}
"""What pays each reward of an environment: one of it, and several."""


def state_words(where: MDP | Task, state: int, longest: int = LONGEST_STATE) -> str:
    """A state as people find it: its name, or where it lies on the grid, or its number.

    where: the model, or its task, which knows the grid.
    """
    name = as_mdp(where).state_name(state)
    if not name.removesuffix(ENDED).isdecimal():
        return shown_name(name, longest)
    if isinstance(where, MDP) or not is_grid(where):
        return f"state {name}"
    row, column = cell_of(where, state)
    return cell_words(row, column)


def numbered_state(where: MDP | Task, state: int) -> str:
    """A state that was given by its number: 'state 12', and what it is called where it is."""
    words = state_words(where, state)
    return words if words == f"state {state}" else f"state {state} ({words})"


def cell_words(row: int, column: int) -> str:
    """A cell of a grid, counted from 1; given as from 0."""
    return f"row {row + 1}, column {column + 1}"


def action_words(where: MDP | Task, action: int) -> str:
    """An action by its name; without names where it points on a grid, or its number."""
    mdp = as_mdp(where)
    name = mdp.action_name(action)
    if not name.isdecimal():
        return shown_name(name)
    on_grid = isinstance(where, Task) and is_grid(where)
    direction = action_directions(mdp)[action] if on_grid else None
    return f"action {name}" if direction is None else POINTING[direction]


def pair_words(where: MDP | Task, state: int, action: int) -> str:
    """An action in a state: 'right in row 2, column 3'."""
    return f"{action_words(where, action)} in {state_words(where, state)}"


def episode_numbers(episodes: Sequence[int]) -> dict[int, str]:
    """What people call the episodes of a recording, by their numbers in its file: 1, 2, 3, ...

    Where the file does not count from 0 or 1, its own number is said too.
    """
    n = len(episodes)
    if list(episodes) in (list(range(n)), list(range(1, n + 1))):
        return {number: str(place + 1) for place, number in enumerate(episodes)}
    return {number: f"{i + 1} ({number} in the file)" for i, number in enumerate(episodes)}


def step_words(demonstration: int, step: int, kind: str = "demonstration") -> str:
    """'demonstration 1, step 4'; both are counted from 1, and given as from 0."""
    return f"{kind} {demonstration + 1}, step {step + 1}"


def event_words(task_name: str, feature: str) -> tuple[str, str] | None:
    """What happens where a known environment pays a reward; None elsewhere.

    task_name: the environment's id, also with words behind it. feature: the name of a feature.
    """
    known, version, _ = task_name.partition("-v")
    return EVENTS.get(known, {}).get(feature) if version else None
