"""Calibration by simulation: truths drawn from the prior lie anywhere in their posteriors.

In pairs: for each truth, the sampler as it ships (adaptation included) and exact quadrature say how
much of the posterior lies below it. Quadrature is the control: if its shares are not uniform, the
experiment is wrong and not the sampler. Truths and the sampler have generators of their own.
"""

import numpy as np
import pytest
from scipy import stats

from didact.learners.chains.birl import birl
from didact.learners.diagnostics import indicator_ess
from didact.learners.evidence import as_evidence
from didact.planning.many_rewards import action_values_of
from didact.worlds import make
from tests.quadrature import nodes

CONFIDENCE = 8.0


def shares_below(n: int, first: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For n truths: the share of the posterior below, exact and by draws, and their worth."""
    task = make("random-grid", size=3, n_features=2, seed=4)
    grid = nodes("l2-sphere", 2, 4000)
    values = CONFIDENCE * action_values_of(task.mdp, grid)
    logs = values - np.log(np.exp(values).sum(axis=2, keepdims=True))
    exact, drawn, worth = np.empty((3, n))
    for i in range(n):
        truths = np.random.default_rng((1, first + i))
        angle = truths.uniform(0.0, 2 * np.pi)
        truth = np.array([[np.cos(angle), np.sin(angle)]])
        own = CONFIDENCE * action_values_of(task.mdp, truth)[0]
        chances = np.exp(own - own.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        pairs = [
            (s, int(truths.choice(4, p=chances[s]))) for s in truths.integers(0, 9, 5).tolist()
        ]
        found = sum(logs[:, state, action] for state, action in pairs)
        shares = np.exp(found - found.max())
        exact[i] = shares[grid[:, 0] <= truth[0, 0]].sum() / shares.sum()
        evidence = as_evidence(task.mdp, [[pair] for pair in pairs])
        belief = birl(evidence, np.random.default_rng((2, first + i)), confidence=CONFIDENCE)
        below = belief.samples[:, :, 0] <= truth[0, 0]
        drawn[i], worth[i] = below.mean(), min(indicator_ess(below), below.size)
    return exact, drawn, worth


def require_calibrated(exact, drawn, worth) -> None:
    inside = (exact > 0.02) & (exact < 0.98)
    errors = np.sqrt(exact * (1.0 - exact) / worth)
    z = ((drawn - exact) / np.maximum(errors, 1e-12))[inside]
    n = len(z)
    assert stats.kstest(exact, "uniform").pvalue > 1e-4, "the experiment is wrong"
    assert stats.kstest(drawn, "uniform").pvalue > 1e-4
    assert np.abs(z).max() < 5
    assert abs(z.mean()) < 4 / np.sqrt(n)
    assert stats.chi2(n).cdf((z**2).sum() / 1.3) < 0.9999


def test_truths_lie_anywhere_in_their_posteriors():
    require_calibrated(*shares_below(8))


@pytest.mark.slow
def test_a_thousand_truths_lie_anywhere_in_their_posteriors():
    require_calibrated(*shares_below(1000, first=1000))


@pytest.mark.slow
def test_ten_thousand_truths_lie_anywhere_in_their_posteriors():
    require_calibrated(*shares_below(10_000, first=10_000))


def test_draws_that_are_too_narrow_are_seen():
    rng = np.random.default_rng(0)
    exact = rng.random(300)
    narrow = stats.norm.cdf(1.3 * stats.norm.ppf(exact))
    with pytest.raises(AssertionError):
        require_calibrated(exact, narrow, np.full(300, 1000.0))
