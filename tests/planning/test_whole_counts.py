"""Counts in whole numbers against Bellman's equation in fractions, and against rational solves."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import didact
from didact.mdp import MDP
from didact.planning import exact_successor_features, solve
from didact.planning.rationals import Followed, evaluate_followed, exact_model
from didact.planning.whole_counts import lowest, whole_counts
from tests.effort import chunks


def sure_model(seed):
    """Sure steps, features that are fractions, and policies of one to all actions."""
    rng = np.random.default_rng(seed)
    n_states, n_actions, k = int(rng.integers(1, 12)), int(rng.integers(1, 4)), 3
    moves = np.zeros((n_states, n_actions, n_states))
    for row in moves.reshape(-1, n_states):
        row[rng.integers(n_states)] = 1.0
    features = rng.integers(-3, 4, (n_states, k)) / rng.choice([1, 2, 5])
    policy = [
        sorted(rng.choice(n_actions, rng.integers(1, n_actions + 1), replace=False).tolist())
        for _ in range(n_states)
    ]
    return MDP(moves, features, ["0.9", "1/3", "0.95"][seed % 3]), policy


@pytest.mark.parametrize("seed", chunks(20, 40))
def test_counts_satisfy_their_equation_and_are_in_lowest_terms(seed):
    mdp, policy = sure_model(seed)
    model = exact_model(mdp)
    followed = Followed.of(model, policy)
    found = whole_counts(model, followed)
    mu = [[Fraction(number, below) for number in numbers] for numbers, below in found]
    assert all(math.gcd(below, *numbers) == 1 <= below for numbers, below in found)
    phi, k = mdp.features.fractions(), mdp.n_features
    for state, actions in enumerate(policy):
        after = [model.successors[state * mdp.n_actions + a] for a in actions]
        for j in range(k):
            mean = sum(mu[target][j] for target in after) / len(after)
            assert mu[state][j] == phi[state * k + j] + mdp.exact_discount * mean
    payments = [model.features[row] for row in model.feature_rows()]
    assert evaluate_followed(model, followed, payments) == [
        list(row) for row in exact_by_whole(mdp, model, followed).states
    ]


def exact_by_whole(mdp, model, followed):
    return exact_successor_features(mdp, None, followed)


def test_fractions_are_made_when_they_are_asked_for():
    task = didact.make("random-grid", size=3, n_features=2, seed=0)
    counts = exact_successor_features(task.mdp, solve(task))
    assert callable(vars(counts)["_states_or_how"])
    assert counts.states.shape == (9, 2)
    assert not callable(vars(counts)["_states_or_how"])
    assert counts.whole == [
        lowest([int(x.p * (math.lcm(*(int(y.q) for y in row)) // x.q)) for x in row],
               math.lcm(*(int(y.q) for y in row)))
        for row in counts.states
    ]  # fmt: skip


def test_lowest_terms():
    assert lowest([4, -6, 0], 8) == ((2, -3, 0), 4)
    assert lowest([0, 0], 7) == ((0, 0), 1)
    assert lowest([1, 2], 5) == ((1, 2), 5)
