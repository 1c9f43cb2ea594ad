"""Bayesian IRL: draws from the posterior of reward weights, by Metropolis chains.

P(w | D) is proportional to prior(w) * product over shown pairs of
exp(confidence Q*_w(s, a)) / sum_b exp(confidence Q*_w(s, b)), with the exact optimal values of each
proposed w: the density is a function of the weights alone, whatever the chain did before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from didact.errors import InvalidParameter
from didact.inputs import shown
from didact.learners.belief import Belief
from didact.learners.certificate import certify
from didact.learners.chains.metropolis import Chain, Extra, Target, is_worth_compiling
from didact.learners.chains.models import scorer_of
from didact.learners.chains.modes import Modes, missed_notes
from didact.learners.chains.options import ChainOptions, Lengths, Sampling
from didact.learners.chains.starts import STUCK, StartSearch, spread_over_modes
from didact.learners.chains.threads import as_threads, run_all, told
from didact.learners.evidence import Evidence
from didact.numerics.exact import Floats
from didact.registry import passing_on

RunPhases = Callable[[Iterable[Sequence[Iterator[int]]], int], None]

LOOKED_AT = 5_000
"""Draws of a chain that are looked at to see in which modes it has been, at most twice as many."""

SEARCH = 0.75
"""The share of burn-in that is spent on finding a start where none is given."""

STEP_SIZE = 0.05
"""The step size that adaptation begins with; kept where there is no burn-in to adapt in."""


@passing_on(ChainOptions)
def birl(evidence: Evidence, rng: np.random.Generator, **options: Any) -> Belief:
    """Draws from the posterior of the weights given demonstrations; options: see `ChainOptions`."""
    return sample_posterior(evidence, rng, ChainOptions(**options))


def sample_posterior(
    evidence: Evidence,
    rng: np.random.Generator,
    options: ChainOptions,
    *,
    extra: Extra | None = None,
    learner: str = "birl",
) -> Belief:
    """What `birl` does, with a term more: extra(weights (k,), action values (S, A)) -> float.

    It is added to the log likelihood of each proposal; without it nothing changes.
    """
    sampling = Sampling.of(options, evidence.mdp.n_features)
    lengths, starts = sampling.lengths, sampling.starts
    target = _target(evidence, sampling, extra)
    one_by_one = target.is_stepwise or not target.compiled
    workers = 1 if one_by_one else as_threads(options.threads, lengths.n_chains)
    group = _Group.of(target, lengths, sampling.step, rng)
    with told(options.progress, learner) as tell:
        run_phases = partial(run_all, threads=workers, progress=tell)
        if starts is None:
            notes = group.run(lengths, run_phases)
        else:
            notes = group.run_from(starts, lengths, run_phases)
    settings = {
        **sampling.settings(),
        "step_sizes": [chain.step_size for chain in group.chains],
        "method": target.scorer.method,
    }
    return _belief(group.chains, target, learner, settings, notes)


def _target(evidence: Evidence, sampling: Sampling, extra: Extra | None) -> Target:
    """The posterior to sample, in compiled kernels where there are steps enough."""
    scorer = scorer_of(evidence)
    n_steps = sampling.lengths.n_steps * sampling.lengths.n_chains
    return Target(
        evidence,
        sampling.confidence,
        scorer,
        sampling.prior,
        sampling.prior.kind(sampling.proposal, evidence.mdp.n_features),
        sampling.tilt,
        extra,
        is_worth_compiling(scorer, n_steps),
    )


def _belief(
    chains: list[Chain],
    target: Target,
    learner: str,
    settings: dict[str, Any],
    notes: tuple[str, ...],
) -> Belief:
    """What the chains have drawn, with the best weights that any of them saw."""
    evidence, confidence = target.evidence, target.confidence
    best = max(chains, key=lambda chain: chain.best)
    return Belief(
        evidence.mdp,
        learner,
        evidence.demonstrations,
        np.array([chain.samples for chain in chains]),
        np.array([chain.densities for chain in chains]),
        best.best_weights,
        best.best,
        np.array([chain.best for chain in chains]),
        np.array([chain.acceptance for chain in chains]),
        confidence,
        certify(evidence, best.best_weights, confidence),
        settings,
        notes,
    )


@dataclass(frozen=True, eq=False)
class _Group:
    """Chains, their walks after burn-in has begun, a search for each, and one that looks around."""

    chains: list[Chain]
    walks: list[Iterator[int]]
    searches: list[StartSearch]
    scout: StartSearch

    @classmethod
    def of(
        cls, target: Target, lengths: Lengths, step: float | None, rng: np.random.Generator
    ) -> _Group:
        *generators, last = _spawned(rng, lengths.n_chains + 1)
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


def _spawned(rng: Any, n: int) -> list[np.random.Generator]:
    try:
        children: list[np.random.Generator] = rng.spawn(n)
    except (AttributeError, TypeError):
        raise InvalidParameter(
            "rng must be a numpy Generator that can spawn others, such as default_rng(0); "
            f"it is {shown(rng)}"
        ) from None
    return children
