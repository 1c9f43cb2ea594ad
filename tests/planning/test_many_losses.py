"""Losses of many rewards against all policies of tiny models, and against a plan for each."""

from itertools import product

import numpy as np
import pytest

import didact
from didact.planning import evaluate, solve
from didact.planning.many_losses import Losses

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
    lost = Losses(task, truth).of(weights)
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
    lost = Losses(task, solve(task)).of(np.array([weights], dtype=float))
    assert lost.losses[0] == pytest.approx(least_loss(task, plan.optimal), abs=1e-12)
    assert Losses(task, solve(task)).among(plan.optimal) == pytest.approx(lost.losses[0], abs=1e-9)


def test_policies_of_equal_counts_have_one_form():
    task = didact.make("random-grid", size=4, n_features=2, seed=0)
    weights = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, -0.5], [1.0, 1e-3]])
    policies = Losses(task, solve(task)).of(weights).policies
    assert len({policy.tobytes() for policy in policies}) == 1
