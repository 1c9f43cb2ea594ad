"""The posterior by pilots and rounds: draws that have mixed, or a warning that they have not.

1. Each chain has a pilot of its own: climbs from draws from the prior to summits, and a tempered
   population. Where the best densities that two of them saw lie DISAGREE nats apart, somebody has
   missed a hill: all look again, twice as hard.
2. The summits of all are put together. A mode, parted from others by a valley, gets a population
   that spreads over it from its summit.
3. A mixture is fitted to all populations and refined, or they ripen by it (see `shaping`).
4. Rounds of jumps and walks (see `rounds`), each at least twice as long and fitted to the one
   before, until the stop rule holds (see `stopping`) or the budget ends.

Generators are spawned by chain and by mode, so the draws do not depend on the threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from didact.learners.belief import Mode
from didact.learners.chains.metropolis import Chain, Target
from didact.learners.chains.mixture import COMPONENTS, Fit, fitted
from didact.learners.chains.modes import (
    Modes,
    Summit,
    missed_notes,
    modes_of_draws,
    summits_of_plane,
)
from didact.learners.chains.particles import kind_of, spread_out
from didact.learners.chains.rounds import RoundChain, every_within
from didact.learners.chains.shaping import Shaping
from didact.learners.chains.starts import StartSearch
from didact.learners.chains.stopping import Mixing, mixing_of, warning_of
from didact.learners.chains.tempering import Population
from didact.learners.chains.threads import Run
from didact.numerics.exact import Floats
from didact.planning.batch import action_values_of

PARTICLES = 128
"""Of each pilot's tempered population, or 6 for each dimension."""

PLANS = 2000
"""Plans that each pilot's climbs may take."""

SETTLERS = 64
"""Particles that spread from a summit, or 4 for each dimension."""

LOOKED_AT = 10.0
"""Summits so many nats below the best one still get a population: wide hills may be heavy."""

DISAGREE = 5.0
"""Pilots whose best log densities differ by more have not seen the same hills."""

MOST_DOUBLINGS = 2
"""So often pilots look again, each time twice as hard."""

FEWEST_POINTS = 10.0
"""Draws of a round are worth at least so many independent ones, for each dimension, to fit by."""

FIRST_EVERY = 4
"""In the first round every so many steps a draw is kept; twice as many or more in later ones."""

AIM, AGREEING, MOST_GROWTH = 800, 1.05, 4
"""A round aims at so many effective draws where R-hat was less than that before; it is at most so
many times as long as the one before."""

CELLS_TOLD = 10_000
"""In larger models, by pairs, modes are told apart by what lies half way between draws alone."""

LONGER = 1.25
"""The last round that the budget allows is at least so many times as long as the one before."""


