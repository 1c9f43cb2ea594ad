"""Whether chains agree, and what their draws are worth: rank R-hat, bulk and tail ESS.

Vehtari, Gelman, Simpson, Carpenter and Buerkner, "Rank-normalization, folding, and localization: an
improved R-hat for assessing convergence of MCMC" (2021). Draws are (chains, draws) or (chains,
draws, k); the answer is a number or one for each of the k columns, NaN where there are fewer than 4
draws or a draw is not finite. Chains are always cut into halves, so that one chain that drifts is
seen as two chains that disagree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from didact.errors import InvalidParameter
from didact.inputs import printable
from didact.mdp import MDP
from didact.numerics.exact import Floats

if TYPE_CHECKING:
    from didact.learners.belief import Belief

MIN_DRAWS = 4
"""With fewer, half a chain has no variance."""
TAILS = (0.05, 0.95)
"""Quantiles whose effective draws are the tail ESS, as Vehtari et al. take them."""
RESOLUTION = float(np.finfo(np.float64).resolution)
"""A column whose draws differ by less is constant: every draw counts as independent."""


WORST_R_HAT = 1.05
"""Chains with a larger R-hat disagree: their draws are not the posterior."""

MIN_EFFECTIVE = 100
"""With fewer effective draws, means and quantiles are mostly noise."""


def rank_r_hat(draws: Any) -> Any:
    """The larger of R-hat in the bulk and, folded around the median, in the tails; NaN if constant.

    1 says that the chains agree in location and in spread.
    """
    return _by_column(draws, _rank_r_hat)


def bulk_ess(draws: Any) -> Any:
    """How many independent draws say as much about the middle of the distribution."""
    return _by_column(draws, lambda x: _ess(_normal_scores(_halves(x))))


def tail_ess(draws: Any) -> Any:
    """How many independent draws say as much about the 5% and the 95% quantile: the smaller."""
    return _by_column(draws, _tail_ess)


def indicator_ess(happened: Any) -> Any:
    """How many independent draws say as much about how often something happens: booleans."""
    return _by_column(happened, lambda x: _ess(_halves(x)))


def _by_column(draws: Any, measure: Callable[[Floats], float]) -> Any:
    """The measure of a table (chains, draws), or of each of the k tables (chains, draws, k)."""
    table = np.asarray(draws, dtype=np.float64)
    if table.ndim not in (2, 3):
        raise InvalidParameter(
            f"draws must have the shape (chains, draws) or (chains, draws, k); it is {table.shape}"
        )
    columns = table[:, :, None] if table.ndim == 2 else table
    found = np.full(columns.shape[2], np.nan)
    if columns.shape[0] >= 1 and columns.shape[1] >= MIN_DRAWS:
        for i in range(found.size):
            if np.isfinite(columns[:, :, i]).all():
                found[i] = measure(columns[:, :, i])
    return float(found[0]) if table.ndim == 2 else found


def _halves(x: Floats) -> Floats:
    """Each chain as two, its first and its last half; the middle draw of an odd number is left."""
    half = x.shape[1] // 2
    return np.concatenate((x[:, :half], x[:, -half:]))


def _normal_scores(x: Floats) -> Floats:
    """Each draw by its rank among all: the normal quantile of (rank - 3/8) / (n + 1/4).

    Ties share their mean rank.
    """
    from scipy.special import ndtri

    _, place, counts = np.unique(x, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    return np.asarray(ndtri((ranks - 0.375) / (x.size + 0.25))[place].reshape(x.shape))


def _rank_r_hat(x: Floats) -> float:
    halves = _halves(x)
    folded = np.abs(halves - np.median(halves))
    return float(np.fmax(_r_hat(_normal_scores(halves)), _r_hat(_normal_scores(folded))))


def _r_hat(z: Floats) -> float:
    """sqrt of the pooled variance over the mean variance within chains.

    Where no chain moves at all that is 0 / 0 (NaN) when they stand together, else infinite.
    """
    if (z == z[:, :1]).all():
        return np.nan if (z == z[0, 0]).all() else np.inf
    n = z.shape[1]
    within = float(z.var(axis=1, ddof=1).mean())
    between = float(z.mean(axis=1).var(ddof=1))
    return float(np.sqrt((n - 1) / n + between / within))


def _tail_ess(x: Floats) -> float:
    at_tails = (x <= quantile for quantile in np.quantile(x, TAILS))
    return min(_ess(_halves(below.astype(np.float64))) for below in at_tails)


def _ess(z: Floats) -> float:
    """Draws over the autocorrelation time of the chains together.

    The autocorrelation at lag t is 1 - (within - mean autocovariance(t)) / pooled variance, so
    chains that disagree count as correlated at every lag. Its sum is cut by Geyer's rule: sums of
    two neighbours, which are positive and fall for a reversible chain, are taken while they are
    positive and made to fall. The time is at least 1 / log10(n), however antithetic the chains are.
    """
    n_chains, n = z.shape
    if z.max() - z.min() < RESOLUTION:
        return float(z.size)
    covariances = _autocovariances(z)
    within = covariances[0] * n / (n - 1)
    pooled = covariances[0] + (float(z.mean(axis=1).var(ddof=1)) if n_chains > 1 else 0.0)
    rho = 1.0 - (within - covariances) / pooled
    rho[0] = 1.0
    time = max(_autocorrelation_time(rho), 1.0 / np.log10(z.size))
    return float(z.size / time)


def _autocovariances(z: Floats) -> Floats:
    """The mean over chains of sum_i (z_i - mean)(z_{i+t} - mean) / n for each lag t, by FFT."""
    n = z.shape[1]
    padded = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(z - z.mean(axis=1, keepdims=True), n=padded, axis=1)
    power = np.mean(spectrum.real**2 + spectrum.imag**2, axis=0)
    return np.asarray(np.fft.irfft(power, n=padded)[:n] / n)


def _autocorrelation_time(rho: Floats) -> float:
    """-1 + 2 * (sums of pairs before the last) + the even lag of the last pair looked at."""
    n_pairs = max((rho.size - 1) // 2, 1)
    pairs = rho[0 : 2 * n_pairs : 2] + rho[1 : 2 * n_pairs : 2]
    ended = np.flatnonzero(pairs <= 0.0)
    last = int(ended[0]) if ended.size else n_pairs - 1
    falling = np.minimum.accumulate(pairs[:last])
    even = rho[2 * last]
    return float(-1.0 + 2.0 * falling.sum() + (even if pairs[last] >= 0.0 else max(even, 0.0)))


def mixing_problems(belief: Belief) -> tuple[str, ...]:
    """One line for each diagnostic that fails, with the feature where it is worst."""
    if belief.is_point:
        return ()
    if np.isnan(belief.ess_bulk).all():
        return (
            f"{belief.n_draws} draws are too few to tell whether the chains have mixed; "
            "at least 4 are needed. Run more steps",
        )
    if belief.settings.get("sampler") == "mixture":
        reason = belief.settings.get("not_mixed")
        return () if reason is None else (str(reason),)
    problems = []
    worst = _where(belief.r_hat, np.nanargmax)
    if worst is not None and belief.r_hat[worst] > WORST_R_HAT:
        problems.append(
            f"the chains have not mixed: R-hat {belief.r_hat[worst]:.2f} for "
            f"{named_feature(belief.mdp, worst)}, at most {WORST_R_HAT} is wanted; run more steps, "
            "or start the chains elsewhere"
        )
    scarce = _where(belief.ess_bulk, np.nanargmin)
    if scarce is not None and belief.ess_bulk[scarce] < MIN_EFFECTIVE:
        problems.append(
            f"the draws are worth only {belief.ess_bulk[scarce]:.0f} independent ones for "
            f"{named_feature(belief.mdp, scarce)}, at least {MIN_EFFECTIVE} are wanted; "
            "run more steps"
        )
    return tuple(problems)


def _where(values: Floats, find: Any) -> int | None:
    return None if np.isnan(values).all() else int(find(values))


def named_feature(mdp: MDP, feature: int) -> str:
    """'feature 3', with its name where it has one."""
    number, name = f"feature {feature}", printable(mdp.feature_name(feature))
    return number if name == number else f"{number} ({name})"
