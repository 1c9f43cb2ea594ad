"""Closed lessons: what a learner that plans for itself needs beyond the half-spaces.

The class of demonstrations takes the teacher's way of going on for granted; a learner goes on in
its own way. When a lesson shows all optimal actions of every state that it shows, and every
possible successor is shown or terminal, then every reward that makes the lesson optimal lies in
the class of the demonstrations.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from didact.bec.classes import Part
from didact.bec.halfspaces import demonstrated_pairs
from didact.mdp import MDP, Demonstration
from didact.planning import Plan, reachable_pairs
from didact.planning.kernels import single_successors
from didact.planning.paths import all_ranges
from didact.teaching.covers.aimed import aimed_demonstrations
from didact.teaching.covers.candidates import Indices


def missing_pairs(mdp: MDP, plan: Plan, demonstrations: Sequence[Demonstration]) -> Indices:
    """The optimal pairs, as s*A + a, that closure asks for and the demonstrations do not show."""
    shown = demonstrated_pairs(mdp, demonstrations)
    needed = reachable_pairs(mdp, plan.optimal, starts=np.asarray(shown.any(axis=1)))
    return np.flatnonzero((needed & ~shown).ravel())


def is_closed(mdp: MDP, plan: Plan, demonstrations: Sequence[Demonstration]) -> bool:
    """Whether a lesson shows all that closure asks for: looking one step ahead is enough."""
    width = mdp.n_actions
    return is_closed_by(mdp, plan, {s * width + a for shown in demonstrations for s, a in shown})


def is_closed_by(mdp: MDP, plan: Plan, shown: Collection[int]) -> bool:
    """The same of optimal pairs s*A + a, each given once."""
    rows = np.fromiter(shown, np.int64, len(shown))
    ends = mdp.terminal.copy()
    ends[rows // mdp.n_actions] = True
    if rows.size < plan.n_optimal[ends].sum():
        return False
    if mdp.is_deterministic():
        return bool(ends[single_successors(mdp)[rows]].all())
    offsets = mdp.transitions.offsets
    targets = mdp.transitions.successors[all_ranges(offsets[rows], offsets[rows + 1])]
    return bool(ends[targets].all())


def all_closed(parts: Sequence[Part], demonstrations: Sequence[Demonstration]) -> bool:
    """Whether what is shown of each part is closed."""
    return all(is_closed(part.task.mdp, part.plan, part.own(demonstrations)) for part in parts)


def close(
    mdp: MDP,
    plan: Plan,
    demonstrations: Sequence[Demonstration],
    *,
    starts: Indices,
    horizon: int,
) -> list[Demonstration]:
    """Further demonstrations that close a lesson, each a shortest way to a missing pair.

    Pairs that cannot be shown from the starts within the horizon stay missing.
    """
    missing = set(missing_pairs(mdp, plan, demonstrations).tolist())
    added: list[Demonstration] = []
    aimed, _ = aimed_demonstrations(mdp, plan, sorted(missing), starts=starts, horizon=horizon)
    for i in np.argsort(-aimed.lengths(), kind="stable").tolist():
        path = aimed.pairs[i][aimed.pairs[i] >= 0].tolist()
        if path[-1] in missing:
            path = _continued(mdp, plan, path, missing, horizon)
            missing.difference_update(path)
            added.append(Demonstration([divmod(pair, mdp.n_actions) for pair in path]))
    return added


def _continued(mdp: MDP, plan: Plan, path: list[int], missing: set[int], horizon: int) -> list[int]:
    """The path, followed on through missing pairs as long as one comes next."""
    left = missing.difference(path)
    offsets, successors = mdp.transitions.offsets, mdp.transitions.successors
    while len(path) < horizon:
        targets = successors[offsets[path[-1]] : offsets[path[-1] + 1]].tolist()
        options = [t * mdp.n_actions + a for t in targets for a in plan.optimal_actions(t)]
        following = next((pair for pair in options if pair in left), None)
        if following is None:
            break
        path.append(following)
        left.discard(following)
    return path
