"""Warmup by sequential Monte Carlo: populations show where a posterior lies, and shape its jumps.

A tempered population begins with draws from the reference. The likelihood enters by degrees: its
temperature rises from 0 to 1, each time so far that the particles' weights are worth SHARE of them;
they are resampled (systematically) and walk by steps shaped by their own covariance until most have
moved. It finds what is broad, and what is heavy at every temperature. A posterior can also have a
narrow mode that a few hundred draws from the prior never see; a search finds its maximum, and a
population that begins there, all in one place, spreads over the mode.

A mixture is fitted to the populations' points and judged by importance weights of draws from it,
density over mixture. Where the weights are worth enough it is fitted anew to the weighted draws. In
many dimensions they often are not, and a fit to a handful of heavy draws would collapse on them.
Then every particle walks and jumps by the mixture instead, and it is fitted to where they went:
particles in a low mode reach the high ones by these jumps.

Populations shape the proposals of the sampler and are never returned, so none need be exact.

The mixture is of multivariate t distributions, fitted by expectation and maximisation, as normal
ones are, with one weight more for each point, which keeps far points from stretching a component.
Covariances are drawn towards the common shape as by a few more points, so that no component
collapses. The t's heavy tails (NU) keep the ratio of the target to the mixture bounded where the
fit is poor. Nothing is promised of the fit: a poor one makes jumps rare, never wrong.

Given the mixture a step holds no choice that depends on where the chain is: it is an independent
jump to a draw from the mixture, or a walking step with the covariance of a component that is picked
without a look at the place, so it is as likely forwards as backwards.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from didact.learners.chains.chain import NO_MIXTURE, NOTHING, Particles, Target, radii, spread_out
from didact.learners.chains.kernels import SHIFT, Mixture, Proposal, Randomness
from didact.learners.chains.modes import MAX_DRAWS, without_density
from didact.numerics.exact import Floats

SHARE = 0.4
"""The effective share of the particles at the next temperature."""

STEPS, MAX_REPEATS, MOVED = 2, 3, 0.8
"""Steps of each particle at a time, repeated until this share of them has moved, or so often."""

ACCEPTED = 0.25
"""The accepted share of steps that their size aims at."""

FIRST_STEP, FIRST_BLOCKS, BLOCKS = 0.01, 3, 12
"""A population at a mode spreads by round steps of this size, where a length is 1, and then by its
own covariance, so many blocks in all, of half as many steps as there are dimensions, or
BLOCK_STEPS."""

BLOCK_STEPS = 4
"""The acceptance rate of fewer steps is too rough to adapt their size by."""

JUDGED_DRAWS, ENOUGH = 1000, 0.3
"""Draws that a mixture is judged by, and the effective share of them that is enough."""

MIN_WORTH = 2.0
"""Weighted draws are fitted to if they are worth so many a dimension; else particles move."""

MAX_FITS, MAX_MOVES = 3, 4
"""So often a mixture is fitted to weighted draws, and so often particles move by it."""

POINTS = 5.0
"""Points that a component needs for each dimension."""

MIN_MASS = 0.01
"""A population counts at least so much of what the heaviest one counts."""

STEPS_PER_DIMENSION = 1.0
"""Steps of each particle, for each dimension, each time that particles move by a mixture."""


class Population:
    """Particles on their way to the posterior, with a generator of their own."""

    particles: Particles

    def __init__(self, target: Target, rng: np.random.Generator):
        self.target, self.rng = target, rng
        self.kind = target.kind

    def temper(self, n: int) -> Iterator[int]:
        """Bring n particles from the reference to the posterior; yields likelihood evaluations."""
        self.particles = self._drawn(n)
        temperature, scale, reported = 0.0, first_scale(self.target.k), 0
        while temperature < 1.0:
            scores = self.particles.points.scores
            rise = next_rise(scores, 1.0 - temperature)
            temperature = min(1.0, temperature + rise)
            self.particles.take(systematic(relative_weights(scores, rise), self.rng))
            scale = self._mutate(temperature, scale)
            yield self.particles.n_scored - reported
            reported = self.particles.n_scored

    def spread(self, mode: Floats, n: int) -> Iterator[int]:
        """Let n particles spread from the weights (k,) of a mode; yields likelihood evaluations."""
        k = self.target.k
        places = spread_out(self.kind, np.repeat(mode[None], n, axis=0), self.rng)
        self.particles = Particles(self.target, places, rough=True)
        scale, reported, n_steps = FIRST_STEP, 0, max(BLOCK_STEPS, k // 2)
        for block in range(BLOCKS):
            factor = np.eye(k)
            if block >= FIRST_BLOCKS:
                factor = factor_of(covariance(self.particles.places))
                scale = first_scale(k) if block == FIRST_BLOCKS else scale
            scale = adapted(scale, self._walk(1.0, factor, scale, n_steps))
            yield self.particles.n_scored - reported
            reported = self.particles.n_scored

    def move_by(self, fit: MixtureFit, n_steps: int) -> Iterator[int]:
        """Let every particle take so many steps by a mixture; yields likelihood evaluations."""
        n = len(self.particles.points.scores) * n_steps
        self.particles.advance(fit.proposal, moves_by(fit, self.kind, n, self.rng))
        yield n

    def _drawn(self, n: int) -> Particles:
        """Draws from the reference, some of which have a density above 0."""
        prior, k = self.target.prior, self.target.k
        for _ in range(-(-MAX_DRAWS // n)):
            places = spread_out(self.kind, prior.draw(self.rng, n, k), self.rng)
            particles = Particles(self.target, places, rough=True)
            if particles.points.scores.max() > -math.inf:
                return particles
        raise without_density(prior)

    def _mutate(self, temperature: float, scale: float) -> float:
        """Steps shaped by the particles' covariance until most have moved; the adapted scale."""
        factor = factor_of(covariance(self.particles.places))
        moved = np.zeros(len(self.particles.points.scores), dtype=bool)
        for _ in range(MAX_REPEATS):
            scale = adapted(scale, self._walk(temperature, factor, scale, STEPS))
            moved |= self.particles.points.moved != 0
            if moved.mean() >= MOVED:
                break
        return scale

    def _walk(self, temperature: float, factor: Floats, scale: float, n_steps: int) -> float:
        """So many steps of every particle; the accepted share of them."""
        n, k = self.particles.places.shape
        shifts = scale * (self.rng.standard_normal((n * n_steps, k)) @ factor.T)
        levels = -self.rng.standard_exponential(len(shifts))
        radius = radii(self.kind, k, len(shifts), self.rng)
        still = np.zeros(len(shifts), np.int64)
        moves = Randomness(shifts.ravel(), np.zeros(0), levels, still, np.zeros(0), radius)
        return self.particles.advance(shifts_of(k), moves, temperature=temperature)


