"""Demonstrations aimed at pairs that could be shown and no sample has.

A breadth-first search over optimal actions and possible successors finds a shortest way to each
pair, or proves that there is none: so "not sampled" and "not reachable" are told apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from didact.mdp import MDP
from didact.planning import Plan
from didact.teaching.covers.candidates import Candidates, Indices


def aimed_demonstrations(
    mdp: MDP, plan: Plan, targets: Iterable[int], *, starts: Indices, horizon: int
) -> tuple[Candidates, list[int]]:
    """For each target pair a shortest trajectory that shows it last, and the targets without one.

    Paths take optimal actions and possible successors only, and at most `horizon` steps.
    """
    before = _shortest_paths(mdp, plan, starts)
    paths, missing = [], []
    for target in targets:
        path = _path_to(before, target, mdp.n_actions)
        if path is None or len(path) > horizon or not plan.optimal.ravel()[target]:
            missing.append(int(target))
        else:
            paths.append(path)
    return Candidates.of(paths, mdp.n_actions, horizon), missing


def _shortest_paths(mdp: MDP, plan: Plan, starts: Indices) -> dict[int, int]:
    """For every state that optimal play can reach, the pair before it; -1 for starts."""
    before = dict.fromkeys(starts.tolist(), -1)
    frontier = starts.tolist()
    offsets, successors = mdp.transitions.offsets, mdp.transitions.successors
    while frontier:
        reached = []
        for state in frontier:
            for action in plan.optimal_actions(state):
                row = state * mdp.n_actions + action
                for target in successors[offsets[row] : offsets[row + 1]].tolist():
                    if target not in before:
                        before[target] = row
                        reached.append(target)
        frontier = [state for state in reached if not mdp.terminal[state]]
    return before


def _path_to(before: Mapping[int, int], target: int, n_actions: int) -> list[int] | None:
    path = [target]
    state = target // n_actions
    while state in before:
        if before[state] < 0:
            return path[::-1]
        path.append(before[state])
        state = before[state] // n_actions
    return None
