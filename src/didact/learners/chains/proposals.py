"""Steps from a frozen mixture: independent jumps to its draws, and walks shaped by its components.

Given the mixture a step holds no choice that depends on where the chain is: a walking step has the
covariance of a component that is picked without a look at the place, so it is as likely forwards
as backwards.
"""

from __future__ import annotations

import math

import numpy as np

from didact.learners.chains.mixture import Fit
from didact.learners.chains.moves import Moves
from didact.learners.chains.particles import radii

JUMPING = 0.5
"""The share of steps that jump."""

SPREAD = 0.7
"""The sizes of walking steps vary by a factor exp(SPREAD * normal)."""


def first_scale(k: int) -> float:
    """Of steps along a covariance in k dimensions, before it is adapted."""
    return 1.7 / math.sqrt(k)


def moves_by(fit: Fit, kind: int, n: int, rng: np.random.Generator) -> Moves:
    """n steps by a frozen fit: jumps or walks, by a coin each."""
    k = fit.means.shape[1]
    jumping = rng.random(n) < JUMPING
    places = fit.draws(n, rng)
    sizes = first_scale(k) * np.exp(SPREAD * rng.standard_normal(n))
    shifts = np.where(jumping[:, None], places, sizes[:, None] * fit.shifts(n, rng))
    log_jumps = np.zeros(n)
    log_jumps[jumping] = fit.log_densities(places[jumping])
    levels = -rng.standard_exponential(n)
    return Moves(
        jumping.astype(np.int64), shifts.ravel(), log_jumps, radii(kind, k, n, rng), levels
    )