@dataclass(eq=False)
class Course:
    """One way through pilots and rounds: what was found, and what it took.

    phases() yields groups of runs to be exhausted; then the rest can be read.
    """

    target: Target
    rng: np.random.Generator
    n_chains: int
    budget: int
    chains: list[RoundChain] = field(default_factory=list)
    fit: Fit | None = None
    mixing: Mixing | None = None
    n_used: int = 0
    n_particles: int = 0
    n_rounds: int = 0
    n_looks: int = 0
    gap: float = 0.0
    high: Modes | None = None

    def phases(self) -> Iterator[Sequence[Run]]:
        """Pilots, settlers, rounds: groups of runs, one after the other."""
        *own, last = self.rng.spawn(self.n_chains + 1)
        pilots: list[_Pilot] = []
        for doubling in range(MOST_DOUBLINGS + 1):
            pilots = [_Pilot(self.target, rng.spawn(2), i) for i, rng in enumerate(own)]
            self.n_particles = 2**doubling * max(PARTICLES, 6 * self.target.k)
            yield from self._counted(
                [pilot.run(2**doubling * PLANS, self.n_particles) for pilot in pilots]
            )
            self.n_looks += 1
            gap = float(np.ptp([pilot.best for pilot in pilots]))
            self.gap = max(self.gap, gap)
            if gap <= DISAGREE or 4 * self.n_used > self.budget:
                break
        tops = self._tops([summit for pilot in pilots for summit in pilot.summits], last)
        n = max(SETTLERS, 4 * self.target.k)
        settlers = [Population(self.target, rng) for rng in last.spawn(len(tops))]
        yield from self._counted(
            [settler.settle(top, n) for settler, top in zip(settlers, tops, strict=True)]
        )
        populations = [*settlers, *(pilot.population for pilot in pilots)]
        shaping = Shaping(self.target, populations, last)
        for runs in shaping.phases(len(tops)):
            yield from self._counted(runs)
        self.n_used += shaping.n_scored
        self.fit = shaping.fit
        self.chains = [pilot.chain_of_rounds(shaping.picked(pilot.rng)) for pilot in pilots]
        yield from self._rounds(last)

    def _tops(self, summits: list[Summit], rng: np.random.Generator) -> list[Floats]:
        """The highest summit of each mode, (k,)."""
        scout = Chain(self.target, rng)
        if self.target.k == 2 and not self.target.evidence.is_empty:
            # One angle can be looked through; climbs from random places miss narrow summits.
            found = summits_of_plane(self.target.prior, scout.place, self._cells_of)
            summits = [s for s in found if s.density > -math.inf] or summits
        modes = Modes.among(summits, self.target.prior, scout.place, near=LOOKED_AT)
        self.high = Modes.among(summits, self.target.prior, scout.place)
        return [mode[0].weights for mode in modes.members]

    def _not_mixed(self) -> str | None:
        """Why the draws cannot pass for the posterior: the stop rule, or modes without draws."""
        assert self.mixing is not None
        if not self.mixing.is_enough:
            return warning_of(self.mixing, self.budget)
        draws = np.concatenate([chain.samples for chain in self.chains])
        n_missed = 0 if self.high is None else self.high.n_missed(draws)
        return missed_notes(n_missed)[0] if n_missed else None

    def in_short(self) -> str:
        """Likelihoods used, R-hat and effective draws so far, for those who wait."""
        used = f"{self.n_used:,} likelihoods"
        return used if self.mixing is None else f"{used}, {self.mixing}"

    def settings(self) -> dict[str, Any]:
        """What a belief tells of the way that its draws came."""
        assert self.mixing is not None
        told = f"pilots differed by {self.gap:.0f} nats and were run again"
        return {
            "n_likelihoods": self.n_used,
            "n_particles": self.n_particles,
            "n_rounds": self.n_rounds,
            "pilots": told if self.n_looks > 1 else None,
            "r_hat": _or_none(self.mixing.r_hat),
            "ess": self.mixing.ess,
            "not_mixed": self._not_mixed(),
        }

    def shares(self) -> tuple[Mode, ...]:
        """The modes of the draws, which valleys part, with the share of the draws on each."""
        samples = np.concatenate([chain.samples for chain in self.chains])
        densities = np.concatenate([chain.densities for chain in self.chains])
        scout = Chain(self.target, self.rng)
        mode = modes_of_draws(samples, densities, self.target.prior, scout.place, self._cells_of)
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
            points = spread_out(kind_of(self.target.prior), draws, rng)
            n_components = max(COMPONENTS, len(fit.shares))
            worth = max(self.mixing.ess, FEWEST_POINTS * self.target.k)
            self.fit = fitted(points, _equal(len(points)), rng, n_components, worth=worth)

    def _affordable(self) -> int:
        """Steps for each draw that a round can take within the budget."""
        return every_within((self.budget - self.n_used) // self.n_chains)

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


class _Pilot:
    """One chain's own look: climbs to summits, and a tempered population."""

    def __init__(self, target: Target, generators: Sequence[np.random.Generator], number: int):
        searching, self.rng = generators
        origin, own = searching.spawn(2)
        self.climber = Chain(target, own)
        self.search = StartSearch(self.climber, origin, number)
        self.population = Population(target, self.rng)

    def run(self, n_plans: int, n_particles: int) -> Run:
        """Climb, then temper; yields likelihoods."""
        yield from self.search.run(n_plans)
        yield from self.population.temper(n_particles)

    @property
    def summits(self) -> list[Summit]:
        """Where climbs ended, where there is a density."""
        return [summit for summit in self.search.summits if summit.density > -math.inf]

    @property
    def best(self) -> float:
        """The best log density that it saw."""
        return max(self.climber.best, self.population.particles.best)

    def chain_of_rounds(self, place: Floats) -> RoundChain:
        """A chain that starts at a place (k,) and knows the best weights seen so far."""
        chain = RoundChain.after(self.population.particles, place, self.rng)
        self.climber.place(chain.best_weights)
        chain.best, chain.best_weights = self.climber.best, self.climber.best_weights.copy()
        return chain


def growth_after(mixing: Mixing) -> int:
    """How much longer the next round shall be: as effective draws say, where chains agree."""
    growth = 2
    while growth < MOST_GROWTH and mixing.r_hat < AGREEING and growth * mixing.ess < AIM:
        growth *= 2
    return growth


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _equal(n: int) -> Floats:
    return np.full(n, 1.0 / n)
