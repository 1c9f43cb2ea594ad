"""The options of chains: one list with its defaults, for all learners that sample, and its checks.

A learner takes them as `**options` under `@passing_on(ChainOptions)`, so that its signature names
each of them, and hands them to `sample_posterior`. `Sampling` is what is left of them when they
were checked against a model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from didact.errors import InvalidParameter
from didact.inputs import choice, is_number, plain_array, shown, whole_number
from didact.learners.certificate import as_confidence
from didact.learners.chains.priors import Density, Prior, as_prior, as_proposal
from didact.numerics.exact import Floats

SAMPLERS = ("mixture", "walk")

OF_A_WALK = ("n_steps", "step_size", "burn_in", "thin", "proposal", "start")
"""Options that only a walk has; whoever gives one of them wants a walk."""

WALKED = 10_000
"""Steps of each chain of a walk where none are given."""

SMALLEST_BUDGET = 1000
"""Likelihoods that pilots need at least to see anything."""

MOST_BYTES = 4_000_000_000
"""Draws may not take more memory than that."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ChainOptions:
    """What chains are told.

    confidence: what values are multiplied by, from 0 (the prior) on. sampler: 'mixture' runs until
    the chains have mixed, or `budget` likelihoods were computed; 'walk' takes a number of steps.
    By default a walk where one of its options is given. prior: 'l2-sphere', 'l1-sphere', 'box',
    'gaussian', or a log density on R^k; log_prior tilts a named one. The draws depend on the
    generator alone, not on `threads`. progress: True, or a function (done, total).

    Of a walk, n_steps: steps of each chain, burn_in included (a fifth of them by default); every
    thin-th after it is kept. step_size: by default adapted during burn-in, then frozen. proposal:
    a move that fits the prior. start: weights (k,) or (n_chains, k); by default each chain looks
    for one.
    """

    confidence: float = 100.0
    sampler: str | None = None
    budget: int = 1_000_000
    n_steps: int | None = None
    step_size: float | None = None
    n_chains: int = 4
    burn_in: int | None = None
    thin: int = 1
    prior: Any = "l2-sphere"
    proposal: str | None = None
    log_prior: Any = None
    start: Any = None
    threads: int | None = None
    progress: Any = None


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
class Sampling:
    """Options of chains that fit a model and each other.

    sampler: 'mixture' or 'walk'. budget: likelihoods of a mixture. step: the step size, None where
    it is adapted. tilt: the log density that a named prior is tilted by. starts: (n_chains, k) on
    the prior's support, None where chains look for theirs.
    """

    confidence: float
    sampler: str
    budget: int
    lengths: Lengths
    step: float | None
    prior: Prior
    tilt: Density | None
    proposal: str
    starts: Floats | None

    @classmethod
    def of(cls, options: ChainOptions, k: int) -> Sampling:
        """The options for a model with k features; refuses those that do not fit."""
        confidence = as_confidence(options.confidence)
        sampler = as_sampler(options)
        budget = whole_number(options.budget, "budget", SMALLEST_BUDGET)
        lengths = as_lengths(options, k)
        step = None if options.step_size is None else as_step_size(options.step_size)
        prior, tilt = as_prior(options.prior, options.log_prior)
        proposal = as_proposal(prior, options.proposal)
        if proposal == "lattice" and step is None:
            raise InvalidParameter(
                "proposal 'lattice' needs step_size: "
                "its chains stay whole steps away from their start"
            )
        starts = None
        if options.start is not None:
            starts = prior.placed(as_starts(options.start, lengths.n_chains, k))
        return cls(confidence, sampler, budget, lengths, step, prior, tilt, proposal, starts)

    @property
    def n_likelihoods(self) -> int:
        """How many likelihoods there will be, about."""
        walked = self.lengths.n_steps * self.lengths.n_chains
        return walked if self.sampler == "walk" else self.budget

    def settings(self) -> dict[str, Any]:
        """What a belief tells of them."""
        tilted = None if self.tilt is None else "given"
        if self.sampler == "mixture":
            return {
                "sampler": "mixture",
                "budget": self.budget,
                "n_chains": self.lengths.n_chains,
                "prior": self.prior.name,
                "log_prior": tilted,
            }
        return {
            "n_steps": self.lengths.n_steps,
            "burn_in": self.lengths.burn_in,
            "thin": self.lengths.thin,
            "n_chains": self.lengths.n_chains,
            "prior": self.prior.name,
            "proposal": self.proposal,
            "log_prior": tilted,
            "start": None if self.starts is None else self.starts.tolist(),
            "step_size": self.step,
        }


def is_walk(given: Mapping[str, Any]) -> bool:
    """Whether chains with these options, by name, walk a number of steps."""
    return given.get("sampler") == "walk" or any(name in given for name in OF_A_WALK)


def as_sampler(options: ChainOptions) -> str:
    """The sampler's name: as given, else a walk where an option of a walk is given."""
    own = {field.name: field.default for field in fields(options)}
    given = [name for name in OF_A_WALK if getattr(options, name) is not own[name]]
    if options.sampler is None:
        return "walk" if given else "mixture"
    choice(options.sampler, "sampler", SAMPLERS)
    if options.sampler == "mixture" and given:
        raise InvalidParameter(
            f"{given[0]} is an option of sampler 'walk'; a mixture runs until it has mixed. "
            f"Leave out {given[0]}, or give sampler='walk'"
        )
    return options.sampler


def as_lengths(options: ChainOptions, k: int) -> Lengths:
    """Steps, chains, burn-in and thinning that leave at least one draw, and not too many."""
    steps = WALKED if options.n_steps is None else whole_number(options.n_steps, "n_steps", 1)
    burn_in = options.burn_in
    lengths = Lengths(
        steps,
        whole_number(options.n_chains, "n_chains", 1),
        steps // 5 if burn_in is None else whole_number(burn_in, "burn_in", 0),
        whole_number(options.thin, "thin", 1),
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
        starts = np.array(plain_array(given, "start"), dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(f"start must be numbers; it is {shown(given)}") from None
    if starts.shape not in ((k,), (n_chains, k)):
        raise InvalidParameter(
            f"start must have the shape ({k},) or ({n_chains}, {k}); the shape is {starts.shape}"
        )
    if not np.isfinite(starts).all():
        raise InvalidParameter("start must be finite numbers; one is not")
    return np.broadcast_to(starts, (n_chains, k)).copy()
