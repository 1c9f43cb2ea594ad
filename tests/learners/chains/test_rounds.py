"""Rounds give the posterior: quadrature, planted humps, the prior; the stopping rule."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy import stats

from didact.errors import InvalidParameter, NotMixed
from didact.learners import learn
from didact.learners.chains.birl import birl, sample_posterior
from didact.learners.chains.chain import Particles, Target
from didact.learners.chains.options import PRIORS, ChainOptions
from didact.learners.chains.rounds import (
    KEPT,
    Mixing,
    RoundChain,
    decisions,
    every_within,
    mixing_of,
    steps_of_a_round,
)
from didact.learners.chains.scores import Scorer
from didact.learners.chains.smc import fitted, moves_by
from didact.learners.diagnostics import indicator_ess
from didact.learners.evidence import as_evidence
from didact.mdp import MDP, Task
from didact.planning import evaluate, solve
from didact.worlds import make
from tests.effort import crossed, number
from tests.quadrature import Quadrature, z_scores


def normal_target() -> Target:
    """No evidence and a normal prior: means 0 and variances 1 are known."""
    task = make("random-grid", size=2, n_features=2, seed=0)
    evidence = as_evidence(task.mdp, [])
    return Target(evidence, 1.0, Scorer(evidence), PRIORS["gaussian"], 0)


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
    best = start.points.best.copy()
    chain = RoundChain(start.target, start.places[0].copy(), rng, start.best, best)
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
        particles.advance(fit.proposal, moves_by(fit, particles.kind, n, rng))
        recent = samples[done : done + n]
        fit = fitted(recent, np.full(n, 1 / n), rng, 1)  # the kernel follows the chain
    assert z_of(samples) > 6


PROPER = ("l2-sphere", "l1-sphere", "box", "gaussian")


def shown_by(task, n: int, seed: int, mistakes: float = 0.1) -> list:
    """n pairs of random states, some of them mistakes, so that posteriors are not too narrow."""
    rng = np.random.default_rng(seed)
    optimal = solve(task.mdp, task.true_weights).optimal
    pairs = []
    for state in rng.choice(np.flatnonzero(~task.mdp.terminal), n).tolist():
        best = int(optimal[state].argmax())
        wrong = rng.random() < mistakes
        pairs.append([(state, int(rng.integers(task.mdp.n_actions)) if wrong else best)])
    return pairs


def worst_z(k: int, prior: str, confidence: float, seed: int, n: int, slip=0) -> np.ndarray:
    task = make("random-grid", size=4, n_features=k, seed=seed, slip=slip)
    evidence = as_evidence(task.mdp, shown_by(task, 6, seed))
    exact = Quadrature.of(evidence, prior, confidence, n)
    options = {"prior": prior, "confidence": confidence}
    belief = birl(evidence, np.random.default_rng(seed + 1000), **options)
    assert belief.is_mixed
    return z_scores(belief.samples, exact)


@pytest.mark.parametrize(("prior", "confidence"), crossed(PROPER, [0.0, 10.0, 1000.0], one_in=2))
def test_two_weights_have_the_moments_of_quadrature(prior, confidence):
    n = 150 if prior == "box" else 5_000
    assert np.abs(worst_z(2, prior, confidence, 1, n)).max() < 4


@pytest.mark.parametrize("prior", PROPER)
def test_three_weights_have_the_moments_of_quadrature(prior):
    n = {"box": 40, "gaussian": number(500, 2_000)}.get(prior, 100)
    assert np.abs(worst_z(3, prior, 10.0, 2, n)).max() < 4


@pytest.mark.slow
@pytest.mark.parametrize("slip", [0, "1/10"])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("prior", PROPER)
def test_all_confidences_have_the_moments_of_quadrature(prior, k, slip):
    n = {"box": {2: 500, 3: 70}, "gaussian": {2: 2, 3: 4_000}}.get(prior, {2: 20_000, 3: 300})[k]
    found = [
        worst_z(k, prior, confidence, seed, n, slip)
        for confidence in (0.0, 1.0, 10.0, 100.0, 1000.0)
        for seed in (3, 4)
    ]
    z = np.concatenate(found)
    assert np.abs(z).max() < 4.5
    assert np.sqrt((z**2).mean()) < 1.5


def sphere_humps(share: float, concentration: float):
    """A log density on the sphere: two von Mises-Fisher humps whose shares are known exactly."""

    def log_density(weights, action_values):
        up = math.log(share) + concentration * (weights[0] - 1.0)
        down = math.log(1.0 - share) + concentration * (-weights[0] - 1.0)
        return float(np.logaddexp(up, down))

    return log_density


@pytest.mark.parametrize(
    ("share", "k"), [(0.5, 8), (0.2, 3), pytest.param(0.9, 8, marks=pytest.mark.slow)]
)
def test_two_humps_are_found_with_their_shares(share, k):
    task = make("random-grid", size=3, n_features=k, seed=0)
    evidence = as_evidence(task.mdp, [])
    rng = np.random.default_rng(5)
    extra = sphere_humps(share, 40.0)
    belief = sample_posterior(evidence, rng, ChainOptions(), extra=extra)
    assert belief.is_mixed
    above = belief.samples[:, :, 0] > 0.0
    error = math.sqrt(share * (1 - share) / indicator_ess(above))
    assert abs(above.mean() - share) < 4 * error
    assert [round(mode.share, 6) for mode in belief.modes] == [
        round(max(above.mean(), 1 - above.mean()), 6),
        round(min(above.mean(), 1 - above.mean()), 6),
    ]
    heavier = 1.0 if share >= 0.5 else -1.0
    if share != 0.5:
        assert belief.modes[0].mean[0] * heavier > 0.8


@pytest.mark.parametrize("prior", PROPER)
def test_without_evidence_there_is_the_prior(prior):
    task = make("random-grid", size=3, n_features=4, seed=0)
    belief = birl(as_evidence(task.mdp, []), np.random.default_rng(0), prior=prior)
    first = belief.samples[:, ::10, 0].ravel()
    law = {
        "l2-sphere": lambda x: stats.beta.cdf((x + 1) / 2, 1.5, 1.5),
        "l1-sphere": lambda x: 0.5 + np.sign(x) * 0.5 * stats.beta.cdf(np.abs(x), 1, 3),
        "box": stats.uniform(-1, 2).cdf,
        "gaussian": stats.norm.cdf,
    }[prior]
    assert stats.kstest(first, law).pvalue > 1e-3


def test_draws_depend_on_the_seed_and_not_on_the_threads():
    task = make("random-grid", size=4, n_features=3, seed=1)
    shown = shown_by(task, 6, 0)
    one, two, four = (learn(task.mdp, shown, seed=3, threads=n) for n in (1, 2, 4))
    assert (one.samples == two.samples).all()
    assert (one.samples == four.samples).all()
    assert dict(one.settings) == dict(two.settings) == dict(four.settings)
    assert (learn(task.mdp, shown, seed=4).samples != one.samples).any()


def test_a_density_of_ones_own_is_that_of_the_named_prior():
    task = make("random-grid", size=3, n_features=2, seed=1)
    evidence = as_evidence(task.mdp, shown_by(task, 4, 0))
    own = birl(evidence, np.random.default_rng(0), prior=lambda w: -0.5 * float(w @ w))
    named = birl(evidence, np.random.default_rng(0), prior="gaussian")
    np.testing.assert_allclose(own.samples, named.samples, atol=1e-9)


def test_too_few_likelihoods_warns_once_and_says_what_to_do():
    task = make("random-grid", size=9, n_features=8, seed=0)
    plan = solve(task.mdp, task.true_weights)
    shown = [[(s, int(plan.optimal[s].argmax()))] for s in range(81)]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        belief = learn(task.mdp, shown, max_likelihoods=1000, confidence=1000)
    assert [warning.category for warning in told] == [NotMixed]
    assert "give a larger max_likelihoods" in str(told[0].message)
    assert belief.warnings == (str(told[0].message),)
    assert not belief.is_mixed


def test_options_of_a_walk_are_refused_beside_a_mixture():
    task = make("random-grid", size=3, n_features=2, seed=1)
    with pytest.raises(InvalidParameter, match="n_steps is an option of sampler 'walk'"):
        learn(task.mdp, [], sampler="mixture", n_steps=100)
    with pytest.raises(InvalidParameter, match="sampler must be 'mixture' or 'walk'"):
        learn(task.mdp, [], sampler="gibbs")
    with pytest.raises(InvalidParameter, match="max_likelihoods must be"):
        learn(task.mdp, [], max_likelihoods=10)


def test_given_steps_mean_a_walk():
    task = make("random-grid", size=3, n_features=2, seed=1)
    belief = learn(task.mdp, [], n_steps=100, n_chains=2)
    again = learn(task.mdp, [], n_steps=100, n_chains=2, sampler="walk")
    assert belief.settings["n_steps"] == 100
    assert (belief.samples == again.samples).all()
    assert learn(task.mdp, [], sampler="walk", n_chains=1).settings["n_steps"] == 10_000


def target_of(task) -> Target:
    evidence = as_evidence(task.mdp, [])
    return Target(evidence, 100.0, Scorer(evidence), PRIORS["l2-sphere"], 0)


def pairs_task() -> Task:
    """A grid whose features are those of pairs."""
    mdp = make("random-grid", size=4, n_features=3, seed=2).mdp
    features = np.random.default_rng(3).integers(-2, 3, (mdp.n_states, mdp.n_actions, 3))
    features[mdp.terminal] = features[mdp.terminal][:, :1]
    paid = MDP(mdp.transitions, features, mdp.exact_discount, terminal=mdp.terminal)
    return Task(paid, [1.0, 0.0, 0.0])


@pytest.mark.parametrize(
    "task",
    [
        make("random-grid", size=4, n_features=3, seed=2),
        make("random-grid", size=4, n_features=3, seed=2, slip="1/10"),
        pairs_task(),
    ],
    ids=["grid", "slippery", "features of pairs"],
)
def test_losses_and_wrong_actions_are_those_of_an_evaluation(task):
    rng = np.random.default_rng(0)
    draws = PRIORS["l2-sphere"].draw(rng, 12, task.mdp.n_features)
    draws[5] = draws[4]
    best = draws[0]
    losses, wrong = decisions(target_of(task), draws.reshape(2, 6, -1), best)
    policy = solve(task.mdp, best).policy
    for i, weights in enumerate(draws):
        judge = Task(task.mdp, weights)
        found = evaluate(judge, policy)
        assert losses.ravel()[i] == pytest.approx(found.policy_loss, abs=1e-9)
        assert wrong.ravel()[i] == pytest.approx(found.wrong_actions, abs=1e-12)
    assert losses[0, 0] == 0.0


def test_a_loss_that_is_only_rounding_is_constant():
    task = make("random-grid", size=4, n_features=3, seed=2)
    best = PRIORS["l2-sphere"].draw(np.random.default_rng(0), 1, 3)[0]
    draws = best * (1.0 + 1e-13 * np.random.default_rng(1).standard_normal((4, 100, 3)))
    losses, wrong = decisions(target_of(task), draws, best)
    assert not losses.any()
    assert not wrong.any()


def test_the_worst_of_all_is_told():
    task = make("random-grid", size=3, n_features=2, seed=0)
    rng = np.random.default_rng(0)
    samples = PRIORS["l2-sphere"].draw(rng, 4000, 2).reshape(4, 1000, 2)
    densities = rng.standard_normal((4, 1000))
    mixing = mixing_of(target_of(task), samples, densities, samples[0, 0])
    assert mixing.is_enough
    apart = densities + np.arange(4)[:, None]
    mixing = mixing_of(target_of(task), samples, apart, samples[0, 0])
    assert not mixing.is_enough
    assert mixing.r_hat_of == mixing.ess_of == "the log density"
    assert not Mixing(1.0, "a", 399.0, "b").is_enough
    assert not Mixing(1.011, "a", 500.0, "b").is_enough
