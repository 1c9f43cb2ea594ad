"""Reachable pairs, against brute force."""

import numpy as np
import pytest

from didact.planning import reachable_pairs, reachable_states, solve
from didact.planning.reach import spread
from didact.worlds import make
from tests.effort import chunks


def brute_force_pairs(mdp, allowed, horizon):
    matrix = mdp.transitions.matrix().toarray().reshape(mdp.n_states, mdp.n_actions, -1)
    states = set(np.flatnonzero(mdp.start.floats > 0).tolist())
    pairs = set()
    for _ in range(horizon):
        here = {(s, a) for s in states if not mdp.terminal[s] for a in np.flatnonzero(allowed[s])}
        pairs |= here
        states = {int(t) for s, a in here for t in np.flatnonzero(matrix[s, a])}
    return pairs


@pytest.mark.parametrize("is_compiled", [False, True], ids=["plain", "compiled"])
@pytest.mark.parametrize("horizon", [1, 2, 3, 7, 10**12])
@pytest.mark.parametrize("seed", chunks(5, 10))
def test_pairs_within_a_horizon(horizon, seed, is_compiled, monkeypatch):
    monkeypatch.setattr(spread, "pays", lambda work=0: is_compiled)
    task = make("garnet", n_states=8, n_actions=3, branching=2, terminals=1, starts=2, seed=seed)
    allowed = solve(task.mdp, task.true_weights).optimal
    found = {
        (int(s), int(a))
        for s, a in np.argwhere(reachable_pairs(task.mdp, allowed, horizon=horizon))
    }
    assert found == brute_force_pairs(task.mdp, allowed, min(horizon, 20))


def test_optimal_reach_is_inside_any_reach():
    task = make("garnet", n_states=12, n_actions=3, branching=2, starts=1, seed=1)
    plan = solve(task.mdp, task.true_weights)
    anywhere = reachable_states(task.mdp)
    assert (anywhere | ~reachable_states(task.mdp, plan.optimal)).all()
