"""A mixture of multivariate t distributions fitted to points, and steps of the sampler by it.

Fitted by expectation and maximisation, as for normal mixtures with one weight more for each point,
which keeps far points from stretching a component. Covariances are drawn towards the common shape
as by a few more points, so that no component collapses. The t's heavy tails (NU) keep the ratio of
the target to the mixture bounded where the fit is poor. Nothing is promised of the fit: a poor one
makes jumps rare, never wrong.

Given the mixture a step holds no choice that depends on where the chain is: it is an independent
jump to a draw from the mixture, or a walking step with the covariance of a component that is picked
without a look at the place, so it is as likely forwards as backwards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from didact.learners.chains.chain import NO_MIXTURE, NOTHING, radii
from didact.learners.chains.kernels import SHIFT, Mixture, Proposal, Randomness
from didact.numerics.exact import Floats

NU = 5.0
"""The fewest degrees of freedom; one for each dimension where there are more."""

COMPONENTS = 10
"""How many there are; with more modes than that, one for each."""

ROUNDS, MORE_ROUNDS = 12, 6
"""Rounds of fitting from nothing, and from a fit to similar points."""

ALIKE = 10.0
"""The common covariance is worth so many points, for each dimension, in every component."""

SMALLEST = 1e-12
"""The smallest size of a component's covariance, that of the common one being 1."""

MIN_SHARE = 0.02
"""No component has a smaller share of the jumps: it may stand on a mode that few points show."""

JUMPING = 0.5
"""The share of steps that jump."""

SPREAD = 0.7
"""The sizes of walking steps vary by a factor exp(SPREAD * normal)."""


@dataclass(frozen=True, eq=False)
class MixtureFit:
    """A mixture as kernels read it; shares (m,), means (m, k), factors and inverses (m, k, k)."""

    mixture: Mixture
    shares: Floats
    means: Floats
    factors: Floats
    inverses: Floats

    @property
    def proposal(self) -> Proposal:
        """What the kernels read of it."""
        return shifts_of(self.means.shape[1], self.mixture)

    def log_densities(self, points: Floats) -> Floats:
        """log q of points (n, k)."""
        logs, _ = self.log_terms(points)
        highest = logs.max(axis=1)
        return np.asarray(highest + np.log(np.exp(logs - highest[:, None]).sum(axis=1)))

    def log_terms(self, points: Floats) -> tuple[Floats, Floats]:
        """The logarithm of each component's term of q, and squared distances to each, (n, m)."""
        freedom = self.mixture.freedom
        power = 0.5 * (freedom + points.shape[1])
        distances = np.empty((len(points), len(self.means)))
        for c, (mean, inverse) in enumerate(zip(self.means, self.inverses, strict=True)):
            scaled = (points - mean) @ inverse.T
            distances[:, c] = np.einsum("ni,ni->n", scaled, scaled)
        return self.mixture.heights - power * np.log1p(distances / freedom), distances

    def draws(self, n: int, rng: np.random.Generator) -> Floats:
        """n points drawn from the mixture, (n, k)."""
        freedom = self.mixture.freedom
        stretch = np.sqrt(freedom / (2.0 * rng.standard_gamma(0.5 * freedom, n)))
        return self._scattered(stretch, self.means, rng)

    def shifts(self, n: int, rng: np.random.Generator) -> Floats:
        """n normal shifts (n, k), each of the covariance of a component picked by its share."""
        return self._scattered(np.ones(n), np.zeros_like(self.means), rng)

    def improved(
        self,
        points: Floats,
        shares: Floats,
        *,
        worth: float = math.inf,
        n_rounds: int = MORE_ROUNDS,
    ) -> MixtureFit:
        """The fit after rounds of expectation and maximisation; shares (n,) sum to 1.

        worth: how many independent points these are worth, where it is less than shares say.
        """
        fit, worth = self, min(worth, 1.0 / float(shares @ shares))
        for _ in range(n_rounds):
            fit = fit._improved_once(points, shares, ALIKE * points.shape[1] / worth)
        return fit

    def _improved_once(self, points: Floats, shares: Floats, extra: float) -> MixtureFit:
        m, k = self.means.shape
        logs, distances = self.log_terms(points)
        belonging = np.exp(logs - logs.max(axis=1, keepdims=True))
        belonging *= (shares / belonging.sum(axis=1))[:, None]
        counts = belonging.sum(axis=0)
        freedom = self.mixture.freedom
        pull = belonging * ((freedom + k) / (freedom + distances))
        means = (pull.T @ points) / (pull.sum(axis=0)[:, None] + 1e-300)
        scatter = np.empty((m, k, k))
        for c in range(m):
            centred = points - means[c]
            scatter[c] = (pull[:, c, None] * centred).T @ centred
        return _fit_of(counts, means, _drawn_together(scatter, counts, extra))

    def _scattered(self, stretch: Floats, means: Floats, rng: np.random.Generator) -> Floats:
        """Around means (m, k) by the components' factors, stretched (n,)."""
        n, (m, k) = len(stretch), means.shape
        heights = np.cumsum(self.shares)
        component = np.minimum(np.searchsorted(heights, rng.random(n) * heights[-1]), m - 1)
        normal = rng.standard_normal((n, k))
        found = np.empty((n, k))
        for c in range(m):
            own = component == c
            found[own] = means[c] + stretch[own, None] * (normal[own] @ self.factors[c].T)
        return found


