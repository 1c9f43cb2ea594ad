"""Scores on large stochastic models in stages: what is rejected early is rejected in the end."""

import numpy as np
import pytest

from didact.learners.chains import kernels
from didact.learners.chains.chain import Particles, Target
from didact.learners.chains.options import PRIORS
from didact.learners.chains.scores import COARSEST, FINEST, Scorer, score_each
from didact.learners.chains.smc import fitted, moves_by
from didact.learners.evidence import as_evidence
from didact.planning import solve
from didact.worlds import make
from tests.quadrature import log_likelihoods

CONFIDENCE = 20.0


@pytest.fixture(scope="module")
def target():
    task = make("random-grid", size=13, n_features=3, seed=1, slip="1/10")
    optimal = solve(task.mdp, task.true_weights).optimal
    shown = [[(s, int(optimal[s].argmax()))] for s in range(0, 160, 16)]
    evidence = as_evidence(task.mdp, shown)
    scorer = Scorer(evidence)
    assert scorer.is_costly
    return Target(evidence, CONFIDENCE, scorer, PRIORS["l2-sphere"], 0)


def scores(target, draws, *, rough=False, needed=-np.inf) -> np.ndarray:
    problem = target.problem()
    problem.work.rough[0] = int(rough)
    problem.shown.needed[0] = needed
    found = np.empty(len(draws))
    score_each.compiled(*problem, draws, found)
    return found


def test_rough_scores_are_as_near_as_they_say(target):
    draws = PRIORS["l2-sphere"].draw(np.random.default_rng(0), 60, 3)
    exact = log_likelihoods(target.evidence, draws, CONFIDENCE)
    np.testing.assert_allclose(scores(target, draws), exact, rtol=1e-9, atol=1e-9)
    errors = np.abs(scores(target, draws, rough=True) - exact)
    assert 0.0 < errors.max() < FINEST


def test_scores_end_early_only_where_the_exact_ones_are_too_low(target):
    draws = PRIORS["l2-sphere"].draw(np.random.default_rng(1), 60, 3)
    exact = log_likelihoods(target.evidence, draws, CONFIDENCE)
    needed = float(np.median(exact))
    found = scores(target, draws, needed=needed)
    assert ((found < needed) == (exact < needed)).all()
    high = exact >= needed
    np.testing.assert_allclose(found[high], exact[high], rtol=1e-9, atol=1e-9)
    assert np.abs(found - exact).max() <= COARSEST
    assert (np.abs(found[~high] - exact[~high]) > 1e-9).any()


@pytest.mark.parametrize("temperature", [0.3, 1.0])
def test_chains_that_reject_early_are_the_same_chains(target, temperature):
    rng = np.random.default_rng(2)
    points = PRIORS["l2-sphere"].draw(rng, 50, 3) * 1.7
    fit = fitted(points, np.full(50, 0.02), rng, 2)
    ends = []
    for early in (1.0, 0.0):
        particles = Particles(target, points[:4])
        assert particles.points.numbers[kernels.EARLY] == 1.0
        particles.points.numbers[kernels.EARLY] = early
        moves = moves_by(fit, particles.kind, 400, np.random.default_rng(3))
        particles.advance(fit.proposal, moves, temperature=temperature)
        ends.append((particles.places.copy(), particles.n_accepted, particles.best))
    (one, accepted, best), (other, also_accepted, also_best) = ends
    np.testing.assert_allclose(one, other, rtol=1e-9)
    assert accepted == also_accepted > 4
    assert best == pytest.approx(also_best, abs=1e-9)
