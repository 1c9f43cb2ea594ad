"""From populations to a mixture that rounds can jump by.

The mixture is fitted to the populations' points and judged by draws from it, weighed by the density
over the mixture. Where the weights are worth enough it is fitted anew to the weighed draws. In many
dimensions they often are not, and a fit to a handful of heavy draws would collapse on them. Then
the populations ripen instead: every particle walks and jumps by the mixture, and it is fitted to
where they went. Particles that a pilot left on a low hill reach the high ones by these jumps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from didact.learners.chains.metropolis import Target
from didact.learners.chains.mixture import COMPONENTS, Fit, fitted
from didact.learners.chains.particles import Particles, covariance, factor_of
from didact.learners.chains.tempering import Population
from didact.numerics.exact import Floats

DRAWS, FINE = 1000, 0.3
"""Draws that a mixture is judged by, and the effective share of them that is enough."""

FEW = 2.0
"""Weighed draws are fitted to if they are worth so many for each dimension; else populations ripen.
"""

MOST_FITS, MOST_RIPENINGS = 3, 4
"""So often a mixture is fitted to weighed draws, and so often populations ripen."""

POINTS = 5.0
"""Points that a component needs for each dimension."""

FEWEST = 0.01
"""A population counts at least so much of what the heaviest one counts."""

RIPENING = 1.0
"""Steps of each particle, for each dimension, each time that populations ripen."""


class Shaping:
    """A mixture on its way; phases() yields groups of runs, and the rest can be read after each."""

    fit: Fit

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
        k, n_fits, n_ripenings = self.target.k, 0, 0
        while n_fits < MOST_FITS and n_ripenings < MOST_RIPENINGS:
            self._judge()
            if self.worth >= FEW * k:
                self.fit = self.fit.improved(np.concatenate(self.drawn), self._capped())
                n_fits += 1 if self.worth < FINE * DRAWS else MOST_FITS
            else:
                n_steps = math.ceil(RIPENING * k)
                yield [population.ripen(self.fit, n_steps) for population in self.populations]
                self.fit = self._fitted(n_modes)
                self._forget()
                n_ripenings += 1

    def picked(self, rng: np.random.Generator) -> Floats:
        """A place (k,) to start from: one of the weighed draws, else of the populations."""
        points, shares = self._weighed()
        if self.drawn:
            points, shares = np.concatenate(self.drawn), self._capped()
        at = int(np.searchsorted(np.cumsum(shares), rng.random()))
        return np.array(points[min(at, len(points) - 1)])

    def _fitted(self, n_modes: int) -> Fit:
        points, shares = self._weighed()
        possible = int(1.0 / float(shares @ shares) / (POINTS * self.target.k))
        n_components = max(1, n_modes, min(COMPONENTS, possible))
        return fitted(points, shares, self.rng, n_components)

    def _weighed(self) -> tuple[Floats, Floats]:
        """The places (n, k) of all particles, and what each counts (n,)."""
        populations = [each.particles for each in self.populations]
        return np.concatenate([each.places for each in populations]), population_shares(populations)

    def _forget(self) -> None:
        self.fits: list[Fit] = []
        self.drawn: list[Floats] = []
        self.log_densities: list[Floats] = []
        self.weights = np.zeros(0)

    def _judge(self) -> None:
        """Draw from the fit, and weigh all draws since populations ripened."""
        self.fits.append(self.fit)
        self.drawn.append(self.fit.draws(DRAWS, self.rng))
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

    A population counts by the mass under its hill if that is a normal one: the mean log density
    plus half the log determinant of its covariance. None counts less than FEWEST of the heaviest.
    """
    logs = []
    for each in populations:
        factor = factor_of(covariance(each.places))
        logs.append(float(np.mean(each.log_densities)) + float(np.log(np.diag(factor)).sum()))
    masses = np.maximum(np.exp(np.array(logs) - max(logs)), FEWEST)
    sizes = np.array([len(each.places) for each in populations])
    shares = np.repeat(masses / sizes, sizes)
    return np.asarray(shares / float(shares.sum()))
