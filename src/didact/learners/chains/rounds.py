"""The mixture sampler: warmup, then rounds of jumps and walks until the draws have mixed.

1. Warmup: each chain searches for local maxima from draws from the prior, and has a tempered
   population. Where the best densities that two of them saw lie DISAGREE nats apart, one has
   missed a mode: all look again, twice as hard.
2. The maxima of all are put together. A mode, separated from others by low density, gets a
   population that spreads over it from its maximum.
3. A mixture is fitted to all populations and refined, or particles move by it (see `smc`).
4. Rounds, each at least twice as long and fitted to the one before, until the stopping rule holds
   or `max_likelihoods` are computed. Before a round the mixture is frozen, so that given all that
   came before the kernel of the round is fixed and leaves the posterior as it is. Only the last
   round is returned.

Stopping rule: rank-normalised split R-hat at most WORST_R_HAT and effective sample size at least
MIN_EFFECTIVE for every weight, the log density, and what people decide by: how much the most likely
weights' policy loses under each draw, and in how many states it acts wrongly. It cannot see a mode
that no search and no population found.

Generators are spawned by chain and by mode, so the draws do not depend on the threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from didact.learners.belief import Mode
from didact.learners.chains.chain import Chain, Particles, Target, spread_out
from didact.learners.chains.kernels import BURN_IN, EVERY
from didact.learners.chains.modes import (
    LocalMaximum,
    Modes,
    StartSearch,
    maxima_of_plane,
    missed_notes,
    modes_of_draws,
)
from didact.learners.chains.smc import (
    COMPONENTS,
    MixtureFit,
    MixtureSearch,
    Population,
    fitted,
    moves_by,
)
from didact.learners.diagnostics import bulk_ess, named_feature, rank_r_hat
from didact.mdp import MDP
from didact.numerics.exact import Floats
from didact.planning import float_successor_features, solve
from didact.planning.batch import action_values_of, value_blocks, value_reach
from didact.planning.kernels import UNIT

Run = Iterator[int]
"""A chain on its way: yields how many likelihood evaluations it has made since it last did."""

PARTICLES = 128
"""Of each chain's tempered population, or 6 for each dimension."""

PLANS = 400
"""Plans that each chain's searches may take: nine searches of each of four chains. Five times as
many found the same modes in 38 models with contradictory demonstrations, in several times the
time."""

SPREADING = 64
"""Particles that spread from a maximum, or 4 for each dimension."""

POPULATED = 10.0
"""Maxima so many nats below the best one still get a population: wide modes may be heavy."""

DISAGREE = 5.0
"""Chains whose best log densities differ by more have not seen the same modes."""

MAX_DOUBLINGS = 2
"""So often the warmup looks again, each time twice as hard."""

MIN_POINTS = 10.0
"""Draws of a round are worth at least so many independent ones, for each dimension, to fit by."""

FIRST_EVERY = 4
"""In the first round every so many steps a draw is kept; twice as many or more in later ones."""

AIM, AGREEING, MAX_GROWTH = 800, 1.05, 4
"""A round aims at so many effective draws where R-hat was less than that before; it is at most so
many times as long as the one before."""

CELLS_TOLD = 10_000
"""In larger models, by pairs, modes are told apart by what lies half way between draws alone."""

LONGER = 1.25
"""The last round within `max_likelihoods` is at least so many times as long as the one before."""

KEPT = 1000
"""Draws kept of a chain."""

DROPPED = 0.1
"""The share of a round that is dropped before draws are kept."""

BLOCK_NUMBERS = 2**16
"""Random numbers drawn at a time."""

WORST_R_HAT = 1.01
"""Chains may stop when no R-hat is larger."""

MIN_EFFECTIVE = 400
"""They may stop when everything has at least so many effective draws."""


@dataclass(frozen=True)
class Mixing:
    """The worst R-hat and the fewest effective draws, and what they are of."""

    r_hat: float
    r_hat_of: str
    ess: float
    ess_of: str

    @property
    def is_enough(self) -> bool:
        """Whether the draws can pass for the posterior."""
        return self.r_hat <= WORST_R_HAT and self.ess >= MIN_EFFECTIVE

    def __str__(self) -> str:
        return f"R-hat {self.r_hat:.3f} ({self.r_hat_of}), ESS {self.ess:.0f} ({self.ess_of})"


