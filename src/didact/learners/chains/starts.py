"""Where chains start: summits of the likelihood, climbed to from draws from the prior.

The likelihood has separate hills, and a chain that begins on a low one stays there. So many draws
climb a little at a fraction of the confidence, where hills are wide, and the more promising ones
climb on at the full confidence. The chain starts from one of the highest, and where the searches of
all chains found several modes, chains start in different ones. The climbs need not be exact, and
need not know the prior: any start is right, and each plan of a climb counts as a step of burn-in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from didact.errors import InvalidParameter, NotConverged
from didact.learners.chains.compiled_bfgs import VALUE, Climb, climb_from, climbing_room
from didact.learners.chains.metropolis import Chain
from didact.learners.chains.models import shown_in
from didact.learners.chains.modes import NEAR, Modes, Summit
from didact.learners.chains.priors import Prior
from didact.learners.gradients import Likelihood, ShownFeatures
from didact.numerics.exact import Floats
from didact.numerics.quasi_newton import bfgs_update

SOFTER = 0.1
"""The share of the confidence at which climbs begin."""

FIRST_PLANS, MORE_PLANS = 20, 50
"""Plans that a climb may take at that, and then at the full confidence."""

GOING_ON = 0.4
"""The share of climbs that go on."""

COSTLY = 20
"""On large stochastic models a plan with its slope takes as long as so many steps."""

MOST_DRAWS = 1000
"""Draws from the prior until one has a density above 0."""

STUCK = 10.0
"""A chain is stuck when its best log density is so many nats below another one's."""


@dataclass(frozen=True, eq=False)
class _Climb:
    """Weights, and their log likelihood."""

    weights: Floats
    value: float


class StartSearch:
    """Climbs for one chain, what they led to, and how many plans they took."""

    def __init__(self, chain: Chain, rng: np.random.Generator, number: int = 0):
        target = chain.target
        self.chain = chain
        self.prior = target.prior
        self.rng = rng
        self.features = ShownFeatures(target.evidence)
        self.softer = Likelihood(target.evidence, SOFTER * target.confidence, self.features)
        self.function = Likelihood(target.evidence, target.confidence, self.features)
        self.has_slopes = target.confidence > 0.0 and not target.evidence.is_empty
        self.cost = COSTLY if target.scorer.climb is None else 1
        self._kernels = {
            function: _kernel_of(chain, function) for function in (self.softer, self.function)
        }
        self.n_plans = 0
        self.number = number
        self.summits: list[Summit] = []
        self._counted = 0

    def run(self, n_steps: int) -> Iterator[int]:
        """Leave the chain at a start after at most `n_steps` steps' worth of plans; yields them.

        Without enough of them for one climb, or without evidence, it is a draw from the prior.
        """
        n_climbs = n_steps // self.cost // (FIRST_PLANS + 1 + math.ceil(GOING_ON * MORE_PLANS))
        if n_climbs < 1 or not self.has_slopes:
            self.draw()
            return
        begun = []
        for _ in range(n_climbs):
            begun.append(self.begin())
            yield self.spent()
        begun.sort(key=lambda climb: -climb.value)
        left = n_steps // self.cost - self.planned
        for climb in begun[: max(1, round(GOING_ON * n_climbs))]:
            self.summits.append(self.end(climb, min(MORE_PLANS, max(1, left))))
            yield self.spent()
            left = n_steps // self.cost - self.planned
            if left < 1:
                break
        self._choose()

    def _choose(self) -> None:
        """Put the chain on one of the highest summits."""
        best = max(summit.density for summit in self.summits)
        near = [summit for summit in self.summits if summit.density >= best - NEAR]
        if best > -math.inf:
            self.chain.place(near[self.rng.integers(len(near))].weights)
        else:
            self.draw()

    @property
    def planned(self) -> int:
        """Plans so far."""
        return self.n_plans + self.features.n_solves

    def spent(self) -> int:
        """Plans since the last time, as steps; the chain counts them too."""
        steps = self.cost * (self.planned - self._counted)
        self._counted = self.planned
        self.chain.count_steps(steps)
        return steps

    def draw(self) -> Floats:
        """Put the chain on a draw from the prior whose density is above 0."""
        prior, k = self.chain.target.prior, self.chain.target.k
        for _ in range(MOST_DRAWS):
            weights: Floats = prior.draw(self.rng, 1, k)[0]
            if self.chain.place(weights) > -math.inf:
                return weights
        raise without_density(prior)

    def begin(self) -> _Climb:
        """A first climb from a draw, and how likely it makes the demonstrations."""
        weights = self.draw()
        try:
            weights = self.climb(self.softer, weights, FIRST_PLANS).weights
            return _Climb(weights, self.climb(self.function, weights, 1).value)
        except NotConverged:
            return _Climb(weights, -math.inf)

    def end(self, climb: _Climb, n_plans: int) -> Summit:
        """The climb's end on the prior's support, and its log density with all that counts."""
        with suppress(NotConverged):
            climb = self.climb(self.function, climb.weights, n_plans)
        weights = self.chain.target.prior.nearest(climb.weights)
        return Summit(weights, self.chain.place(weights), self.number)

    def climb(self, function: Likelihood, start: Floats, n_plans: int) -> _Climb:
        """As `climbed`, in a kernel where there is one for the model, whether compiled or not.

        Both ways of running it give the same bits; `climbed` adds up in another order.
        """
        kernel = self._kernels[function]
        if kernel is None:
            return climbed(function, start, n_plans)
        climb = climb_from(start)
        self.n_plans += kernel(n_plans, climb)
        return _Climb(climb.here, float(climb.numbers[VALUE]))


