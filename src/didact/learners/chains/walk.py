"""Where chains start, and walking chains: each looks for a start, adapts its step size, walks on.

The likelihood has separate modes, and a chain that begins in a low one stays there. So many draws
from the prior ascend a little at a fraction of the confidence, where modes are wide, and the more
promising ones go on at the full confidence. The chain starts from one of the highest, and where
the searches of all chains found several modes, chains start in different ones. The searches need
not be exact, and need not know the prior: any start is right, and each plan of a search counts as a
step of burn-in.

A walk is simple, and slow to mix: a step must fit the narrowest direction of the posterior. The
published experiments use such a chain; everyone else is better served by `rounds`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from didact.errors import InvalidParameter, NotConverged
from didact.learners.ascent import ascend_on_sphere
from didact.learners.chains.chain import Chain, Target
from didact.learners.chains.modes import NEAR, LocalMaximum, Modes, missed_notes
from didact.learners.chains.options import Lengths, Prior
from didact.learners.likelihood import Likelihood, ShownFeatures
from didact.numerics.exact import Floats
from didact.planning.solve import DENSE_STATES

RunPhases = Callable[[Iterable[Sequence[Iterator[int]]], int], None]

SOFTER = 0.1
"""The share of the confidence at which searches begin."""

FIRST_PLANS, MORE_PLANS = 20, 50
"""Plans that a search may take at that, and then at the full confidence."""

GOING_ON = 0.4
"""The share of searches that go on."""

COSTLY, VERY_COSTLY = 5, 20
"""So many steps take as long as a plan with its gradient on small and large stochastic models."""

MAX_DRAWS = 1000
"""Draws from the prior until one has a density above 0."""

STUCK = 10.0
"""A chain is stuck when its best log density is so many nats below another one's."""

LOOKED_AT = 5_000
"""Draws of a chain that are looked at to see in which modes it has been, at most twice as many."""

SEARCH = 0.75
"""The share of burn-in that is spent on finding a start where none is given."""

STEP_SIZE = 0.05
"""The step size that adaptation begins with; kept where there is no burn-in to adapt in."""


class StartSearch:
    """Ascents for one chain, the local maxima that they led to, and how many plans they took."""

    def __init__(self, chain: Chain, rng: np.random.Generator, number: int = 0):
        target = chain.target
        mdp = target.evidence.mdp
        self.chain = chain
        self.rng = rng
        self.number = number
        self.features = ShownFeatures(target.evidence)
        self.softer = Likelihood(target.evidence, SOFTER * target.confidence, self.features)
        self.function = Likelihood(target.evidence, target.confidence, self.features)
        self.has_gradients = target.confidence > 0.0 and not target.evidence.is_empty
        self.cost = 1
        if not mdp.is_deterministic():
            self.cost = COSTLY if mdp.n_states <= DENSE_STATES else VERY_COSTLY
        self.maxima: list[LocalMaximum] = []
        self._counted = 0

    def run(self, n_steps: int) -> Iterator[int]:
        """Leave the chain at a start after about `n_steps` steps' worth of plans; yields them.

        Without enough of them for one search, or without evidence, it is a draw from the prior.
        """
        n_plans = n_steps // self.cost
        n_starts = n_plans // (FIRST_PLANS + 1 + math.ceil(GOING_ON * MORE_PLANS))
        if n_starts < 1 or not self.has_gradients:
            self.draw()
            return
        begun = []
        for _ in range(n_starts):
            begun.append(self._begin())
            yield self._spent()
        begun.sort(key=lambda found: -found[1])
        for weights, _ in begun[: max(1, round(GOING_ON * n_starts))]:
            left = n_plans - self.features.n_solves
            if left < 1 and self.maxima:
                break
            self.maxima.append(self._end(weights, min(MORE_PLANS, max(1, left))))
            yield self._spent()
        self._choose()

    def _choose(self) -> None:
        """Put the chain on one of the highest maxima."""
        best = max(found.density for found in self.maxima)
        near = [found for found in self.maxima if found.density >= best - NEAR]
        if best > -math.inf:
            self.chain.place(near[self.rng.integers(len(near))].weights)
        else:
            self.draw()

    def _spent(self) -> int:
        """Plans since the last time, as steps; the chain counts them too."""
        steps = self.cost * (self.features.n_solves - self._counted)
        self._counted = self.features.n_solves
        self.chain.count_steps(steps)
        return steps

    def draw(self) -> Floats:
        """Put the chain on a draw from the prior whose density is above 0."""
        prior, k = self.chain.target.prior, self.chain.target.k
        for _ in range(MAX_DRAWS):
            weights: Floats = prior.draw(self.rng, 1, k)[0]
            if self.chain.place(weights) > -math.inf:
                return weights
        raise without_density(prior)

    def _begin(self) -> tuple[Floats, float]:
        """A first ascent from a draw, and how likely it makes the demonstrations."""
        weights = self.draw()
        try:
            weights, _ = ascend_on_sphere(self.softer, weights, FIRST_PLANS)
            return weights, self.function(weights)[0]
        except NotConverged:
            return weights, -math.inf

    def _end(self, weights: Floats, n_plans: int) -> LocalMaximum:
        """The ascent's end on the prior's support, and its log density with all that counts."""
        with suppress(NotConverged):
            weights, _ = ascend_on_sphere(self.function, weights, n_plans)
        weights = self.chain.target.prior.nearest(weights)
        return LocalMaximum(weights, self.chain.place(weights), self.number)


