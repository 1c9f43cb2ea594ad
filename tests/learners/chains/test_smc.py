"""Populations find where the mass is, and a mixture fitted to them has its shape."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from didact.errors import InvalidParameter
from didact.learners.chains import kernels
from didact.learners.chains.birl import birl
from didact.learners.chains.chain import Particles, Target
from didact.learners.chains.options import PRIORS
from didact.learners.chains.scores import Scorer
from didact.learners.chains.smc import (
    ENOUGH,
    JUDGED_DRAWS,
    MIN_MASS,
    NU,
    SHARE,
    MixtureSearch,
    Population,
    fitted,
    next_rise,
    population_shares,
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

    target = Target(evidence, 1.0, Scorer(evidence), PRIORS["l2-sphere"], 0, extra=needle)
    population = Population(target, np.random.default_rng(0))
    assert sum(population.spread(hill, 200)) == population.particles.n_scored
    places = population.particles.places
    weights = places / np.linalg.norm(places, axis=1)[:, None]
    angles = np.arccos(np.minimum(1.0, weights @ hill))
    # a von Mises-Fisher needle: E angle^2 = 2 / concentration
    assert 0.5 < np.mean(angles**2) / 2e-4 < 2.0


def test_a_prior_that_no_draw_finds_is_refused():
    task = make("random-grid", size=2, n_features=2, seed=0)
    with pytest.raises(InvalidParameter, match="the density is 0 at all of 1000 draws"):
        birl(as_evidence(task.mdp, []), np.random.default_rng(0), log_prior=lambda w: -np.inf)


def target_of(k: int, extra=None) -> Target:
    """No evidence and a normal prior, times a density of our own."""
    task = make("random-grid", size=3, n_features=k, seed=0)
    evidence = as_evidence(task.mdp, [])
    return Target(evidence, 1.0, Scorer(evidence), PRIORS["gaussian"], 0, extra=extra)


def populations_at(target: Target, clouds) -> list[Population]:
    found = []
    for number, places in enumerate(clouds):
        population = Population(target, np.random.default_rng([9, number]))
        population.particles = Particles(target, places)
        found.append(population)
    return found


def shaped(target: Target, populations, seed: int = 0) -> tuple[MixtureSearch, int]:
    shaping, ripened = MixtureSearch(target, populations, np.random.default_rng(seed)), 0
    for runs in shaping.phases(1):
        ripened += 1
        for run in runs:
            assert sum(run) > 0
    return shaping, ripened


def test_populations_count_by_the_mass_of_their_hills():
    """Two normal hills of known masses: 0.8, narrow and high, and 0.2, wide and low."""
    rng, k = np.random.default_rng(0), 3
    spreads, shares, centres = (0.01, 0.1), (0.8, 0.2), (np.full(k, 1.0), np.full(k, -1.0))

    def hills(weights, action_values):
        logs = [
            np.log(share) - k * np.log(sd) - 0.5 * ((weights - centre) ** 2).sum() / sd**2
            for share, sd, centre in zip(shares, spreads, centres, strict=True)
        ]
        return float(np.logaddexp(*logs) + 0.5 * weights @ weights)

    target = target_of(k, hills)
    clouds = [c + s * rng.standard_normal((400, k)) for c, s in zip(centres, spreads, strict=True)]
    found = population_shares([Particles(target, cloud) for cloud in clouds])
    assert found.sum() == pytest.approx(1.0)
    assert found[:400].sum() == pytest.approx(0.8, abs=0.05)


def test_no_population_counts_for_nothing():
    target = target_of(2)
    near, far = np.random.default_rng(0).standard_normal((2, 50, 2))
    found = population_shares([Particles(target, near), Particles(target, far + 100.0)])
    assert found[50:].sum() == pytest.approx(MIN_MASS / (1 + MIN_MASS), rel=1e-6)


def test_a_population_that_stands_for_the_density_need_not_ripen():
    target = target_of(4)
    places = np.random.default_rng(1).standard_normal((500, 4))
    shaping, ripened = shaped(target, populations_at(target, [places]))
    assert ripened == 0
    assert shaping.worth >= ENOUGH * JUDGED_DRAWS


def test_populations_far_too_narrow_ripen_until_they_are_as_wide_as_the_density():
    target = target_of(12)
    clouds = 0.1 * np.random.default_rng(2).standard_normal((3, 100, 12))
    populations = populations_at(target, clouds)
    before = np.concatenate([each.particles.places for each in populations]).std()
    shaping, ripened = shaped(target, populations)
    after = np.concatenate([each.particles.places for each in populations]).std()
    assert ripened > 0
    assert before < 0.11 < 0.7 < after
    start = shaping.picked(np.random.default_rng(0))
    assert start.shape == (12,)
    assert np.abs(start).max() < 6.0


def test_chains_start_where_the_mass_is():
    """One population on a low, wide hill, one in a needle that has all but e^-20 of the mass."""
    rng = np.random.default_rng(3)
    top = np.array([2.0, 0.0, 0.0])

    def needle(weights, action_values):
        far = 0.5 * float((weights - top) @ (weights - top)) / 0.01**2
        return float(np.logaddexp(40.0 - far, 0.0))

    target = target_of(3, needle)
    clouds = [rng.standard_normal((200, 3)), top + 0.01 * rng.standard_normal((50, 3))]
    shaping, _ = shaped(target, populations_at(target, clouds))
    starts = np.array([shaping.picked(np.random.default_rng(seed)) for seed in range(40)])
    assert (np.linalg.norm(starts - top, axis=1) < 0.1).all()


def two_clouds(rng, n=400, k=3):
    first = rng.standard_normal((n // 2, k)) * 0.2 + 2.0
    second = rng.standard_normal((n // 2, k)) @ np.diag([1.0, 0.3, 0.1][:k]) - 1.0
    return np.concatenate([first, second])


@pytest.fixture
def fit():
    rng = np.random.default_rng(0)
    return fitted(two_clouds(rng), np.full(400, 1 / 400), rng)


def test_its_density_is_that_of_a_mixture_of_t_distributions(fit):
    points = np.random.default_rng(1).standard_normal((50, 3)) * 2.0
    exact = sum(
        share * stats.multivariate_t(mean, factor @ factor.T, df=NU).pdf(points)
        for share, mean, factor in zip(fit.shares, fit.means, fit.factors, strict=True)
    )
    np.testing.assert_allclose(fit.log_densities(points), np.log(exact), rtol=1e-9)
    flat = points.ravel().copy()
    by_kernel = [kernels.log_mixture(fit.mixture, 3 * i, 3, flat) for i in range(50)]
    np.testing.assert_allclose(by_kernel, np.log(exact), rtol=1e-9)


def test_its_draws_are_drawn_from_it(fit):
    rng = np.random.default_rng(2)
    drawn = fit.draws(20_000, rng)
    # E q'/q over draws from q is 1 for every other density q': here a shifted fit
    other = stats.multivariate_t(fit.means[0], 0.5 * fit.factors[0] @ fit.factors[0].T, df=NU + 3)
    ratios = np.exp(other.logpdf(drawn) - fit.log_densities(drawn))
    assert abs(ratios.mean() - 1.0) < 5 * ratios.std() / np.sqrt(len(ratios))


def test_shifts_have_no_side(fit):
    shifts = fit.shifts(20_000, np.random.default_rng(3))
    assert np.abs(shifts.mean(axis=0) / (shifts.std(axis=0) / np.sqrt(20_000))).max() < 5


def test_points_that_are_all_one_still_have_a_mixture():
    rng = np.random.default_rng(0)
    fit = fitted(np.ones((10, 2)), np.full(10, 0.1), rng)
    assert np.isfinite(fit.log_densities(fit.draws(5, rng))).all()


def test_in_many_dimensions_the_tails_are_lighter_and_the_density_is_still_scipys():
    rng = np.random.default_rng(4)
    points = rng.standard_normal((300, 12))
    fit = fitted(points, np.full(300, 1 / 300), rng, 2)
    exact = sum(
        share * stats.multivariate_t(mean, factor @ factor.T, df=12).pdf(points[:20])
        for share, mean, factor in zip(fit.shares, fit.means, fit.factors, strict=True)
    )
    np.testing.assert_allclose(fit.log_densities(points[:20]), np.log(exact), rtol=1e-9)


def test_a_needle_beside_a_wide_cloud_stays_a_needle():
    rng = np.random.default_rng(5)
    needle = 3.0 + 1e-3 * rng.standard_normal((60, 4))
    points = np.concatenate([needle, rng.standard_normal((600, 4))])
    fit = fitted(points, np.full(660, 1 / 660), rng, 4)
    nearest = np.abs(fit.means - 3.0).max(axis=1).argmin()
    spreads = np.sqrt(np.diag(fit.factors[nearest] @ fit.factors[nearest].T))
    assert (spreads < 1e-2).all()


def test_points_that_are_worth_little_leave_the_common_shape_to_all_components():
    rng = np.random.default_rng(6)
    points = two_clouds(rng)

    def unlikeness(worth):
        fit = fitted(points, np.full(400, 1 / 400), np.random.default_rng(7), 2, worth=worth)
        shapes = [factor @ factor.T for factor in fit.factors]
        one, other = (shape / np.linalg.det(shape) ** (1 / 3) for shape in shapes)
        return np.abs(np.linalg.eigvals(np.linalg.solve(one, other)) - 1.0).max()

    assert unlikeness(1.0) < 0.2 < 2.0 < unlikeness(400.0)