def mixing_of(target: Target, samples: Floats, densities: Floats, best: Floats) -> Mixing:
    """How well chains have mixed; best (k,): the weights whose policy is judged by the draws."""
    mdp = target.evidence.mdp
    columns = {named_feature(mdp, j): samples[:, :, j] for j in range(samples.shape[2])}
    columns["the log density"] = densities
    columns["the loss"], columns["wrong actions"] = decisions(target, samples, best)
    names = list(columns)
    table = np.stack(list(columns.values()), axis=2)
    r_hat, ess = rank_r_hat(table), bulk_ess(table)
    constant = np.isnan(r_hat)
    worst = np.where(constant, 1.0, r_hat)
    high, low = int(worst.argmax()), int(ess.argmin())
    return Mixing(float(worst[high]), names[high], float(ess[low]), names[low])


def decisions(target: Target, samples: Floats, best: Floats) -> tuple[Floats, Floats]:
    """What the best weights' policy loses under each draw, and the share of states it is wrong in.

    Both (chains, draws). Losses and gaps below rounding are 0.
    """
    mdp = target.evidence.mdp
    n_chains, n_draws, k = samples.shape
    draws = samples.reshape(-1, k)
    policy = solve(mdp, best).policy
    start = mdp.start.floats @ float_successor_features(mdp, policy).states
    losses, wrong = np.empty((2, len(draws)))
    for first, values in value_blocks(mdp, draws):
        rows = slice(first, first + len(values))
        noise = 64 * UNIT / (1.0 - mdp.discount) * value_reach(mdp, draws[rows])
        gaps = values @ mdp.start.floats - draws[rows] @ start
        losses[rows] = np.where(gaps <= noise, 0.0, gaps)
        wrong[rows] = _wrong_actions(mdp, policy, draws[rows], values, noise)
    return losses.reshape(n_chains, n_draws), wrong.reshape(n_chains, n_draws)


def _wrong_actions(
    mdp: MDP, policy: Floats, draws: Floats, values: Floats, noise: Floats
) -> Floats:
    """The share of the policy's actions, over states that go on, that a draw holds not optimal.

    Only what the policy does is looked at: an action is optimal if it is worth the optimal value.
    """
    alive = np.flatnonzero(~mdp.terminal)
    states, actions = np.nonzero(policy[alive])
    states = alive[states]
    rows = states * mdp.n_actions + actions
    following = mdp.transitions.matrix()[rows] @ values.T
    paid = mdp.features.floats.reshape(-1, mdp.n_features)
    paid = paid[rows if paid.shape[0] > mdp.n_states else states] @ draws.T
    is_wrong = paid + mdp.discount * following < values.T[states] - noise
    return np.asarray(policy[states, actions] @ is_wrong / max(1, alive.size))


def warning_of(mixing: Mixing, max_likelihoods: int) -> str:
    """What a reader must know when the likelihoods ended first, and what to do."""
    worst = "infinite" if mixing.r_hat == math.inf else f"{mixing.r_hat:.2f}"
    return (
        f"{max_likelihoods} likelihoods were computed before the chains had mixed: R-hat "
        f"{worst} for {mixing.r_hat_of}, at most {WORST_R_HAT} is wanted, and the draws are worth "
        f"{mixing.ess:.0f} independent ones for {mixing.ess_of}, at least {MIN_EFFECTIVE} are "
        "wanted; give a larger max_likelihoods, or a smaller confidence"
    )


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
    warmup before it. acceptance: of the last round.
    """

    target: Target
    place: Floats
    rng: np.random.Generator
    best: float
    best_weights: Floats
    samples: Floats = field(init=False)
    densities: Floats = field(init=False)
    acceptance: float = math.nan

    def run(self, fit: MixtureFit, every: int) -> Iterator[int]:
        """A round by a frozen fit; yields the steps taken."""
        particles = Particles(self.target, self.place[None], n_kept=KEPT)
        n = left = steps_of_a_round(every)
        counters = particles.points.counters
        counters[EVERY], counters[BURN_IN] = every, n - KEPT * every
        size = max(1, BLOCK_NUMBERS // self.target.k)
        while left:
            block = min(left, size)
            particles.advance(fit.proposal, moves_by(fit, particles.kind, block, self.rng))
            left -= block
            yield block
        self.place = particles.places[0].copy()
        self.samples = particles.samples
        self.densities = particles.points.densities
        self.acceptance = particles.n_accepted / n
        if particles.best > self.best:
            self.best, self.best_weights = particles.best, particles.points.best.copy()


class _Warmup:
    """One chain's own warmup: searches for local maxima, and a tempered population."""

    def __init__(self, target: Target, generators: Sequence[np.random.Generator], number: int):
        searching, self.rng = generators
        origin, own = searching.spawn(2)
        self.scout = Chain(target, own)
        self.search = StartSearch(
            *(target.evidence, target.confidence, target.prior, self.scout.place, origin),
            number=number,
        )
        self.population = Population(target, self.rng)

    def run(self, n_plans: int, n_particles: int) -> Run:
        """Search, then temper; yields likelihood evaluations."""
        yield from self.search.run(n_plans)
        yield from self.population.temper(n_particles)

    @property
    def maxima(self) -> list[LocalMaximum]:
        """Where searches ended, where there is a density."""
        return [found for found in self.search.maxima if found.density > -math.inf]

    @property
    def best(self) -> float:
        """The best log density that it saw."""
        return max(self.scout.best, self.population.particles.best)

    def chain_at(self, place: Floats) -> RoundChain:
        """A chain that starts at a place (k,) and knows the best weights seen so far."""
        self.scout.place(self.population.particles.points.best)
        best = self.scout.best_weights.copy()
        return RoundChain(self.population.target, place, self.rng, self.scout.best, best)


