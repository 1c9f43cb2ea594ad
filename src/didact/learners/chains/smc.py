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
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from didact.learners.chains.chain import Particles, Target, radii, spread_out
from didact.learners.chains.kernels import Randomness
from didact.learners.chains.mixture import (
    COMPONENTS,
    MixtureFit,
    covariance,
    factor_of,
    first_scale,
    fitted,
    moves_by,
    shifts_of,
)
from didact.learners.chains.walk import MAX_DRAWS, without_density
from didact.numerics.exact import Floats

SHARE = 0.4
"""The effective share of the particles at the next temperature."""

STEPS, MAX_REPEATS, MOVED = 2, 3, 0.8
"""Steps of each particle at a time, repeated until this share of them has moved, or so often."""

ACCEPTED = 0.25
"""The accepted share of steps that their size aims at."""

FIRST_STEP, FIRST_BLOCKS, BLOCKS = 0.01, 3, 12
"""A population at a mode spreads by round steps of this size, where a length is 1, and then by its
own covariance, so many blocks in all, of half as many steps as there are dimensions, or 4."""

BLOCK_STEPS = 4

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
        temperature, scale, told = 0.0, first_scale(self.target.k), 0
        while temperature < 1.0:
            scores = self.particles.scores
            rise = next_rise(scores, 1.0 - temperature)
            temperature = min(1.0, temperature + rise)
            self.particles.take(systematic(relative_weights(scores, rise), self.rng))
            scale = self._mutate(temperature, scale)
            yield self.particles.n_scored - told
            told = self.particles.n_scored

    def spread(self, mode: Floats, n: int) -> Iterator[int]:
        """Let n particles spread from the weights (k,) of a mode; yields likelihood evaluations."""
        k = self.target.k
        places = spread_out(self.kind, np.repeat(mode[None], n, axis=0), self.rng)
        self.particles = Particles(self.target, places, rough=True)
        scale, told, n_steps = FIRST_STEP, 0, max(BLOCK_STEPS, k // 2)
        for block in range(BLOCKS):
            factor = np.eye(k)
            if block >= FIRST_BLOCKS:
                factor = factor_of(covariance(self.particles.places))
                scale = first_scale(k) if block == FIRST_BLOCKS else scale
            scale = adapted(scale, self._walk(1.0, factor, scale, n_steps))
            yield self.particles.n_scored - told
            told = self.particles.n_scored

    def move_by(self, fit: MixtureFit, n_steps: int) -> Iterator[int]:
        """Let every particle take so many steps by a mixture; yields likelihood evaluations."""
        n = len(self.particles.scores) * n_steps
        self.particles.advance(fit.proposal, moves_by(fit, self.kind, n, self.rng))
        yield n

    def _drawn(self, n: int) -> Particles:
        """Draws from the reference, some of which have a density above 0."""
        prior, k = self.target.prior, self.target.k
        for _ in range(-(-MAX_DRAWS // n)):
            places = spread_out(self.kind, prior.draw(self.rng, n, k), self.rng)
            particles = Particles(self.target, places, rough=True)
            if particles.scores.max() > -math.inf:
                return particles
        raise without_density(prior)

    def _mutate(self, temperature: float, scale: float) -> float:
        """Steps shaped by the particles' covariance until most have moved; the adapted scale."""
        factor = factor_of(covariance(self.particles.places))
        moved = np.zeros(len(self.particles.scores), dtype=bool)
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
