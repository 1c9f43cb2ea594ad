"""Climbs in kernels: slopes are those of the plain twin, and so are the climbs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from didact.learners.chains import compiled_bfgs as climbs
from didact.learners.chains.models import DENSE_STATES, scorer_of, shown_in
from didact.learners.chains.starts import climbed
from didact.learners.chains.steps import Problem
from didact.learners.evidence import as_evidence
from didact.learners.gradients import Likelihood, likelihood_gradient
from didact.worlds import make
from tests.models import tasks


def slope_of(evidence, weights, confidence, *, compiled):
    scorer = scorer_of(evidence)
    kernel = climbs.slope_on_graph if evidence.mdp.is_deterministic() else climbs.slope_by_resolvent
    slope = np.zeros(weights.size)
    room = climbs.climbing_room(evidence.mdp.n_states, evidence.counts.size)
    shown = shown_in(evidence, confidence)
    function = kernel.compiled if compiled else kernel
    value = function(scorer.model, scorer.workspace(), shown, room, weights, slope)
    return value, slope


@given(tasks(discounts=("0", "1/2", "0.9")), st.data())
def test_slopes_are_those_of_the_plain_twin(task, data):
    mdp = task.mdp
    alive = [s for s in range(mdp.n_states) if not mdp.terminal[s]]
    pair = st.tuples(st.sampled_from(alive), st.integers(0, mdp.n_actions - 1))
    evidence = as_evidence(mdp, [[data.draw(pair)] for _ in range(data.draw(st.integers(1, 4)))])
    seed = data.draw(st.integers(0, 10_000))
    weights = np.random.default_rng(seed).normal(size=mdp.n_features)
    found = slope_of(evidence, weights, 3.0, compiled=False)
    expected = likelihood_gradient(evidence, weights, 3.0)
    assert found[0] == pytest.approx(expected[0], abs=1e-9)
    assume(np.linalg.matrix_rank(mdp.features.floats.reshape(-1, mdp.n_features)) > 0)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-7)


@pytest.mark.parametrize("slip", [0, "1/4"])
def test_a_climb_ends_where_the_plain_one_does(slip):
    task = make("random-grid", size=5, n_features=4, slip=slip, seed=2)
    evidence = as_evidence(task.mdp, [[(0, 1)], [(7, 3)], [(12, 0)], [(20, 2)]])
    scorer = scorer_of(evidence)
    problem = Problem(scorer.model, scorer.workspace(), shown_in(evidence, 20.0))
    room = climbs.climbing_room(task.mdp.n_states, evidence.counts.size)
    rng = np.random.default_rng(0)
    for _ in range(10):
        start = rng.normal(size=4)
        climb = climbs.climb_from(start)
        plans = scorer.climb.compiled(30, problem, room, climb)
        plain = climbed(Likelihood(evidence, 20.0), start, 30)
        value, here = climb.numbers[climbs.VALUE], climb.here
        assert 1 <= plans <= 30
        assert value == pytest.approx(plain.value, abs=1e-3)
        assert np.linalg.norm(here) == pytest.approx(np.linalg.norm(start))
        assert value == pytest.approx(likelihood_gradient(evidence, here, 20.0)[0], abs=1e-8)
        assert value >= likelihood_gradient(evidence, start, 20.0)[0]


def test_large_stochastic_models_have_no_such_climb():
    size = int(DENSE_STATES**0.5) + 1
    large = make("random-grid", size=size, n_features=2, slip="1/4").mdp
    assert scorer_of(as_evidence(large, [])).climb is None