def without_density(prior: Prior) -> InvalidParameter:
    """The refusal of a log_prior that no draw from the prior finds."""
    return InvalidParameter(
        f"the density is 0 at all of {MAX_DRAWS} draws from prior {prior.name!r}; "
        "give start, weights at which log_prior is finite"
    )


def spread_over_modes(searches: Sequence[StartSearch], scout: Chain) -> Modes:
    """Put the chains of all searches in different modes; with one mode they stay where they are.

    scout: a chain that only looks at densities.
    """
    maxima = [m for search in searches for m in search.maxima if m.density > -math.inf]
    modes = Modes.among(maxima, scout.target.prior, scout.densities_of)
    for search in searches:
        start = modes.start_of(search.number)
        if start is not None and search.maxima:
            search.chain.place(start)
    return modes


@dataclass(frozen=True, eq=False)
class WalkGroup:
    """Chains, their walks after burn-in has begun, a search for each, and one that looks around."""

    chains: list[Chain]
    walks: list[Iterator[int]]
    searches: list[StartSearch]
    scout: StartSearch

    @classmethod
    def of(
        cls, target: Target, lengths: Lengths, step: float | None, rng: np.random.Generator
    ) -> WalkGroup:
        """Chains and searches with generators of their own."""
        *generators, last = rng.spawn(lengths.n_chains + 1)
        pairs = [generator.spawn(2) for generator in generators]
        sizes = {"n_draws": lengths.n_draws, "burn_in": lengths.burn_in, "thin": lengths.thin}
        chains = [Chain(target, own, **sizes) for _, own in pairs]
        searches = [StartSearch(chains[i], origin, i) for i, (origin, _) in enumerate(pairs)]
        origin, own = last.spawn(2)
        walks = [_walk(chain, lengths, step) for chain in chains]
        return cls(chains, walks, searches, StartSearch(Chain(target, own), origin))

    def run(self, lengths: Lengths, run_phases: RunPhases) -> tuple[str, ...]:
        """Let each chain look for a start, spread them over the modes, run; what is to be told."""
        modes: list[Modes] = []
        begun: list[Floats] = []

        def phases() -> Iterator[list[Iterator[int]]]:
            n_search = int(SEARCH * lengths.burn_in)
            yield [search.run(n_search) for search in self.searches]
            modes.append(spread_over_modes(self.searches, self.scout.chain))
            begun.extend(chain.weights.copy() for chain in self.chains)
            yield self.walks

        run_phases(phases(), lengths.n_chains * lengths.n_steps)
        notes = stuck_notes([chain.best for chain in self.chains], -math.inf)
        return notes + missed_notes(modes[0].n_missed(self._visited(np.array(begun))))

    def run_from(self, starts: Floats, lengths: Lengths, run_phases: RunPhases) -> tuple[str, ...]:
        """Run from given starts while a short search looks around; what is to be told."""
        for chain, start in zip(self.chains, starts, strict=True):
            if chain.place(start) == -math.inf:
                at = f"{start.tolist()!r:.80}"
                raise InvalidParameter(
                    f"start must have a density above 0; log_prior is -inf at {at}"
                )
        total, n_search = lengths.n_chains * lengths.n_steps, int(SEARCH * (lengths.n_steps // 5))
        if n_search < 1:
            run_phases([self.walks], total)
            return stuck_notes([chain.best for chain in self.chains], -math.inf)
        run_phases([[*self.walks, self.scout.run(n_search)]], total + n_search)
        notes = stuck_notes([chain.best for chain in self.chains], self.scout.chain.best)
        scout = self.scout.chain
        modes = Modes.among(self.scout.maxima, scout.target.prior, scout.densities_of)
        return notes + missed_notes(modes.n_missed(self._visited(starts)))

    def _visited(self, starts: Floats) -> Floats:
        """Where the chains began and what they drew, (n, k), a part of it where it is much."""
        drawn = [chain.samples[:: 1 + len(chain.samples) // LOOKED_AT] for chain in self.chains]
        return np.concatenate([starts, *drawn])


def _walk(chain: Chain, lengths: Lengths, step: float | None) -> Iterator[int]:
    """A chain from its start to its end, block by block; yields the steps of each."""
    chain.step_size = STEP_SIZE if step is None else step
    for until, adapting in ((lengths.burn_in, step is None), (lengths.n_steps, False)):
        while chain.n_steps < until:
            n = min(chain.block_size, until - chain.n_steps)
            chain.advance(n, adapting=adapting)
            yield n


def stuck_notes(best: list[float], rival: float) -> tuple[str, ...]:
    """One line for each chain whose best log density is more than STUCK nats below another's."""
    highest = int(np.argmax(best))
    notes = []
    for number, density in enumerate(best):
        other = f"chain {highest}'s"
        top = best[highest]
        if rival > top:
            top, other = rival, "that of weights which a short search found"
        if top - density > STUCK:
            notes.append(
                f"chain {number} is stuck: its best log density, {density:.1f}, is "
                f"{top - density:.0f} below {other}; its draws are not the posterior"
            )
    return tuple(notes)