def adapted(scale: float, accepted: float) -> float:
    """The scale after a block in which this share of steps was accepted."""
    return scale * math.exp(min(1.0, max(-1.0, 2.0 * (accepted - ACCEPTED))))


def relative_weights(scores: Floats, rise: float) -> Floats:
    """exp(rise * score) over the largest; 0 where the score is -inf."""
    return np.asarray(np.exp(rise * (scores - scores.max())))


def next_rise(scores: Floats, most: float) -> float:
    """How far the temperature may rise, at most so far, by bisection of its logarithm."""

    def is_worth_enough(rise: float) -> bool:
        weights = relative_weights(scores, rise)
        alive = float((weights > 0.0).sum())
        return float(weights.sum()) ** 2 >= SHARE * alive * float(weights @ weights)

    if is_worth_enough(most):
        return most
    low, high = most * 1e-12, most
    while high > 1.01 * low:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if is_worth_enough(middle) else (low, middle)
    return low


def systematic(weights: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    """Which particles go on: each as often as its weight says, up to less than one."""
    n = len(weights)
    heights = np.cumsum(weights) * (n / float(weights.sum()))
    found = np.searchsorted(heights, rng.random() + np.arange(n))
    return np.minimum(found, int(np.flatnonzero(weights)[-1]))


class MixtureSearch:
    """A mixture on its way; phases() yields groups of runs, and the rest can be read after each."""

    fit: MixtureFit

    def __init__(self, target: Target, populations: Sequence[Population], rng: np.random.Generator):
        self.target, self.populations, self.rng = target, populations, rng
        self.worth = 0.0
        self.n_scored = 0
        self._forget()

    def phases(self, n_modes: int) -> Iterator[list[Iterator[int]]]:
        """Judge and fit until draws from the mixture are worth enough, or so often.

        n_modes: there are at least so many components.
        """
        self.fit = self._fitted(n_modes)
        k, n_fits, n_moves = self.target.k, 0, 0
        while n_fits < MAX_FITS and n_moves < MAX_MOVES:
            self._judge()
            if self.worth >= MIN_WORTH * k:
                self.fit = self.fit.improved(np.concatenate(self.drawn), self._capped())
                n_fits += 1 if self.worth < ENOUGH * JUDGED_DRAWS else MAX_FITS
            else:
                n_steps = math.ceil(STEPS_PER_DIMENSION * k)
                yield [population.move_by(self.fit, n_steps) for population in self.populations]
                self.fit = self._fitted(n_modes)
                self._forget()
                n_moves += 1

    def picked(self, rng: np.random.Generator) -> Floats:
        """A place (k,) to start from: one of the weighed draws, else of the populations."""
        points, shares = self._weighed()
        if self.drawn:
            points, shares = np.concatenate(self.drawn), self._capped()
        at = int(np.searchsorted(np.cumsum(shares), rng.random()))
        return np.array(points[min(at, len(points) - 1)])

    def _fitted(self, n_modes: int) -> MixtureFit:
        points, shares = self._weighed()
        possible = int(1.0 / float(shares @ shares) / (POINTS * self.target.k))
        n_components = max(1, n_modes, min(COMPONENTS, possible))
        return fitted(points, shares, self.rng, n_components)

    def _weighed(self) -> tuple[Floats, Floats]:
        """The places (n, k) of all particles, and what each counts (n,)."""
        populations = [each.particles for each in self.populations]
        return np.concatenate([each.places for each in populations]), population_shares(populations)

    def _forget(self) -> None:
        self.fits: list[MixtureFit] = []
        self.drawn: list[Floats] = []
        self.log_densities: list[Floats] = []
        self.weights = np.zeros(0)

    def _judge(self) -> None:
        """Draw from the fit, and weigh all draws since particles moved."""
        self.fits.append(self.fit)
        self.drawn.append(self.fit.draws(JUDGED_DRAWS, self.rng))
        particles = Particles(self.target, self.drawn[-1], rough=True)
        self.n_scored += particles.n_scored
        self.log_densities.append(particles.log_densities)
        places = np.concatenate(self.drawn)
        logs = np.logaddexp.reduce([fit.log_densities(places) for fit in self.fits], axis=0)
        ratios = np.concatenate(self.log_densities) - logs
        self.weights = np.exp(ratios - ratios.max())
        self.worth = float(self.weights.sum()) ** 2 / float(self.weights @ self.weights)

    def _capped(self) -> Floats:
        """The weights of the draws, none far above the others; their sum is 1."""
        most = float(self.weights.mean()) * math.sqrt(self.weights.size)
        weights = np.minimum(self.weights, most)
        return np.asarray(weights / float(weights.sum()))


def population_shares(populations: Sequence[Particles]) -> Floats:
    """What each particle of all populations counts in a fit, in their order; the sum is 1.

    A population counts by the mass of its mode if that is a normal one: the mean log density
    plus half the log determinant of its covariance. None counts less than MIN_MASS of the heaviest.
    """
    logs = []
    for each in populations:
        factor = factor_of(covariance(each.places))
        logs.append(float(np.mean(each.log_densities)) + float(np.log(np.diag(factor)).sum()))
    masses = np.maximum(np.exp(np.array(logs) - max(logs)), MIN_MASS)
    sizes = np.array([len(each.places) for each in populations])
    shares = np.repeat(masses / sizes, sizes)
    return np.asarray(shares / float(shares.sum()))


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
