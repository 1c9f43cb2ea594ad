"""Walking chains: each looks for a start, adapts its step size during burn-in, and walks on.

Simple, and slow to mix: a step must fit the narrowest direction of the posterior. The published
experiments use such a chain; everyone else is better served by `posterior`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from didact.errors import InvalidParameter
from didact.learners.chains.metropolis import Chain, Target
from didact.learners.chains.modes import Modes, missed_notes
from didact.learners.chains.options import Lengths
from didact.learners.chains.starts import STUCK, StartSearch, spread_over_modes
from didact.numerics.exact import Floats

RunPhases = Callable[[Iterable[Sequence[Iterator[int]]], int], None]

LOOKED_AT = 5_000
"""Draws of a chain that are looked at to see in which modes it has been, at most twice as many."""

SEARCH = 0.75
"""The share of burn-in that is spent on finding a start where none is given."""

STEP_SIZE = 0.05
"""The step size that adaptation begins with; kept where there is no burn-in to adapt in."""


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
        modes = Modes.among(self.scout.summits, self.scout.prior, self.scout.chain.place)
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
