"""Populations that show where a posterior lies before any chain is run.

A tempered population (sequential Monte Carlo) begins with draws from the reference. The likelihood
enters by degrees: its temperature rises from 0 to 1, each time so far that the particles' weights
are worth SHARE of them; they are resampled (systematically) and walk by steps shaped by their own
covariance until most have moved. It finds what is broad, and what is heavy at every temperature. A
posterior can also lie in a needle that a few hundred draws from the prior never see; climbs find
its summit, and a settled population begins there, all in one place, and spreads over the hill.

Populations shape the jumps of the rounds and are never returned, so neither need be exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from didact.learners.chains.metropolis import Target
from didact.learners.chains.mixture import Fit
from didact.learners.chains.particles import (
    NO_MIXTURE,
    Particles,
    covariance,
    factor_of,
    kind_of,
    spread_out,
    walks,
)
from didact.learners.chains.proposals import first_scale, moves_by
from didact.learners.chains.starts import MOST_DRAWS, without_density
from didact.numerics.exact import Floats

SHARE = 0.4
"""The effective share of the particles at the next temperature."""

STEPS, MOST_REPEATS, MOVED = 2, 3, 0.8
"""Steps of each particle at a time, repeated until this share of them has moved, or so often."""

ACCEPTED = 0.25
"""The accepted share of steps that their size aims at."""

FIRST_STEP, FIRST_BLOCKS, BLOCKS = 0.01, 3, 12
"""A settled population spreads by round steps of this size, where a length is 1, and then by its
own covariance, so many blocks in all, of half as many steps as there are dimensions, or 4."""

BLOCK_STEPS = 4


class Population:
    """Particles on their way to the posterior, with a generator of their own."""

    particles: Particles

    def __init__(self, target: Target, rng: np.random.Generator):
        self.target, self.rng = target, rng
        self.kind = kind_of(target.prior)

    def temper(self, n: int) -> Iterator[int]:
        """Bring n particles from the reference to the posterior; yields likelihoods."""
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

    def settle(self, summit: Floats, n: int) -> Iterator[int]:
        """Let n particles spread from the weights (k,) of a summit; yields likelihoods."""
        k = self.target.k
        places = spread_out(self.kind, np.repeat(summit[None], n, axis=0), self.rng)
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

    def ripen(self, fit: Fit, n_steps: int) -> Iterator[int]:
        """Let every particle take so many steps by a mixture; yields likelihoods."""
        n = len(self.particles.scores) * n_steps
        self.particles.advance(1.0, fit.mixture, moves_by(fit, self.kind, n, self.rng))
        yield n

    def _drawn(self, n: int) -> Particles:
        """Draws from the reference, some of which have a density above 0."""
        prior, k = self.target.prior, self.target.k
        for _ in range(-(-MOST_DRAWS // n)):
            places = spread_out(self.kind, prior.draw(self.rng, n, k), self.rng)
            particles = Particles(self.target, places, rough=True)
            if particles.scores.max() > -math.inf:
                return particles
        raise without_density(prior)

    def _mutate(self, temperature: float, scale: float) -> float:
        """Steps shaped by the particles' covariance until most have moved; the adapted scale."""
        factor = factor_of(covariance(self.particles.places))
        moved = np.zeros(len(self.particles.scores), dtype=bool)
        for _ in range(MOST_REPEATS):
            scale = adapted(scale, self._walk(temperature, factor, scale, STEPS))
            moved |= self.particles.points.moved != 0
            if moved.mean() >= MOVED:
                break
        return scale

    def _walk(self, temperature: float, factor: Floats, scale: float, n_steps: int) -> float:
        """So many steps of every particle; the accepted share of them."""
        n, k = self.particles.places.shape
        shifts = scale * (self.rng.standard_normal((n * n_steps, k)) @ factor.T)
        moves = walks(self.kind, shifts, self.rng)
        return self.particles.advance(temperature, NO_MIXTURE, moves)


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
