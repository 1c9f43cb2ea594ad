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
from didact.inputs import is_number, shown, whole_number
from didact.learners.belief import Belief
from didact.learners.certificate import as_confidence, certify
from didact.learners.chains.metropolis import Chain, Extra, Target, is_worth_compiling
from didact.learners.chains.models import scorer_of
from didact.learners.chains.modes import Modes, missed_notes
from didact.learners.chains.priors import as_prior, as_proposal
from didact.learners.chains.starts import STUCK, StartSearch, spread_over_modes
from didact.learners.chains.threads import as_threads, run_all, told
from didact.learners.evidence import Evidence
from didact.numerics.exact import Floats

RunPhases = Callable[[Iterable[Sequence[Iterator[int]]], int], None]

LOOKED_AT = 5_000
"""Draws of a chain that are looked at to see in which modes it has been, at most twice as many."""

SEARCH = 0.75
"""The share of burn-in that is spent on finding a start where none is given."""

STEP_SIZE = 0.05
"""The step size that adaptation begins with; kept where there is no burn-in to adapt in."""

MOST_BYTES = 4_000_000_000
"""Draws may not take more memory than that."""


def birl(
    evidence: Evidence,
    rng: np.random.Generator,
    *,
    confidence: float = 100.0,
    n_steps: int = 10_000,
    step_size: float | None = None,
    n_chains: int = 4,
    burn_in: int | None = None,
    thin: int = 1,
    prior: Any = "l2-sphere",
    proposal: str | None = None,
    log_prior: Any = None,
    start: Any = None,
    threads: int | None = None,
    progress: Any = None,
) -> Belief:
    """Draws from the posterior of the weights given demonstrations.

    confidence: what values are multiplied by, from 0 (the prior) on. n_steps: steps of each chain,
    burn_in included (a fifth of them by default); every thin-th after it is kept. step_size: by
    default adapted during burn-in, then frozen. prior: 'l2-sphere', 'l1-sphere', 'box',
    'gaussian', or a log density on R^k; log_prior tilts a named one. proposal: a move that fits
    the prior. start: weights (k,) or (n_chains, k); by default each chain looks for one. The draws
    depend on the generator alone, not on `threads`. progress: True, or a function (done, total).
    """
    return sample_posterior(
        evidence,
        rng,
        confidence=confidence,
        n_steps=n_steps,
        step_size=step_size,
        n_chains=n_chains,
        burn_in=burn_in,
        thin=thin,
        prior=prior,
        proposal=proposal,
        log_prior=log_prior,
        start=start,
        threads=threads,
        progress=progress,
    )


def sample_posterior(
    evidence: Evidence,
    rng: np.random.Generator,
    *,
    extra: Extra | None = None,
    learner: str = "birl",
    confidence: float = 100.0,
    n_steps: int = 10_000,
    step_size: float | None = None,
    n_chains: int = 4,
    burn_in: int | None = None,
    thin: int = 1,
    prior: Any = "l2-sphere",
    proposal: str | None = None,
    log_prior: Any = None,
    start: Any = None,
    threads: int | None = None,
    progress: Any = None,
) -> Belief:
    """What `birl` does, with a term more: extra(weights (k,), action values (S, A)) -> float.

    It is added to the log likelihood of each proposal; without it nothing changes.
    """
    confidence = as_confidence(confidence)
    lengths = as_lengths(n_steps, n_chains, burn_in, thin, evidence.mdp.n_features)
    step = None if step_size is None else as_step_size(step_size)
    chosen, tilt = as_prior(prior, log_prior)
    move = as_proposal(chosen, proposal)
    if move == "lattice" and step is None:
        raise InvalidParameter(
            "proposal 'lattice' needs step_size: its chains stay whole steps away from their start"
        )
    starts = None if start is None else as_starts(start, n_chains, evidence.mdp.n_features)
    starts = None if starts is None else chosen.placed(starts)
    scorer = scorer_of(evidence)
    target = Target(
        evidence,
        confidence,
        scorer,
        chosen,
        chosen.kind(move, evidence.mdp.n_features),
        tilt,
        extra,
        is_worth_compiling(scorer, lengths.n_steps * lengths.n_chains),
    )
    workers = 1 if target.is_stepwise or not target.compiled else as_threads(threads, n_chains)
    group = _Group.of(target, lengths, step, rng)
    chains = group.chains
    with told(progress, learner) as tell:
        run_phases = partial(run_all, threads=workers, progress=tell)
        if starts is None:
            notes = group.run(lengths, run_phases)
        else:
            notes = group.run_from(starts, lengths, run_phases)
    settings = {
        "n_steps": lengths.n_steps,
        "burn_in": lengths.burn_in,
        "thin": lengths.thin,
        "n_chains": lengths.n_chains,
        "prior": chosen.name,
        "proposal": move,
        "log_prior": None if tilt is None else "given",
        "start": None if starts is None else starts.tolist(),
        "step_size": step,
        "step_sizes": [chain.step_size for chain in chains],
        "method": scorer.method,
    }
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


