"""R-hat and effective draws against ArviZ, closed forms, and a plain second implementation."""

import logging
import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from didact.errors import InvalidParameter
from didact.learners.diagnostics import bulk_ess, indicator_ess, rank_r_hat, tail_ess
from tests.effort import takes_all

DRAWS = (4, 5, 6, 7, 8, 9, 10, 11, 13, 50, 99, 400, 1000)


@pytest.fixture(scope="module")
def az():
    """ArviZ, which takes longer to import than all other modules of tests together."""
    logging.getLogger("arviz").setLevel(logging.ERROR)
    return pytest.importorskip("arviz")


def wandering(rng, chains: int, draws: int, memory: float) -> np.ndarray:
    x = np.zeros((chains, draws))
    steps = rng.normal(size=(chains, draws))
    for t in range(draws):
        x[:, t] = (memory * x[:, t - 1] if t else 0.0) + steps[:, t]
    return x


KINDS = {
    "independent": lambda rng, shape: rng.normal(size=shape),
    "AR(1) 0.5": lambda rng, shape: wandering(rng, *shape, 0.5),
    "AR(1) 0.9": lambda rng, shape: wandering(rng, *shape, 0.9),
    "AR(1) 0.99": lambda rng, shape: wandering(rng, *shape, 0.99),
    "antithetic": lambda rng, shape: wandering(rng, *shape, -0.9),
    "stuck apart": lambda rng, shape: rng.normal(size=shape) + 10 * np.arange(shape[0])[:, None],
    "one chain wide": lambda rng, shape: (
        rng.normal(size=shape) * (1 + np.arange(shape[0])[:, None])
    ),
    "constant": lambda rng, shape: np.ones(shape),
    "tied": lambda rng, shape: rng.integers(0, 3, shape).astype(float),
    "nearly constant": lambda rng, shape: rng.choice([-1.0, 1.0], shape, p=[0.02, 0.98]),
    "heavy tails": lambda rng, shape: rng.standard_cauchy(shape),
    "tiny": lambda rng, shape: 1e-12 * rng.normal(size=shape),
    "repeated": lambda rng, shape: np.repeat(rng.normal(size=shape), 3, axis=1)[:, : shape[1]],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chains", [1, 2, 3, 4])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_figures_are_those_of_arviz(az, kind, chains):
    """Left out is what rounding decides in ArviZ: see `halves_stand` and `a_draw_is_a_quantile`."""
    rng = np.random.default_rng(chains)
    for draws in DRAWS if takes_all() else DRAWS[chains % 2 :: 2]:
        x = KINDS[kind](rng, (chains, draws))
        same(bulk_ess(x), az.ess(x, method="bulk"))
        if kind in ("constant", "nearly constant") or not a_draw_is_a_quantile(x):
            same(tail_ess(x), az.ess(x, method="tail"))
        if chains > 1 and (kind == "constant" or not halves_stand(x)):
            same(rank_r_hat(x), az.rhat(x, method="rank"))


def same(ours: float, theirs) -> None:
    assert ours == pytest.approx(float(np.asarray(theirs)), rel=1e-9, nan_ok=True)


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(2, 4), st.integers(4, 24)),
        elements=st.sampled_from([-1.0, 0.0, 0.25, 0.5, 3.0]),
    )
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_figures_of_tied_draws_are_those_of_arviz(az, x):
    same(bulk_ess(x), az.ess(x, method="bulk"))
    if not a_draw_is_a_quantile(x):
        same(tail_ess(x), az.ess(x, method="tail"))
    if not halves_stand(x):
        same(rank_r_hat(x), az.rhat(x, method="rank"))


def halves_stand(x: np.ndarray) -> bool:
    """Whether no half chain moves, or none does once folded; rounding decides there for ArviZ."""
    half = x.shape[1] // 2
    parts = np.concatenate((x[:, :half], x[:, -half:]))
    folded = np.abs(parts - np.median(parts))
    return any((p == p[:, :1]).all() for p in (parts, folded))


def a_draw_is_a_quantile(x: np.ndarray) -> bool:
    """Whether the 5% or 95% quantile is a draw, which counts as below; ArviZ may round past it."""
    return bool(np.isin(np.quantile(x, (0.05, 0.95)), x).any())


