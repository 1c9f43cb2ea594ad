"""Populations: the temperature rises as far as it may, resampling is fair, needles are filled."""

import numpy as np
import pytest

from didact.errors import InvalidParameter
from didact.learners.chains.birl import birl
from didact.learners.chains.metropolis import Target
from didact.learners.chains.models import scorer_of
from didact.learners.chains.priors import PRIORS
from didact.learners.chains.tempering import (
    SHARE,
    Population,
    next_rise,
    relative_weights,
    systematic,
)
from didact.learners.evidence import as_evidence
from didact.worlds import make


def test_the_temperature_rises_until_the_weights_are_worth_the_share():
    scores = np.random.default_rng(0).standard_normal(500) * 30.0
    rise = next_rise(scores, 1.0)
    weights = relative_weights(scores, rise)
    worth = weights.sum() ** 2 / (weights @ weights) / 500
    assert SHARE <= worth < SHARE * 1.02
    assert next_rise(np.zeros(10), 0.7) == 0.7


def test_what_has_no_density_never_goes_on():
    scores = np.array([-np.inf, 0.0, -np.inf, -1.0])
    weights = relative_weights(scores, next_rise(scores, 1.0))
    for seed in range(50):
        assert set(systematic(weights, np.random.default_rng(seed)).tolist()) <= {1, 3}


def test_resampling_takes_each_as_often_as_it_weighs():
    weights = np.array([0.1, 0.5, 0.15, 0.25])
    counts = np.zeros(4)
    for seed in range(2000):
        taken = np.bincount(systematic(weights, np.random.default_rng(seed)), minlength=4)
        assert (np.abs(taken - 4 * weights) < 1.0).all()
        counts += taken
    np.testing.assert_allclose(counts / 8000, weights, atol=0.02)


def test_a_settled_population_spreads_as_wide_as_the_hill():
    task = make("random-grid", size=2, n_features=3, seed=0)
    evidence = as_evidence(task.mdp, [])
    hill = np.array([1.0, 2.0, 2.0]) / 3.0

    def needle(weights, action_values):
        return 1e4 * float(weights @ hill - 1.0)

    target = Target(evidence, 1.0, scorer_of(evidence), PRIORS["l2-sphere"], 0, extra=needle)
    population = Population(target, np.random.default_rng(0))
    assert sum(population.settle(hill, 200)) == population.particles.n_scored
    places = population.particles.places
    weights = places / np.linalg.norm(places, axis=1)[:, None]
    angles = np.arccos(np.minimum(1.0, weights @ hill))
    # a von Mises-Fisher needle: E angle^2 = 2 / concentration
    assert 0.5 < np.mean(angles**2) / 2e-4 < 2.0


def test_a_prior_that_no_draw_finds_is_refused():
    task = make("random-grid", size=2, n_features=2, seed=0)
    with pytest.raises(InvalidParameter, match="the density is 0 at all of 1000 draws"):
        birl(as_evidence(task.mdp, []), np.random.default_rng(0), log_prior=lambda w: -np.inf)
