"""Calibration by simulation: truths drawn from the prior lie anywhere in their posteriors.

In pairs: for each truth, the sampler as it ships (adaptation included) and exact quadrature say how
much of the posterior lies below it. Quadrature is the control: if its shares are not uniform, the
experiment is wrong and not the sampler. Truths and the sampler have generators of their own.
"""

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from didact.learners.chains.birl import birl
from didact.learners.diagnostics import indicator_ess
from didact.learners.evidence import as_evidence
from didact.mdp import Comparison, Preference, RankedTrajectories
from didact.planning.batch import action_values_of
from didact.worlds import make
from tests.effort import number
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


def answers_below(n: int, first: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same for truths whose owners answer: comparisons, a preference and a ranking each.

    Quadrature has its own likelihood: action values by a fresh planner, and the features of all
    trajectories of two steps added up here.
    """
    task = make("random-grid", size=3, n_features=2, seed=4)
    mdp = task.mdp
    grid = nodes("l2-sphere", 2, 4000)
    values = action_values_of(mdp, grid)
    exact, drawn, worth = np.empty((3, n))
    for i in range(n):
        truths = np.random.default_rng((3, first + i))
        angle = truths.uniform(0.0, 2 * np.pi)
        truth = np.array([np.cos(angle), np.sin(angle)])
        own = action_values_of(mdp, truth[None])[0]
        items, found = [], np.zeros(len(grid))
        for s in truths.integers(0, 9, 3).tolist():
            a, b = truths.permutation(4)[:2].tolist()
            order = told(truths, [own[s, a], own[s, b]])
            items.append(Comparison(s, *(np.array([a, b])[order].tolist())))
            found += order_logs(values[:, s, [a, b]][:, order])
        for size in (2, 3):
            start = int(truths.integers(9))
            ways = [two_steps(mdp, start, truths) for _ in range(size)]
            counts = np.array([way_counts(mdp, way) for way in ways])
            order = told(truths, counts @ truth)
            sorted_ways = [ways[j] for j in order]
            items.append(Preference(*sorted_ways) if size == 2 else RankedTrajectories(sorted_ways))
            found += order_logs((grid @ counts.T)[:, order])
        shares = np.exp(found - found.max())
        exact[i] = shares[grid[:, 0] <= truth[0]].sum() / shares.sum()
        evidence = as_evidence(mdp, items)
        belief = birl(evidence, np.random.default_rng((4, first + i)), confidence=CONFIDENCE)
        below = belief.samples[:, :, 0] <= truth[0]
        drawn[i], worth[i] = below.mean(), min(indicator_ess(below), below.size)
    return exact, drawn, worth


def told(rng, worths) -> list[int]:
    """An order of alternatives by somebody of this confidence: the largest of Gumbel's sums."""
    return np.argsort(-(CONFIDENCE * np.asarray(worths) + rng.gumbel(size=len(worths)))).tolist()


def order_logs(worths: np.ndarray) -> np.ndarray:
    """log P(this order) at each node; worths (n, m), the first said to be the best."""
    scaled = CONFIDENCE * worths
    return sum(scaled[:, i] - logsumexp(scaled[:, i:], axis=1) for i in range(scaled.shape[1] - 1))


def two_steps(mdp, start: int, rng) -> list[tuple[int, int]]:
    first, second = rng.integers(0, 4, 2).tolist()
    moves = mdp.transitions
    return [(start, first), (int(moves.successors[moves.offsets[start * 4 + first]]), second)]


def way_counts(mdp, way) -> np.ndarray:
    features = mdp.features.floats
    return sum(mdp.discount**t * features[state] for t, (state, _) in enumerate(way))


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
    require_calibrated(*shares_below(number(5, 8)))


def test_truths_lie_anywhere_in_the_posteriors_of_their_answers():
    require_calibrated(*answers_below(number(5, 8)))


@pytest.mark.slow
def test_five_hundred_truths_lie_anywhere_in_the_posteriors_of_their_answers():
    require_calibrated(*answers_below(500, first=1000))


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
