"""What cells mean, read from the model: which end is the goal, which is worse, where one falls.

Nothing is known of a world but its moves and rewards. An end is worth what arriving there pays. The
ends that pay most are goals where others pay less; where all pay the same, those that the optimal
actions lead to. A cell that no state has is a wall where moves against it stay, and a fall where
one of them throws far away.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from didact.mdp import MDP, Task
from didact.mdp.task import action_directions, states_by_cell
from didact.numerics.exact import Floats
from didact.planning import Plan, reachable_states
from didact.planning.kernels import reward_table

SAME = 1e-9
"""Ends whose worth differs by less pay the same."""

GOAL, WORSE, END = "goal", "worse", "end"


def kinds_of_ends(task: Task, plan: Plan | None = None) -> dict[int, str]:
    """For each terminal state 'goal', 'worse' (it pays less than a goal) or 'end'."""
    mdp = task.mdp
    ends = np.flatnonzero(mdp.terminal).tolist()
    worth = {end: value for end in ends if (value := _worth(task, end)) is not None}
    if len(worth) == len(ends) > 1 and max(worth.values()) - min(worth.values()) > SAME:
        best = max(worth.values())
        return {end: GOAL if worth[end] >= best - SAME else WORSE for end in ends}
    sought = set() if plan is None else _led_to(mdp, plan)
    return {end: GOAL if end in sought else END for end in ends}


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
