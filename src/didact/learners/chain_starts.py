"""Where chains start: a small population that anneals from the prior to the posterior.

The likelihood has separate hills, and a chain that climbs the wrong one stays there. So a few draws
from the prior walk under the likelihood to a power that grows from nearly 0 to 1; at each power the
population is drawn anew in proportion to what it has gained, which moves walkers from low hills to
high ones. The chain then starts from one of them. Every step counts as burn-in.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from didact.errors import InvalidParameter
from didact.learners.chains import Chain
from didact.numerics.exact import Floats

WALKERS = 8
POWERS = 20
FEWEST_MOVES = 2
"""Steps of each walker at each power; with less to spend there are fewer powers and walkers."""

MOST_DRAWS = 1000
"""Draws from the prior until one has a density above 0."""

FIRST_STEP = 0.3
"""The step size that adaptation begins with where nothing is known."""

STUCK = 10.0
"""A chain is stuck when its best log density is so many nats below another one's."""


def find_start(chain: Chain, rng: np.random.Generator, n_steps: int) -> Iterator[int]:
    """Leave the chain at a start, after about `n_steps` steps; yields how many, block by block.

    With no steps to spend the start is a draw from the prior.
    """
    walkers = max(1, min(WALKERS, n_steps // (4 * FEWEST_MOVES)))
    powers = max(1, min(POWERS, n_steps // (walkers * FEWEST_MOVES)))
    moves = (n_steps - walkers) // (walkers * powers)
    places, densities = _draws(chain, rng, walkers)
    if moves < 1:
        chain.put_back(places[0], *densities[0])
        return
    chain.count_steps(walkers)
    yield walkers
    chain.step_size = FIRST_STEP
    chain.move_by(chain.target.default_proposal)
    last = 0.0
    for power in _ladder(densities[:, 0], powers):
        chosen = _resampled((power - last) * densities[:, 0], rng)
        places, densities, last = places[chosen], densities[chosen], power
        for i in range(walkers):
            chain.put_back(places[i], *densities[i])
            left = moves
            while left:
                n = min(left, chain.block_size)
                chain.advance(n, np.full(n, power), adapting=True)
                left -= n
                yield n
            places[i], densities[i] = chain.weights, chain.log_densities
    total = densities.sum(axis=1)
    near = np.flatnonzero(total >= total.max() - STUCK)
    i = int(near[rng.integers(near.size)])
    chain.put_back(places[i], *densities[i])
    chain.move_by(chain.target.proposal)


def _draws(chain: Chain, rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """n draws from the prior (n, k) and their log likelihoods and priors (n, 2)."""
    prior, k = chain.target.prior, chain.target.k
    places, densities = np.zeros((n, k)), np.zeros((n, 2))
    found = tried = 0
    while found < n and (tried < MOST_DRAWS or not found):
        if tried == MOST_DRAWS:
            raise InvalidParameter(
                f"the density is 0 at all of {MOST_DRAWS} draws from prior {prior.name!r}; "
                "give start, weights at which log_prior is finite"
            )
        tried += 1
        weights = prior.draw(rng, 1, k)[0]
        if chain.place(weights) > -math.inf:
            places[found], densities[found] = weights, chain.log_densities
            found += 1
    for i in range(found, n):
        places[i], densities[i] = places[i % found], densities[i % found]
    return places, densities


def _ladder(likelihoods: Floats, n: int) -> Floats:
    """Powers up to 1: at the first, draws from the prior differ by about one nat."""
    spread = float(likelihoods.std())
    return np.geomspace(min(1.0, 1.0 / spread) if spread > 0.0 else 1.0, 1.0, n)


def _resampled(log_weights: Floats, rng: np.random.Generator) -> Floats:
    """Numbers of walkers, each about as often as its weight says, by one random comb."""
    weights = np.exp(log_weights - log_weights.max())
    edges = np.cumsum(weights / weights.sum())
    comb = (np.arange(weights.size) + rng.random()) / weights.size
    return np.minimum(np.searchsorted(edges, comb), weights.size - 1)