@dataclass(eq=False)
class SamplerRun:
    """One run of the sampler: draws, and likelihood evaluations so far.

    phases() yields groups of runs to be exhausted; then the rest can be read. n_warmups: how often
    the warmup ran. gap: nats between the best densities of two chains in it, at most. high: the
    modes nearly as high as the best.
    """

    target: Target
    rng: np.random.Generator
    n_chains: int
    max_likelihoods: int
    chains: list[RoundChain] = field(default_factory=list)
    fit: MixtureFit | None = None
    mixing: Mixing | None = None
    n_used: int = 0
    n_particles: int = 0
    n_rounds: int = 0
    n_warmups: int = 0
    gap: float = 0.0
    high: Modes | None = None

    def phases(self) -> Iterator[Sequence[Run]]:
        """Warmup, populations of modes, rounds: groups of runs, one after the other."""
        *own, last = self.rng.spawn(self.n_chains + 1)
        warmups: list[_Warmup] = []
        for doubling in range(MAX_DOUBLINGS + 1):
            warmups = [_Warmup(self.target, rng.spawn(2), i) for i, rng in enumerate(own)]
            self.n_particles = 2**doubling * max(PARTICLES, 6 * self.target.k)
            yield from self._counted(
                [warmup.run(2**doubling * PLANS, self.n_particles) for warmup in warmups]
            )
            self.n_warmups += 1
            gap = float(np.ptp([warmup.best for warmup in warmups]))
            self.gap = max(self.gap, gap)
            if gap <= DISAGREE or 4 * self.n_used > self.max_likelihoods:
                break
        tops = self._tops([maximum for warmup in warmups for maximum in warmup.maxima], last)
        n = max(SPREADING, 4 * self.target.k)
        spreading = [Population(self.target, rng) for rng in last.spawn(len(tops))]
        yield from self._counted(
            [each.spread(top, n) for each, top in zip(spreading, tops, strict=True)]
        )
        populations = [*spreading, *(warmup.population for warmup in warmups)]
        search = MixtureSearch(self.target, populations, last)
        for runs in search.phases(len(tops)):
            yield from self._counted(runs)
        self.n_used += search.n_scored
        self.fit = search.fit
        self.chains = [warmup.chain_at(search.picked(warmup.rng)) for warmup in warmups]
        yield from self._rounds(last)

    def _tops(self, maxima: list[LocalMaximum], rng: np.random.Generator) -> list[Floats]:
        """The highest maximum of each mode, (k,)."""
        scout = Chain(self.target, rng)
        if self.target.k == 2 and not self.target.evidence.is_empty:
            # One angle can be looked through; searches from random places miss narrow modes.
            found = maxima_of_plane(self.target.prior, scout.densities_of, self._cells_of)
            maxima = [m for m in found if m.density > -math.inf] or maxima
        modes = Modes.among(maxima, self.target.prior, scout.densities_of, near=POPULATED)
        self.high = Modes.among(maxima, self.target.prior, scout.densities_of)
        return [mode[0].weights for mode in modes.members]

    def _not_mixed(self) -> str | None:
        """Why the draws cannot pass for the posterior: the stop rule, or modes without draws."""
        assert self.mixing is not None
        if not self.mixing.is_enough:
            return warning_of(self.mixing, self.max_likelihoods)
        draws = np.concatenate([chain.samples for chain in self.chains])
        n_missed = 0 if self.high is None else self.high.n_missed(draws)
        return missed_notes(n_missed)[0] if n_missed else None

    def in_short(self) -> str:
        """Likelihood evaluations, R-hat and effective draws so far, for those who wait."""
        used = f"{self.n_used:,} likelihoods"
        return used if self.mixing is None else f"{used}, {self.mixing}"

    def settings(self) -> dict[str, Any]:
        """What a belief tells of how its draws were made."""
        assert self.mixing is not None
        note = f"the chains' warmups differed by {self.gap:.0f} nats and were run again"
        return {
            "n_likelihoods": self.n_used,
            "n_particles": self.n_particles,
            "n_rounds": self.n_rounds,
            "warmup": note if self.n_warmups > 1 else None,
            "r_hat": self.mixing.r_hat if math.isfinite(self.mixing.r_hat) else None,
            "ess": self.mixing.ess,
            "not_mixed": self._not_mixed(),
        }

    def shares(self) -> tuple[Mode, ...]:
        """The modes of the draws, which valleys part, with the share of the draws on each."""
        samples = np.concatenate([chain.samples for chain in self.chains])
        densities = np.concatenate([chain.densities for chain in self.chains])
        scout = Chain(self.target, self.rng)
        where = (self.target.prior, scout.densities_of, self._cells_of)
        mode = modes_of_draws(samples, densities, *where)
        own = [mode == number for number in range(int(mode.max()) + 1)]
        found = [Mode(float(mask.mean()), samples[mask].mean(axis=0)) for mask in own]
        return tuple(sorted(found, key=lambda mode: -mode.share))

    def _cells_of(self, weights: Floats) -> Floats:
        """What tells policy cells apart, (n, S): the first best action of each state."""
        mdp = self.target.evidence.mdp
        if mdp.n_states * mdp.n_actions > CELLS_TOLD:
            return np.zeros((len(weights), 1))
        return np.asarray(action_values_of(mdp, weights).argmax(axis=2))

    def _rounds(self, rng: np.random.Generator) -> Iterator[Sequence[Run]]:
        every = max(1, min(FIRST_EVERY, self._affordable()))
        while self.fit is not None:
            fit = self.fit
            yield from self._counted([chain.run(fit, every) for chain in self.chains])
            self.n_rounds += 1
            samples = np.array([chain.samples for chain in self.chains])
            densities = np.array([chain.densities for chain in self.chains])
            best = max(self.chains, key=lambda chain: chain.best).best_weights
            self.mixing = mixing_of(self.target, samples, densities, best)
            longer = min(self._affordable(), every * growth_after(self.mixing))
            if self.mixing.is_enough or longer < LONGER * every:
                return
            every = longer
            draws = samples.reshape(-1, self.target.k)
            points = spread_out(self.target.kind, draws, rng)
            n_components = max(COMPONENTS, len(fit.shares))
            shares = np.full(len(points), 1.0 / len(points))
            worth = max(self.mixing.ess, MIN_POINTS * self.target.k)
            self.fit = fitted(points, shares, rng, n_components, worth=worth)

    def _affordable(self) -> int:
        """Steps for each draw that a round can take within `max_likelihoods`."""
        return every_within((self.max_likelihoods - self.n_used) // self.n_chains)

    def _counted(self, runs: list[Run]) -> Iterator[Sequence[Run]]:
        """The runs as one group, if there are any; what they took is added up when all ended."""
        taken = [0] * len(runs)

        def count(number: int) -> Run:
            for steps in runs[number]:
                taken[number] += steps
                yield steps

        if runs:
            yield [count(number) for number in range(len(runs))]
        self.n_used += sum(taken)


def growth_after(mixing: Mixing) -> int:
    """How much longer the next round shall be: as effective draws say, where chains agree."""
    growth = 2
    while growth < MAX_GROWTH and mixing.r_hat < AGREEING and growth * mixing.ess < AIM:
        growth *= 2
    return growth