def fitted(
    points: Floats,
    shares: Floats,
    rng: np.random.Generator,
    n_components: int = COMPONENTS,
    *,
    worth: float = math.inf,
) -> MixtureFit:
    """A mixture for points (n, k) of these shares (n,), which sum to 1; worth: see `improved`."""
    m = max(1, min(n_components, len(points)))
    means = points[_far_apart(points, shares, m, rng)]
    halved = covariance(points, shares) / 2.0
    first = _fit_of(np.ones(m), means, np.array([halved] * m))
    return first.improved(points, shares, worth=worth, n_rounds=ROUNDS)


def _drawn_together(scatter: Floats, counts: Floats, extra: float) -> Floats:
    """Covariances (m, k, k), each drawn towards the common shape times its own size.

    The size is the mean of its variances, those of the common covariance being 1, and is itself
    drawn towards 1 a little: a narrow component stays narrow, and none collapses. In the common
    shape narrow components count as much as wide ones of the same weight.
    """
    m, k, _ = scatter.shape
    own = extra / ALIKE
    sizes = np.ones(m)
    for _ in range(2):
        common = (scatter / sizes[:, None, None]).sum(axis=0) / float(counts.sum())
        inverse = np.linalg.inv(factor_of(common))
        found = np.einsum("ij,cjl,il->c", inverse, scatter, inverse) / (k * counts + 1e-300)
        sizes = np.maximum(found, SMALLEST) ** (counts / (counts + own))
    shared = extra * sizes[:, None, None] * common
    return np.asarray((scatter + shared) / (counts + extra)[:, None, None])


def _fit_of(counts: Floats, means: Floats, covariances: Floats) -> MixtureFit:
    k = means.shape[1]
    shares = np.maximum(counts / float(counts.sum()), MIN_SHARE)
    shares /= float(shares.sum())
    factors = np.array([factor_of(matrix) for matrix in covariances])
    inverses = np.tril(np.linalg.inv(factors))
    determinants = np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
    freedom = max(NU, float(k))
    normal = math.lgamma(0.5 * (freedom + k)) - math.lgamma(0.5 * freedom)
    normal -= 0.5 * k * math.log(freedom * math.pi)
    heights = np.log(shares) + normal - determinants
    mixture = Mixture(freedom, heights, means.ravel().copy(), inverses.ravel().copy())
    return MixtureFit(mixture, shares, means, factors, inverses)


def _far_apart(
    points: Floats, shares: Floats, n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Numbers of points far from each other, in units of the whole covariance (k-means++)."""
    scaled = points @ np.linalg.inv(factor_of(covariance(points, shares))).T
    nearest = np.ones(len(points))
    chosen: list[int] = []
    while len(chosen) < n:
        heights = np.cumsum(nearest * shares)
        at = int(np.searchsorted(heights, rng.random() * heights[-1]))
        chosen.append(min(at, len(points) - 1))
        distances = ((scaled - scaled[chosen[-1]]) ** 2).sum(axis=1)
        nearest = distances if len(chosen) == 1 else np.minimum(nearest, distances)
    return np.array(chosen)


def shifts_of(k: int, mixture: Mixture = NO_MIXTURE) -> Proposal:
    """Given shifts in k dimensions, and jumps to draws from a mixture."""
    return Proposal(SHIFT, k, NOTHING, NOTHING, NOTHING, mixture)


def first_scale(k: int) -> float:
    """Of steps along a covariance in k dimensions, before it is adapted."""
    return 1.7 / math.sqrt(k)


def moves_by(fit: MixtureFit, kind: int, n: int, rng: np.random.Generator) -> Randomness:
    """n steps by a frozen fit: jumps or walks, by a coin each."""
    k = fit.means.shape[1]
    jumping = rng.random(n) < JUMPING
    places = fit.draws(n, rng)
    sizes = first_scale(k) * np.exp(SPREAD * rng.standard_normal(n))
    shifts = np.where(jumping[:, None], places, sizes[:, None] * fit.shifts(n, rng))
    log_jumps = np.zeros(n)
    log_jumps[jumping] = fit.log_densities(places[jumping])
    levels = -rng.standard_exponential(n)
    radius = radii(kind, k, n, rng)
    flags = jumping.astype(np.int64)
    return Randomness(shifts.ravel(), np.zeros(0), levels, flags, log_jumps, radius)


def covariance(places: Floats, shares: Floats | None = None) -> Floats:
    """Of rows (n, k), by shares (n,) where they are not equal."""
    weights = np.full(len(places), 1.0 / len(places)) if shares is None else shares
    centred = places - weights @ places
    return np.asarray((weights[:, None] * centred).T @ centred)


def factor_of(matrix: Floats) -> Floats:
    """A lower triangular L with L L' = matrix, which may lack a little to be positive."""
    k = len(matrix)
    ridge = 1e-10 * float(np.trace(matrix)) / k + 1e-300
    while True:
        try:
            return np.asarray(np.linalg.cholesky(matrix + ridge * np.eye(k)))
        except np.linalg.LinAlgError:
            ridge *= 100.0