def _kernel_of(chain: Chain, function: Likelihood) -> Callable[[int, Climb], int] | None:
    """What climbs the function in so many plans, on the chain's model; None without a kernel."""
    target = chain.target
    if target.scorer.climb is None:
        return None
    shown = shown_in(target.evidence, function.confidence)
    problem = chain.problem._replace(shown=shown)
    room = climbing_room(target.evidence.mdp.n_states, shown.counts.size)
    kernel = target.function(target.scorer.climb)
    return lambda n_plans, climb: int(kernel(n_plans, problem, room, climb))


def climbed(function: Likelihood, start: Floats, n_plans: int) -> _Climb:
    """As high as so many evaluations lead on the sphere |w| = |start|: BFGS, with backtracking."""
    radius = math.sqrt(float(start @ start))
    here, (value, slope) = start, _on_sphere(function, start, radius)
    inverse: Floats | None = None
    caution = 1.0
    for _ in range(n_plans - 1):
        ahead = slope if inverse is None else inverse @ slope
        length, rise = math.sqrt(float(ahead @ ahead)), float(ahead @ slope)
        if not rise > 1e-9:
            break
        reach = caution * min(1.0, (0.1 if inverse is None else 0.5) * radius / length)
        there = here + reach * ahead
        after, next_slope = _on_sphere(function, there, radius)
        if after > value + 1e-4 * reach * rise:
            inverse = bfgs_update(inverse, there - here, slope - next_slope, 1e-12)
            shrink = radius / math.sqrt(float(there @ there))
            gain = after - value
            here, value, slope, caution = shrink * there, after, next_slope / shrink, 1.0
            if gain < 1e-6:
                break
        elif reach * length > 1e-7 * radius:
            caution *= 0.3
        elif inverse is not None:
            inverse, caution = None, 1.0
        else:
            break
    return _Climb(here, value)


def _on_sphere(function: Likelihood, point: Floats, radius: float) -> tuple[float, Floats]:
    """Value and slope of the function of radius * w / |w|, which is constant along rays."""
    length = math.sqrt(float(point @ point))
    unit = point / length
    value, slope = function(radius * unit)
    return value, (radius / length) * (slope - float(slope @ unit) * unit)


def without_density(prior: Prior) -> InvalidParameter:
    """The refusal of a log_prior that no draw from the prior finds."""
    return InvalidParameter(
        f"the density is 0 at all of {MOST_DRAWS} draws from prior {prior.name!r}; "
        "give start, weights at which log_prior is finite"
    )


def spread_over_modes(searches: Sequence[StartSearch], scout: Chain) -> Modes:
    """Put the chains of all searches in different modes; with one mode they stay where they are.

    scout: a chain that only looks at densities.
    """
    summits = [s for search in searches for s in search.summits if s.density > -math.inf]
    modes = Modes.among(summits, scout.target.prior, scout.place)
    for search in searches:
        start = modes.start_of(search.number)
        if start is not None and search.summits:
            search.chain.place(start)
    return modes
