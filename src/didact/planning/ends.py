"""What the ends of an episode are: goals, worse ends, and ends that pay alike.

An end is worth what arriving there pays. Where ends pay differently, those that pay most are goals,
and so are those that pay more than a usual step; the others are worse ends, unless an optimal
action leads to them for certain. Where all pay the same, goals are those that optimal actions lead
to. Nothing is known of a world but its moves and rewards.
"""

from __future__ import annotations

import numpy as np

from didact.mdp import MDP, Task
from didact.numerics.exact import Floats
from didact.planning.kernels import reward_table
from didact.planning.paths import reachable_states
from didact.planning.solve import Plan

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
    if plan is None:
        return dict.fromkeys(ends, END)
    sought = reachable_states(mdp, plan.optimal)  # by optimal actions from the start
    return {end: GOAL if sought[end] else END for end in ends}


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


def only_successor(mdp: MDP, state: int, action: int) -> int | None:
    """Where an action leads when there is only one outcome."""
    moves = mdp.transitions
    row = state * mdp.n_actions + action
    low, high = int(moves.offsets[row]), int(moves.offsets[row + 1])
    return int(moves.successors[low]) if high == low + 1 else None
