"""Likelihoods and slopes against exact plans, finite differences and brute force."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import didact
from didact.learners.evidence import as_evidence, softmax_log_likelihood
from didact.learners.likelihood import Likelihood, ShownFeatures, likelihood_gradient, softmax
from didact.mdp import MDP
from tests.effort import examples
from tests.models import tasks
from tests.oracles import Plain, optimal_sets

DISCOUNTS = ("0", "1/2", "0.9", "0.95")
CONFIDENCE = 3.0


@st.composite
def shown_tasks(draw: st.DrawFn):
    """A task and some pairs of it, repeated ones too."""
    task = draw(tasks(discounts=DISCOUNTS))
    alive = [s for s in range(task.mdp.n_states) if not task.mdp.terminal[s]]
    pair = st.tuples(st.sampled_from(alive), st.integers(0, task.mdp.n_actions - 1))
    return task, as_evidence(task.mdp, [[p] for p in draw(st.lists(pair, max_size=6))])


@given(shown_tasks(), st.integers(0, 2**32 - 1))
@examples(15, 150)
def test_the_slope_is_that_of_finite_differences(shown, seed):
    """At random weights, which lie on no border but with probability 0."""
    task, evidence = shown
    weights = np.random.default_rng(seed).standard_normal(task.mdp.n_features)
    function = Likelihood(evidence, CONFIDENCE)
    _, slope = function(weights)
    step = 1e-6
    for i, unit in enumerate(np.eye(weights.size)):
        up, down = function(weights + step * unit), function(weights - step * unit)
        assume(np.allclose(up[1], down[1], atol=1e-2))
        assert slope[i] == pytest.approx((up[0] - down[0]) / (2 * step), abs=1e-4)


@given(shown_tasks())
@examples(15, 150)
def test_the_value_is_that_of_brute_force(shown):
    """At weights with ties as well: any optimal policy gives the same value."""
    task, evidence = shown
    q, _ = optimal_sets(Plain(task.mdp), [Fraction(repr(w)) for w in task.weights.tolist()])
    wanted = softmax_log_likelihood(evidence, np.array(q, dtype=float), CONFIDENCE)
    value, slope = likelihood_gradient(evidence, task.weights, CONFIDENCE)
    assert value == pytest.approx(wanted, abs=1e-9)
    assert np.isfinite(slope).all()


@given(shown_tasks(), st.integers(0, 2**32 - 1))
@examples(12, 100)
def test_on_a_border_too_the_features_support_the_action_values(shown, seed):
    """mu.w = Q*_w, and mu.u <= Q*_u for all other weights u: mu is a slope of Q* at w."""
    task, evidence = shown
    weights, plain = task.weights, Plain(task.mdp)
    mu = ShownFeatures(evidence)(weights)
    others = np.random.default_rng(seed).integers(-9, 10, size=(3, weights.size)) / 4
    for other in (weights, *others):
        q, _ = optimal_sets(plain, [Fraction(repr(float(w))) for w in other])
        best = np.array(q, dtype=float)[evidence.states]
        assert (mu @ other <= best + 1e-9).all()
        if other is weights:
            assert np.allclose(mu @ other, best, atol=1e-9)


WORLDS = {
    "grid": {"size": 6, "n_features": 4},
    "slippery": {"size": 5, "n_features": 4, "slip": "1/4"},
    "patient": {"size": 6, "n_features": 4, "discount": "0.99"},
}


def random_evidence(mdp: MDP, rng: np.random.Generator):
    states = rng.integers(0, mdp.n_states, size=12)
    actions = rng.integers(0, mdp.n_actions, size=12)
    return as_evidence(
        mdp, [[pair] for pair in zip(states.tolist(), actions.tolist(), strict=True)]
    )


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("step", [1e-9, 0.01, 1.0])
def test_what_came_before_does_not_matter(name, step):
    """Along a walk of weights, values and slopes are those of a fresh start."""
    task = didact.make("random-grid", seed=3, **WORLDS[name])
    rng = np.random.default_rng(1)
    evidence = random_evidence(task.mdp, rng)
    function = Likelihood(evidence, 100.0)
    weights = rng.standard_normal(4)
    for _ in range(40):
        weights = weights + step * rng.standard_normal(4)
        weights /= np.linalg.norm(weights)
        value, slope = function(weights)
        afresh, fresh_slope = likelihood_gradient(evidence, weights, 100.0)
        assert value == pytest.approx(afresh, abs=1e-10 * (1 + abs(afresh)))
        assert np.allclose(slope, fresh_slope, rtol=1e-9, atol=1e-7)
        plan = didact.solve(task.mdp, weights)
        wanted = softmax_log_likelihood(evidence, plan.action_values, 100.0)
        assert value == pytest.approx(wanted, abs=1e-9 * (1 + abs(wanted)))


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("seed", range(5))
def test_from_both_sides_of_a_border_the_value_is_the_same(name, seed):
    """Weights just across a border of two policies, reached from either side."""
    task = didact.make("random-grid", seed=3, **WORLDS[name])
    rng = np.random.default_rng(seed)
    evidence = random_evidence(task.mdp, rng)
    one, two = rng.standard_normal((2, 4))
    here, there = ShownFeatures(evidence), ShownFeatures(evidence)
    here(one)
    there(two)
    first, last = one, two
    while np.linalg.norm(last - first) > 1e-9:
        middle = (first + last) / 2
        fresh = ShownFeatures(evidence)
        fresh(middle)
        if np.array_equal(fresh.policy, here.policy):
            first = middle
        else:
            last = middle
    for at in (first, last):
        values = []
        for features, side in ((here, one), (there, two)):
            features(side)
            values.append(Likelihood(evidence, 100.0, features)(at)[0])
        assert values[0] == pytest.approx(values[1], abs=1e-10 * (1 + abs(values[0])))


def test_ties_in_the_way_do_not_matter():
    """Whole-number weights have many tied policies; whichever was kept, the value is one."""
    task = didact.make("random-grid", size=6, n_features=4, seed=0)
    rng = np.random.default_rng(0)
    evidence = random_evidence(task.mdp, rng)
    function = Likelihood(evidence, 100.0)
    for _ in range(100):
        function(rng.standard_normal(4))
        weights = rng.integers(-1, 2, size=4).astype(float)
        afresh, _ = likelihood_gradient(evidence, weights, 100.0)
        assert function(weights)[0] == pytest.approx(afresh, abs=1e-9)


def test_larger_slippery_models_agree_with_the_planner():
    task = didact.make("random-grid", size=20, n_features=5, slip="1/5", seed=0)
    rng = np.random.default_rng(0)
    evidence = random_evidence(task.mdp, rng)
    for _ in range(3):
        weights = rng.standard_normal(5)
        plan = didact.solve(task.mdp, weights, arithmetic="float")
        wanted = softmax_log_likelihood(evidence, plan.action_values, 10.0)
        value, _ = likelihood_gradient(evidence, weights, 10.0)
        assert value == pytest.approx(wanted, abs=1e-8)


def test_shown_features_are_successor_features_of_an_optimal_policy():
    task = didact.make("random-grid", size=4, n_features=3, slip="1/4", seed=1)
    evidence = random_evidence(task.mdp, np.random.default_rng(0))
    features = ShownFeatures(evidence)
    found = features(task.weights)
    whole = didact.successor_features(task.mdp, didact.solve(task.mdp, task.weights))
    assert np.allclose(found, whole.pairs[evidence.states], atol=1e-12)
    assert features.n_solves == 1


def test_large_confidences_do_not_overflow():
    task = didact.make("random-grid", size=4, n_features=3, seed=1)
    evidence = random_evidence(task.mdp, np.random.default_rng(0))
    value, slope = likelihood_gradient(evidence, np.ones(3), 1e12)
    assert np.isfinite(value)
    assert np.isfinite(slope).all()
    shares, logs = softmax(np.array([[0.0, 1e5, -1e5]]), 1e6)
    assert shares.tolist() == [[0.0, 1.0, 0.0]]
    assert logs[0, 1] == 0.0


def test_nothing_shown_has_likelihood_one():
    task = didact.make("six-cell")
    value, slope = likelihood_gradient(as_evidence(task.mdp, []), task.weights, 100.0)
    assert (value, slope.tolist()) == (0.0, [0.0] * task.mdp.n_features)


def test_a_closed_form():
    """Two ends that pay w and 0 after one step: log p = -log(1 + exp(-c g w)), whatever w is."""
    moves = np.zeros((3, 2, 3))
    moves[0, 0, 1] = moves[0, 1, 2] = 1.0
    mdp = MDP(moves, [[0], [1], [0]], "0.9", terminal=[1, 2])
    evidence = as_evidence(mdp, [[(0, 0)]])
    for w in (-2.0, 0.0, 0.3):
        value, slope = likelihood_gradient(evidence, np.array([w]), 2.0)
        assert value == pytest.approx(-math.log1p(math.exp(-1.8 * w)))
        assert slope[0] == pytest.approx(1.8 / (1.0 + math.exp(1.8 * w)))
