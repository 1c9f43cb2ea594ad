"""Rounds of jumps and walks from frozen shapes.

Before a round a mixture is fitted to what the pilots, or the round before, left; then it is frozen,
so that given all that came before the kernel of the round is fixed and leaves the posterior as it
is. Only the last round is returned.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from didact.learners.chains import moves as kernels
from didact.learners.chains.metropolis import Target
from didact.learners.chains.mixture import Fit
from didact.learners.chains.particles import Particles
from didact.learners.chains.proposals import moves_by
from didact.numerics.exact import Floats

KEPT = 1000
"""Draws kept of a chain."""

DROPPED = 0.1
"""The share of a round that is dropped before draws are kept."""

BLOCK_NUMBERS = 2**16
"""Random numbers drawn at a time."""


def steps_of_a_round(every: int) -> int:
    """How many steps keep KEPT draws, each after `every` steps, with those that are dropped."""
    return math.ceil(KEPT * every / (1.0 - DROPPED))


def every_within(n_steps: int) -> int:
    """The largest `every` whose round takes at most so many steps; may be 0."""
    return int((1.0 - DROPPED) * n_steps / KEPT)


@dataclass(eq=False)
class RoundChain:
    """One chain from round to round: its place, its generator, and what its last round kept.

    samples: (KEPT, k); densities: (KEPT,). best: the best log density that it saw, and its
    pilot before it. acceptance: of the last round.
    """

    target: Target
    place: Floats
    rng: np.random.Generator
    best: float
    best_weights: Floats
    samples: Floats
    densities: Floats
    acceptance: float = math.nan

    @classmethod
    def after(cls, pilot: Particles, place: Floats, rng: np.random.Generator) -> RoundChain:
        """A chain that starts at a place (k,) and knows the best weights of its pilot."""
        best = pilot.points.best.copy()
        kept = np.zeros((KEPT, place.size)), np.zeros(KEPT)
        return cls(pilot.target, place, rng, pilot.best, best, *kept)

    def run(self, fit: Fit, every: int) -> Iterator[int]:
        """A round by a frozen fit; yields the steps taken."""
        particles = Particles(self.target, self.place[None], n_kept=KEPT)
        n = left = steps_of_a_round(every)
        counters = particles.points.counters
        counters[kernels.EVERY], counters[kernels.FIRST] = every, n - KEPT * every + every - 1
        size = max(1, BLOCK_NUMBERS // self.target.k)
        while left:
            block = min(left, size)
            particles.advance(1.0, fit.mixture, moves_by(fit, particles.kind, block, self.rng))
            left -= block
            yield block
        self.place = particles.places[0].copy()
        self.samples = particles.points.samples.reshape(KEPT, -1)
        self.densities = particles.points.densities
        self.acceptance = particles.n_accepted / n
        if particles.best > self.best:
            self.best, self.best_weights = particles.best, particles.points.best.copy()
