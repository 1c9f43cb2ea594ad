"""Exact numbers are measured before they are made, and what no proof could hold is refused."""

import json
import random
import re
from fractions import Fraction

import numpy as np
import pytest

import didact
from didact.errors import Unsupported
from didact.mdp import MDP
from didact.numerics import texts
from didact.planning import ExactSuccessorFeatures, exact, exact_successor_features
from didact.planning.exact import (
    PolicyGraph,
    digits_with,
    exact_model,
    expected_digits,
    multiplier_digits,
)
from tests.effort import chunks


def dense(n_states: int, n_digits: int, seed: int, *, same: bool = False) -> didact.Task:
    """Every state leads on to three others; `same`: by the same row."""
    rng = random.Random(seed)
    rows = []
    for _ in range(n_states):
        parts = [rng.randrange(1, 10**n_digits) for _ in range(3)]
        row = [Fraction(0)] * n_states
        for target, part in zip(rng.sample(range(n_states), 3), parts, strict=True):
            row[target] = Fraction(part, sum(parts))
        rows.append([rows[0][0] if same and rows else row])
    features = [[rng.randrange(5), 1] for _ in range(n_states)]
    return didact.Task(didact.MDP(rows, features, "0.9"), [1, -1])


@pytest.mark.parametrize(("n_states", "n_digits"), [(6, 50), (20, 20), (40, 3)])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_expected_is_about_what_comes(n_states, n_digits, seed):
    task = dense(n_states, n_digits, seed)
    plan = didact.solve(task)
    measured = digits_with(exact_successor_features(task.mdp, plan))
    assert 0.6 * measured < expected_digits(task.mdp, plan) < 1.6 * measured


def test_equal_rows_count_once():
    """Where every state leads on alike, numbers stay short however many states there are."""
    task = dense(60, 30, 1, same=True)
    plan = didact.solve(task)
    assert expected_digits(task.mdp, plan) < 200
    assert digits_with(exact_successor_features(task.mdp, plan)) < 300


def test_a_chain_expects_nothing_and_is_measured():
    rows = [[[0] * 3], [[Fraction(1, 3), 0, Fraction(2, 3)]], [[1, 0, 0]]]
    task = didact.Task(didact.MDP(rows, [[0], [1], [2]], "0.9", terminal=[0]), [1])
    plan = didact.solve(task)
    assert expected_digits(task.mdp, plan) == 0
    assert digits_with(exact_successor_features(task.mdp, plan)) > 0


def test_long_numbers_are_refused_before_they_are_made(monkeypatch):
    def never(*_):
        raise AssertionError("the work was begun")

    task = dense(6, 50, 0)
    monkeypatch.setattr(exact, "MAX_WRITTEN_DIGITS", 300)
    monkeypatch.setattr("didact.bec.classes.ExactSuccessorFeatures.of", never)
    with pytest.raises(
        Unsupported, match=r"at most 300 digits; here they would have about [0-9]+\."
    ):
        didact.equivalence_class(task, arithmetic="exact")


def test_long_numbers_of_a_chain_are_refused_before_the_cone(monkeypatch):
    def never(*_):
        raise AssertionError("the work was begun")

    n, rng = 12, random.Random(0)
    rows = [[[Fraction(0)] * n]]
    for state in range(1, n):
        share = Fraction(rng.randrange(1, 10**40), 10**40)
        row = [Fraction(0)] * n
        row[state - 1] += share
        row[max(state - 2, 0)] += 1 - share
        rows.append([row])
    task = didact.Task(didact.MDP(rows, [[i % 3] for i in range(n)], "0.9", terminal=[0]), [1])
    monkeypatch.setattr(exact, "MAX_WRITTEN_DIGITS", 300)
    monkeypatch.setattr("didact.bec.classes.rows_from_counts", never)
    with pytest.raises(Unsupported, match="Round the task's numbers, or use arithmetic='float'"):
        didact.equivalence_class(task, arithmetic="exact")


def branching(n_features: int, seed: int) -> didact.Task:
    """Seven states with four actions, each to three others."""
    rng, n = random.Random(seed), 7
    rows = [[[Fraction(0)] * n for _ in range(4)] for _ in range(n)]
    for row in (row for actions in rows for row in actions):
        parts = [rng.randrange(1, 10**40) for _ in range(3)]
        for target, part in zip(rng.sample(range(n), 3), parts, strict=True):
            row[target] = Fraction(part, sum(parts))
    features = [[rng.randrange(5) for _ in range(n_features)] for _ in range(n)]
    weights = [rng.randrange(1, 4) for _ in range(n_features)]
    return didact.Task(didact.MDP(rows, features, "0.9"), weights)


@pytest.mark.parametrize("n_features", [2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_multipliers_are_not_longer_than_expected(n_features, seed):
    task = branching(n_features, seed)
    lesson = didact.teach(task, horizon=1, scope="all", arithmetic="exact")
    longest = max(map(len, re.findall("[0-9]+", json.dumps(lesson.proof["multipliers"]))))
    counts = exact_successor_features(task.mdp, didact.solve(task))
    most = digits_with(counts) + multiplier_digits(task.mdp)
    assert 0.85 * most < longest <= 1.02 * most


def test_long_multipliers_are_refused_before_the_work(monkeypatch):
    """Counts could be written, and proofs about them could not."""
    task = branching(4, 0)
    plan = didact.solve(task)
    counts = exact_successor_features(task.mdp, plan)
    limit = digits_with(counts) + 50

    def never(*_):
        raise AssertionError("the work was begun")

    monkeypatch.setattr(exact, "MAX_WRITTEN_DIGITS", limit)
    monkeypatch.setattr("didact.bec.classes.ExactSuccessorFeatures.of", never)
    for given in (task, didact.Family([task, task])):
        with pytest.raises(Unsupported, match=f"at most {limit} digits"):
            didact.teach(given, horizon=1, arithmetic="exact")


def test_auto_takes_floats_where_numbers_would_be_long(monkeypatch):
    task = dense(6, 50, 0)
    assert didact.equivalence_class(task).counts is not None
    monkeypatch.setattr("didact.bec.classes.MAX_WRITTEN_DIGITS", 300)
    assert didact.equivalence_class(task).counts is None
    assert texts.MAX_WRITTEN_DIGITS == 200_000


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
def test_successor_features_of_uniform_policies_satisfy_their_equation(seed):
    mdp, policy = sure_model(seed)
    model = exact_model(mdp)
    found = ExactSuccessorFeatures.of(model, PolicyGraph.of(model, policy)).states
    mu = [[Fraction(int(x.p), int(x.q)) for x in row] for row in found]
    phi, k = mdp.features.fractions(), mdp.n_features
    after = mdp.transitions.successors.reshape(mdp.n_states, mdp.n_actions)
    for state, actions in enumerate(policy):
        for j in range(k):
            mean = sum(mu[after[state, a]][j] for a in actions) / len(actions)
            assert mu[state][j] == phi[state * k + j] + mdp.exact_discount * mean
