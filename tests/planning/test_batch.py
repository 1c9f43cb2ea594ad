"""Losses of many rewards against all policies of tiny models, and against a plan for each."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

import didact
from didact.planning import evaluate, solve
from didact.planning.batch import Losses
from didact.planning.loss import action_gaps

WORLDS = {
    "moves": {"size": 3, "n_features": 3, "seed": 1},
    "slips": {"size": 3, "n_features": 3, "seed": 2, "slip": "0.2"},
}


def least_loss(task, optimal):
    """The least loss over all deterministic policies that take marked actions only."""
    choices = [np.flatnonzero(row) if row.any() else [0] for row in optimal]
    plan = solve(task)
    return min(
        evaluate(task, np.array(policy), plan=plan).policy_loss for policy in product(*choices)
    )


@pytest.mark.parametrize("name", WORLDS)
def test_losses_and_optimal_sets_are_those_of_a_plan_for_each_reward(name):
    task = didact.make("random-grid", **WORLDS[name])
    truth = solve(task)
    weights = np.random.default_rng(0).standard_normal((40, 3))
    lost = Losses(task, action_gaps(truth)).of(weights)
    for i, own in enumerate(weights):
        plan = solve(task.mdp, own)
        assert np.array_equal(lost.optimal[i], plan.optimal)
        assert lost.losses[i] == pytest.approx(evaluate(task, plan, plan=truth).policy_loss)
        own_policy = evaluate(task, lost.policies[i], plan=truth).policy_loss
        assert lost.losses[i] == pytest.approx(own_policy)
    assert not lost.close.any()


@pytest.mark.parametrize("weights", [(0, 0), (0, 1), (1, 0), (0, -1)])
def test_ties_are_broken_for_the_best(weights):
    task = didact.make("six-cell")
    plan = solve(task.mdp, weights)
    lost = Losses(task, action_gaps(solve(task))).of(np.array([weights], dtype=float))
    assert lost.losses[0] == pytest.approx(least_loss(task, plan.optimal), abs=1e-12)
    assert Losses(task, action_gaps(solve(task))).among(plan.optimal) == pytest.approx(
        lost.losses[0], abs=1e-9
    )


def test_policies_of_equal_counts_have_one_form():
    task = didact.make("random-grid", size=4, n_features=2, seed=0)
    weights = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, -0.5], [1.0, 1e-3]])
    policies = Losses(task, action_gaps(solve(task))).of(weights).policies
    assert len({policy.tobytes() for policy in policies}) == 1


@pytest.mark.parametrize("name", ["six-cell", *WORLDS])
def test_a_reward_that_is_solved_directly_has_the_same_losses_and_policies(name, monkeypatch):
    """Where the kernel does not settle a reward it is told so, and goes on with the next."""
    task = didact.make("random-grid", **WORLDS[name]) if name in WORLDS else didact.make(name)
    k = task.mdp.n_features
    drawn = np.random.default_rng(0).standard_normal((8, k))
    weights = np.concatenate([drawn, np.eye(k), -np.eye(k), np.zeros((1, k))])
    losses = Losses(task, action_gaps(solve(task)))
    wanted, solved = losses.of(weights), []
    kernel, directly = losses.kernel, losses._lose_directly

    def settles_one(work, model, batch, *rest):
        if len(batch.tolerances) % 2:
            return 0
        kernel.run(work, model, batch, *rest)
        return 1

    def counting(*arguments):
        solved.append(arguments)
        directly(*arguments)

    monkeypatch.setattr(losses, "kernel", SimpleNamespace(run=settles_one))
    monkeypatch.setattr(losses, "_lose_directly", counting)
    for found, want in zip(losses.of(weights), wanted, strict=True):
        assert found == pytest.approx(want)
    assert len(solved) > len(weights) // 2


def test_rewards_on_which_inexact_evaluations_go_in_circles_are_planned():
    """At -w every state may stay where nothing is paid, and evaluations never settle at 0."""
    to = [[{3: 1}, {1: 1}, {2: 1}], [{0: 1}, {2: 1}, {3: 1}]]
    to += [[{3: 1}, {0: "1/3", 1: "2/3"}, {0: "1/3", 1: "1/3", 3: "1/3"}], [{3: 1}, {0: 1}, {0: 1}]]
    rows = [
        (s, a, target, chance)
        for s, actions in enumerate(to)
        for a, targets in enumerate(actions)
        for target, chance in targets.items()
    ]
    paid = [[[0], [0], [1]], [[0], [1], [1]], [[0], [1], [0]], [[0], [1], [0]]]
    mdp = didact.MDP(didact.Transitions.from_rows(rows, 4, 3), paid, "9/10", start={0: 1})
    task = didact.Task(mdp, [3])
    lost = Losses(task, action_gaps(solve(task))).of(np.array([[1.0], [-1.0]]))
    for weights, loss in zip(([1], [-1]), lost.losses, strict=True):
        plan = solve(task.mdp, weights, arithmetic="exact")
        assert loss == pytest.approx(least_loss(task, plan.optimal), abs=1e-9)
