"""Reachable pairs against brute force; sampled trajectories are steps of the model.

Ends are told apart by what they pay and by where optimal actions lead.
"""

import numpy as np
import pytest

from didact import MDP, Task, solve
from didact.errors import InvalidInput
from didact.planning import reachable_pairs, reachable_states, rollout, rollouts
from didact.planning.paths import kinds_of_ends, spread
from didact.worlds import gridworld, make
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
    way = spread.compiled if is_compiled else spread.plain
    monkeypatch.setattr(spread, "run", lambda work, *given: way(*given))
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


def test_rollouts_follow_the_model_and_stop_at_the_end():
    task = make("six-cell")
    plan = solve(task.mdp, task.true_weights)
    path = rollout(task.mdp, plan, horizon=50, seed=np.random.default_rng(0), start=2)
    assert path.pairs == ((2, 1), (5, 2), (4, 2), (3, 0))
    assert len(rollout(task.mdp, plan, horizon=2, seed=np.random.default_rng(0), start=2)) == 2


def test_rollout_frequencies_are_the_policys():
    task = make("random-grid", size=3, n_features=2, slip="0.4", seed=0)
    policy = np.tile([0.1, 0.2, 0.3, 0.4], (9, 1))
    rng = np.random.default_rng(0)
    paths = rollouts(task.mdp, policy, horizon=2, rng=rng, starts=[None] * 20_000)
    starts = np.bincount([p[0][0] for p in paths], minlength=9) / len(paths)
    actions = np.bincount([p[0][1] for p in paths], minlength=4) / len(paths)
    assert np.abs(starts - 1 / 9).max() < 0.01
    assert np.abs(actions - policy[0]).max() < 0.015
    model = task.mdp.transitions.matrix().toarray().reshape(9, 4, 9)
    moved = np.bincount([p[1][0] for p in paths if p[0] == (4, 3)], minlength=9)
    assert np.abs(moved / moved.sum() - model[4, 3]).max() < 0.05


@pytest.mark.parametrize(
    "arguments", [{"horizon": 0}, {"horizon": 3, "start": 0}, {"horizon": 3, "start": 9}]
)
def test_bad_rollouts_are_refused(arguments):
    task = make("six-cell")
    with pytest.raises(InvalidInput):
        rollout(task.mdp, task.weights, seed=np.random.default_rng(0), **arguments)


def two_ends(rewards, pays: str):
    """In the middle of three cells; left and right end it."""
    moves = [[[0, 0, 0]] * 2, [[1, 0, 0], [0, 0, 1]], [[0, 0, 0]] * 2]
    by_state = [[rewards[0]], [0], [rewards[1]]]
    by_action = [[[0], [0]], [[rewards[0]], [rewards[1]]], [[0], [0]]]
    mdp = MDP(
        moves,
        by_state if pays == "states" else by_action,
        "0.9",
        start=1,
        terminal=[0, 2],
        action_names=["left", "right"],
    )
    return Task(mdp, [1], layout={"kind": "grid", "rows": 1, "columns": 3})


@pytest.mark.parametrize("pays", ["states", "actions"])
@pytest.mark.parametrize(
    ("rewards", "kinds"),
    [
        ((2, -1), ("goal", "worse")),
        ((2, 1), ("goal", "goal")),
        ((-5, -1), ("worse", "goal")),
        ((3, 3), ("end", "end")),
    ],
)
def test_ends_are_told_apart_by_what_they_pay(rewards, kinds, pays):
    task = two_ends(rewards, pays)
    assert kinds_of_ends(task) == {0: kinds[0], 2: kinds[1]}
    if rewards[0] == rewards[1]:
        assert kinds_of_ends(task, solve(task)) == {0: "goal", 2: "goal"}


def test_an_end_that_is_aimed_at_is_no_hole():
    task = gridworld(["G.#.E"], {"G": 10, ".": -1, "E": -1}, terminal="GE")
    end = task.mdp.n_states - 1
    assert kinds_of_ends(task) == {0: "goal", end: "worse"}
    assert kinds_of_ends(task, solve(task)) == {0: "goal", end: "end"}
