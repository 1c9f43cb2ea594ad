"""The mixture to jump by: its density is SciPy's, its draws are its own."""

import numpy as np
import pytest
from scipy import stats

from didact.learners.chains import kernels
from didact.learners.chains.mixture import NU, fitted


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
