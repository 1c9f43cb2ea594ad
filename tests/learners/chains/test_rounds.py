"""Rounds: frozen before they begin; one that goes on adapting is seen."""

import math

import numpy as np

from didact.learners.chains.metropolis import Target
from didact.learners.chains.mixture import fitted
from didact.learners.chains.models import scorer_of
from didact.learners.chains.particles import Particles
from didact.learners.chains.priors import PRIORS
from didact.learners.chains.proposals import moves_by
from didact.learners.chains.rounds import KEPT, RoundChain, every_within, steps_of_a_round
from didact.learners.diagnostics import indicator_ess
from didact.learners.evidence import as_evidence
from didact.worlds import make
from tests.effort import number


def normal_target() -> Target:
    """No evidence and a normal prior: means 0 and variances 1 are known."""
    task = make("random-grid", size=2, n_features=2, seed=0)
    evidence = as_evidence(task.mdp, [])
    return Target(evidence, 1.0, scorer_of(evidence), PRIORS["gaussian"], 0)


def z_of(samples) -> float:
    """The worst error of means and squares in standard errors, the draws taken at their worth."""
    worst = 0.0
    for column in samples.T:
        for drawn, mean, spread in ((column, 0.0, 1.0), (column**2, 1.0, math.sqrt(2.0))):
            ess = min(indicator_ess(drawn[None]), len(drawn))
            worst = max(worst, abs(drawn.mean() - mean) / (spread / math.sqrt(ess)))
    return worst


def poor_fit(rng):
    points = rng.standard_normal((100, 2)) * 0.4 + 0.3
    return fitted(points, np.full(100, 0.01), rng, 2)


def test_a_frozen_round_keeps_the_density_however_poor_its_fit():
    rng = np.random.default_rng(0)
    start = Particles(normal_target(), rng.standard_normal((5, 2)))
    chain = RoundChain.after(start, start.places[0].copy(), rng)
    steps = sum(chain.run(poor_fit(rng), 4))
    assert steps == steps_of_a_round(4)
    assert chain.samples.shape == (KEPT, 2)
    assert z_of(chain.samples) < 4


def test_the_longest_round_within_a_number_of_steps_is_found():
    for n_steps in range(0, 20_000, 777):
        every = every_within(n_steps)
        assert steps_of_a_round(every) <= n_steps < steps_of_a_round(every + 1)


def test_an_adaptation_that_never_freezes_is_seen():
    rng = np.random.default_rng(0)
    fit, n, n_kept = poor_fit(rng), 4, number(1000, 4000)
    particles = Particles(normal_target(), rng.standard_normal((1, 2)), n_kept=n_kept)
    samples = particles.points.samples.reshape(-1, 2)
    for done in range(0, n_kept, n):
        particles.advance(1.0, fit.mixture, moves_by(fit, particles.kind, n, rng))
        recent = samples[done : done + n]
        fit = fitted(recent, np.full(n, 1 / n), rng, 1)  # the kernel follows the chain
    assert z_of(samples) > 6
