"""Agents judged by what they lose, against losses in fractions."""

import random
from fractions import Fraction

import numpy as np
import pytest

import didact
from didact.errors import InvalidParameter, Unsupported
from tests.auditing.test_audit import _belief, plain_loss
from tests.beyond.test_exams import tied_world
from tests.laws.test_exams import world


@pytest.mark.parametrize("seed", range(12))
def test_a_policy_passes_exactly_when_it_loses_no_more(seed):
    task, rng = world(seed), random.Random(f"losing {seed}")
    policy = [rng.randrange(task.mdp.n_actions) for _ in range(task.mdp.n_states)]
    loss = plain_loss(task, policy)
    table = np.eye(task.mdp.n_actions)[policy]
    assert didact.audit(task, table, loss=loss).passed
    found = didact.audit(task, lambda state: policy[state], loss=loss * Fraction(9, 10))
    assert found.verdict == ("fail" if loss else "pass")
    assert found.loss == pytest.approx(float(loss), abs=1e-9)


def test_weights_lose_what_the_worst_way_to_break_ties_does():
    task = tied_world()
    assert didact.audit(task, [1, 0, "0.5"], loss=0).passed
    between = ["0.5", "0.5", "0.5"]
    assert didact.audit(task, between, loss="0.36").passed
    found = didact.audit(task, between, loss="0.35")
    assert (found.verdict, found.situation.state) == ("fail", 0)
    assert "at most 0.35" in found.statement


def test_of_a_belief_the_draws_are_counted_that_lose_little():
    task = didact.make("six-cell")
    draws = np.random.default_rng(0).normal([-1, -3], [0.2, 1.0], size=(4, 25, 2))
    known, belief = didact.equivalence_class(task), _belief(task, draws)
    judged = [didact.audit(task, list(w), loss=2, known=known) for w in draws.reshape(-1, 2)]
    found = didact.audit(task, belief, loss=2)
    assert found.verdict == "undecided"
    assert found.share["share"] == pytest.approx(np.mean([each.passed for each in judged]))
    assert found.share["share"] > didact.audit(task, belief).share["share"]
    assert "lose no more" in found.reason


def test_draws_that_tie_lose_what_the_worst_way_to_break_ties_does():
    """Draws of a lattice tie exactly: e1 = e2 = e3 may take e3, which loses .36."""
    task = tied_world()
    rng = np.random.default_rng(0)
    draws = np.where(rng.random((4, 25, 1)) < 0.5, [0.5, 0.5, 0.5], [1.0, 1.0, 0.5])
    judged = [didact.audit(task, list(w), loss="0.35").passed for w in draws.reshape(-1, 3)]
    assert 0 < np.mean(judged) < 1
    found = didact.audit(task, _belief(task, draws), loss="0.35")
    assert found.share["share"] == pytest.approx(np.mean(judged))


def test_a_bound_for_each_action_and_one_for_all_are_not_mixed():
    task = didact.make("six-cell")
    with pytest.raises(InvalidParameter, match="not both"):
        didact.audit(task, [-1, -3], loss="1%", within=1)
    with pytest.raises(Unsupported, match="for one task"):
        didact.audit(didact.Family([task, task]), [-1, -3], loss="1%")
