"""Widest margins against brute force and linear programming; ties in exact arithmetic."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import didact
from didact.learners.evidence import as_evidence, certify
from didact.learners.points.margin import (
    continued_policy,
    exactly_tied,
    is_closed,
    margin_weights,
)
from didact.mdp import MDP, Task
from didact.teaching.trim import missing_pairs
from tests.models import tasks

DISCOUNTS = ("0", "1/2", "0.9", "0.95")


def shown_optimally(task, states=None):
    """All optimal actions of some states, as evidence."""
    plan = didact.solve(task.mdp, task.true_weights)
    where = range(task.mdp.n_states) if states is None else states
    return as_evidence(task.mdp, [[(s, a)] for s in where for a in plan.optimal_actions(s)])


@given(tasks(discounts=DISCOUNTS), st.integers(0, 2**32 - 1))
def test_a_policy_shown_everywhere_is_explained_whenever_it_can_be(task, seed):
    """The true weights explain it; so weights are found, and they make the same actions best.

    Where ties are shown, that is up to rounding, and exact ties follow from it.
    """
    evidence = shown_optimally(task)
    assert is_closed(evidence)
    found = margin_weights(
        evidence, np.random.default_rng(seed).standard_normal(task.mdp.n_features)
    )
    optimal = didact.solve(task.mdp, task.true_weights).optimal
    if optimal[~task.mdp.terminal].all():
        assert found is None
        return
    assert np.linalg.norm(found) == pytest.approx(1.0)
    values = didact.solve(task.mdp, found, arithmetic="float").action_values
    gaps = (values.max(axis=1, keepdims=True) - values)[~task.mdp.terminal]
    shown = optimal[~task.mdp.terminal]
    assert gaps[shown].max() < 1e-8
    assert gaps[~shown].min() > 0.0


@pytest.mark.parametrize("slip", ["0", "1/4"])
@pytest.mark.parametrize("seed", range(6))
def test_closed_lessons_are_explained_from_anywhere(seed, slip, monkeypatch):
    """However the first weights go on where nothing is shown, cutting planes lead to the same."""
    monkeypatch.setattr("didact.learners.points.margin.MAX_CONTINUATIONS", 1)
    task = didact.make("random-grid", size=6, n_features=5, seed=seed, slip=slip)
    lesson = didact.teach(task, horizon=1, closed=True, scope="all")
    evidence = as_evidence(task.mdp, lesson.demonstrations)
    assert is_closed(evidence)
    rng = np.random.default_rng(seed)
    found = [margin_weights(evidence, rng.standard_normal(5)) for _ in range(3)]
    assert certify(evidence, found[0], 100.0).holds
    assert didact.evaluate(task, found[0]).worst_policy_loss == 0
    assert np.allclose(found[1:], found[0], atol=1e-5)


@pytest.mark.parametrize("everywhere", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_no_other_weights_have_a_wider_margin(seed, everywhere):
    slip = "1/4" if seed % 2 else "0"
    task = didact.make("random-grid", size=5, n_features=4, seed=seed, slip=slip)
    evidence = shown_optimally(task)
    if not everywhere:
        lesson = didact.teach(task, horizon=1, closed=True, scope="all")
        evidence = as_evidence(task.mdp, lesson.demonstrations)
    rng = np.random.default_rng(seed)

    def margin(weights):
        values = didact.solve(task.mdp, weights, arithmetic="float").action_values[evidence.states]
        shown = evidence.counts > 0
        own = np.where(shown, values, np.inf).min(axis=1, keepdims=True)
        return float((own - values)[~shown].min())

    found = margin_weights(evidence, rng.standard_normal(4))
    best = margin(found)
    assert best > 0.0
    for size in (1e-3, 0.1, 1.0):
        for step in size * rng.standard_normal((60, 4)):
            other = found + step
            assert margin(other / np.linalg.norm(other)) < best


def test_contradictions_have_no_margin():
    """Every action of a state shown, and one of them elsewhere the only one, in opposite senses."""
    moves = np.zeros((4, 2, 4))
    moves[0, 0, 2] = moves[0, 1, 3] = moves[1, 0, 2] = moves[1, 1, 3] = 1.0
    mdp = MDP(moves, [[0, 0], [0, 0], [1, 0], [0, 1]], "0.9", terminal=[2, 3])
    assert margin_weights(as_evidence(mdp, [[(0, 0)], [(1, 1)]]), np.ones(2)) is None
    found = margin_weights(as_evidence(mdp, [[(0, 0)], [(1, 0)]]), np.ones(2))
    assert np.allclose(found, np.array([1.0, -1.0]) / np.sqrt(2))


@given(tasks(discounts=DISCOUNTS), st.data())
def test_closed_lessons_are_closed_for_a_learner(task, data):
    """With all optimal actions of some states shown, both say the same."""
    alive = [s for s in range(task.mdp.n_states) if not task.mdp.terminal[s]]
    states = data.draw(st.lists(st.sampled_from(alive), unique=True))
    evidence = shown_optimally(task, sorted(states))
    plan = didact.solve(task.mdp, task.true_weights)
    missing = missing_pairs(task.mdp, plan, evidence.demonstrations)
    assert is_closed(evidence) == (not missing.size)


def test_a_continuation_takes_what_was_shown():
    task = didact.make("random-grid", size=4, n_features=3, seed=0)
    evidence = as_evidence(task.mdp, [[(3, 0)], [(3, 2)], [(7, 1)]])
    policy = continued_policy(evidence, task.weights)
    assert policy[3, [0, 2]].sum() == 1.0
    assert policy[7, 1] == 1.0
    assert (policy.sum(axis=1) == 1.0).all()


@pytest.mark.parametrize("seed", range(12))
def test_shown_ties_can_be_kept_exactly(seed):
    """Whole-number weights tie; floats near them do not; decimals near those do."""
    rng = np.random.default_rng(seed)
    mdp = didact.make("random-grid", size=5, n_features=5, seed=seed).mdp
    task = Task(mdp, [1, -1, *rng.integers(-1, 2, size=3).tolist()])
    evidence = shown_optimally(task)
    weights = margin_weights(evidence, rng.standard_normal(5))
    candidates = list(exactly_tied(evidence, weights))
    several = np.count_nonzero(evidence.counts, axis=1) > 1
    assert bool(candidates) == bool(several.any())
    for found in candidates[:1]:
        assert np.allclose(found, weights, atol=1e-6)
        assert certify(evidence, found, 100.0).holds


def test_ties_without_short_decimals_are_left():
    """3 w0 = w1 + w2 / 7 has decimals for no w2 but 0."""
    moves = np.zeros((3, 2, 3))
    moves[0, 0, 1] = moves[0, 1, 2] = 1.0
    mdp = MDP(moves, [[0, 0], [3, 0], [0, "1/7"]], "1/2", terminal=[1, 2])
    evidence = as_evidence(mdp, [[(0, 0)], [(0, 1)]])
    for found in exactly_tied(evidence, np.array([0.04756, 0.99887])):
        assert certify(evidence, found, 1.0).holds
    mdp = MDP(moves, [[0, 0], [3, 0], [0, 6]], "1/2", terminal=[1, 2])
    evidence = as_evidence(mdp, [[(0, 0)], [(0, 1)]])
    found = next(exactly_tied(evidence, np.array([0.8944271909, 0.4472135955])))
    assert found.tolist() == [0.894427192, 0.447213596]