def plain_r_hat(x: np.ndarray) -> float:
    """R-hat once more, from the definitions and slowly."""
    half = x.shape[1] // 2
    parts = [list(row[:half]) for row in x] + [list(row[-half:]) for row in x]
    everything = sorted(v for part in parts for v in part)
    middle = float(np.median(everything))
    return max(
        spread_ratio(normal_scores(parts)),
        spread_ratio(normal_scores([[abs(v - middle) for v in part] for part in parts])),
    )


def normal_scores(parts):
    everything = [v for part in parts for v in part]
    n = len(everything)

    def score(v):
        rank = sum(u < v for u in everything) + (sum(u == v for u in everything) + 1) / 2
        return NormalDist().inv_cdf((rank - 3 / 8) / (n + 1 / 4))

    return [[score(v) for v in part] for part in parts]


def spread_ratio(parts):
    n = len(parts[0])
    means = [math.fsum(part) / n for part in parts]
    centre = math.fsum(means) / len(parts)
    between = n * math.fsum((m - centre) ** 2 for m in means) / (len(parts) - 1)
    within = math.fsum(
        math.fsum((v - m) ** 2 for v in part) / (n - 1)
        for part, m in zip(parts, means, strict=True)
    ) / len(parts)
    return math.sqrt(((n - 1) / n * within + between / n) / within)


@pytest.mark.parametrize("chains", [1, 2, 3])
@pytest.mark.parametrize("draws", [4, 7, 30, 61])
def test_r_hat_is_what_its_definition_says(chains, draws):
    """ArviZ has no R-hat of one chain; its halves can be compared all the same."""
    rng = np.random.default_rng(draws)
    for x in (rng.normal(size=(chains, draws)), rng.integers(0, 9, (chains, draws)).astype(float)):
        assert rank_r_hat(x) == pytest.approx(plain_r_hat(x), rel=1e-10)


def test_one_chain_that_drifts_disagrees_with_itself():
    drift = np.linspace(0.0, 1.0, 200)[None] + 0.01 * np.random.default_rng(0).normal(size=200)
    assert rank_r_hat(drift) > 1.5


def test_chains_of_another_spread_are_seen_in_the_tails():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 2000)) * np.array([[1.0], [1.0], [1.0], [5.0]])
    assert rank_r_hat(x) > 1.2


def test_effective_draws_of_an_autoregression():
    """Draws of memory r are worth (1 - r) / (1 + r) independent ones."""
    x = wandering(np.random.default_rng(1), 4, 40_000, 0.8)
    assert bulk_ess(x) == pytest.approx(x.size * 0.2 / 1.8, rel=0.1)


def test_a_draw_on_the_quantile_counts_as_below():
    """Of 21 draws the second smallest is exactly the 5% quantile."""
    x = np.random.default_rng(0).permutation(21).astype(float)[None]
    assert np.isclose(np.quantile(x, 0.05), 1.0)
    expected = min(indicator_ess(x <= 1), indicator_ess(x <= 19))
    assert tail_ess(x) == pytest.approx(expected)


def test_constant_draws_are_independent_and_have_no_r_hat():
    x = np.full((3, 10), 0.7)
    assert math.isnan(rank_r_hat(x))
    assert bulk_ess(x) == tail_ess(x) == 30


def test_chains_that_stand_apart_have_an_infinite_r_hat():
    x = np.ones((2, 10)) * np.array([[1.0], [2.0]])
    assert rank_r_hat(x) == math.inf
    assert bulk_ess(x) == pytest.approx(5)


@pytest.mark.parametrize("measure", [rank_r_hat, bulk_ess, tail_ess])
def test_columns_are_measured_one_by_one(measure):
    x = np.random.default_rng(0).normal(size=(3, 40, 4))
    x[0, 0, 3] = np.nan
    found = measure(x)
    assert found[:3].tolist() == [measure(x[:, :, i]) for i in range(3)]
    assert math.isnan(found[3])


@pytest.mark.parametrize("measure", [rank_r_hat, bulk_ess, tail_ess])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_too_few_draws_or_no_numbers_give_nan(measure, bad):
    assert math.isnan(measure(np.arange(6.0).reshape(2, 3)))
    assert math.isnan(measure(np.zeros((0, 10))))
    assert math.isnan(measure(np.array([[1.0, 2.0, bad, 4.0, 5.0]])))


def test_another_shape_is_refused():
    with pytest.raises(InvalidParameter, match=r"\(chains, draws\).*\(4,\)"):
        bulk_ess([1.0, 2.0, 3.0, 4.0])