@dataclass(frozen=True)
class Lengths:
    """How many chains, how many steps of each, how many of those are dropped and kept."""

    n_steps: int
    n_chains: int
    burn_in: int
    thin: int

    @property
    def n_draws(self) -> int:
        """Draws kept of each chain."""
        return (self.n_steps - self.burn_in) // self.thin


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


def as_lengths(n_steps: Any, n_chains: Any, burn_in: Any, thin: Any, k: int) -> Lengths:
    """Steps, chains, burn-in and thinning that leave at least one draw, and not too many."""
    steps = whole_number(n_steps, "n_steps", 1)
    lengths = Lengths(
        steps,
        whole_number(n_chains, "n_chains", 1),
        steps // 5 if burn_in is None else whole_number(burn_in, "burn_in", 0),
        whole_number(thin, "thin", 1),
    )
    if lengths.burn_in >= lengths.n_steps:
        raise InvalidParameter(
            f"burn_in must be less than n_steps, {lengths.n_steps}; it is {lengths.burn_in}"
        )
    if lengths.n_draws < 1:
        raise InvalidParameter(
            f"thin must be at most the {lengths.n_steps - lengths.burn_in} steps after burn-in; "
            f"it is {lengths.thin}"
        )
    size = 8 * lengths.n_chains * lengths.n_draws * (k + 1)
    if size > MOST_BYTES:
        raise InvalidParameter(
            f"the draws would take {size / 1e9:.3g} GB, more than {MOST_BYTES / 1e9:.3g}; "
            "use a larger thin"
        )
    return lengths


def as_step_size(given: Any) -> float:
    """A positive finite number."""
    if not is_number(given) or not math.isfinite(given) or not given > 0:
        raise InvalidParameter(f"step_size must be a finite number above 0; it is {shown(given)}")
    return float(given)


def as_starts(given: Any, n_chains: int, k: int) -> Floats:
    """Starts (n_chains, k); one (k,) is for all chains."""
    try:
        starts = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(f"start must be numbers; it is {shown(given)}") from None
    if starts.shape not in ((k,), (n_chains, k)):
        raise InvalidParameter(
            f"start must have the shape ({k},) or ({n_chains}, {k}); the shape is {starts.shape}"
        )
    if not np.isfinite(starts).all():
        raise InvalidParameter("start must be finite numbers; one is not")
    return np.broadcast_to(starts, (n_chains, k)).copy()


def _spawned(rng: Any, n: int) -> list[np.random.Generator]:
    try:
        children: list[np.random.Generator] = rng.spawn(n)
    except (AttributeError, TypeError):
        raise InvalidParameter(
            "rng must be a numpy Generator that can spawn others, such as default_rng(0); "
            f"it is {shown(rng)}"
        ) from None
    return children
