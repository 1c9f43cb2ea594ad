"""The options of chains: priors over reward weights, samplers, lengths; their defaults and checks.

The likelihood multiplies values by the confidence (alpha), so the length of the weights matters:
each prior says what it holds fixed. A walk's proposal belongs to a prior when, without any
evidence, it leaves the prior as it is; others are refused.

A learner takes options as `**options` under `@passing_on(ChainOptions)`, so that its signature
names each of them, and hands them to `sample_posterior`. `Sampling` is what is left of them when
they were checked against a model.

`preset='paper'` are the paper's settings. It runs Bayesian IRL as one Markov chain (MCMC):
confidence (its alpha) 100, 10,000 steps of size 0.005 for Table 1 and Figure 2; with 1,000 steps of
size 0.05, and for BIO-IRL trust (its lambda) 100, for the balls of Figure 4. The chain moves on the
surface where absolute weights sum to 1, from a constant reward. Its likeliest draw is what the
paper calls the MAP reward.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from didact.errors import InvalidParameter
from didact.inputs import as_float, choice, is_number, plain_array, shown, whole_number
from didact.learners.chains import kernels
from didact.learners.evidence import as_confidence
from didact.numerics.exact import Floats

Density = Callable[[Floats], float]

SAMPLERS = ("mixture", "walk")

WALK_OPTIONS = ("n_steps", "step_size", "burn_in", "thin", "proposal", "start")
"""Options that only a walk has; whoever gives one of them wants a walk."""

DEFAULT_STEPS = 10_000
"""Steps of each chain of a walk where none are given."""

MIN_LIKELIHOODS = 1000
"""Likelihood evaluations that the warmup needs at least to see anything."""

MAX_BYTES = 4_000_000_000
"""Draws may not take more memory than that."""


@dataclass(frozen=True)
class Prior:
    """A named prior: where weights may lie, and the proposals that fit, the default first.

    proposals: the name of each, and its number in the kernels.
    """

    name: str
    where: str
    proposals: dict[str, int]

    def draw(self, rng: np.random.Generator, n: int, k: int) -> Floats:
        """n weights (n, k) drawn from the prior."""
        if self.name == "box":
            return 2.0 * rng.random((n, k)) - 1.0
        if self.name == "l1-sphere":
            sizes = rng.standard_exponential((n, k))
            return self.nearest(np.where(rng.random((n, k)) < 0.5, -sizes, sizes))
        return self.nearest(rng.standard_normal((n, k)))

    def kind(self, proposal: str, k: int) -> int:
        """The kernel's number of a proposal. On a sphere of two points every move is a flip."""
        if k == 1 and self.name in ("l2-sphere", "l1-sphere"):
            return kernels.FLIP
        return self.proposals[proposal]

    def placed(self, weights: Floats) -> Floats:
        """The weights (n, k) exactly on the prior's support; refuses those that are not near it."""
        order = {"l2-sphere": 2, "l1-sphere": 1}.get(self.name)
        if order is not None:
            norms = np.linalg.norm(weights, order, axis=1)
            wrong = np.abs(norms - 1.0) > 1e-6
            if wrong.any():
                raise InvalidParameter(
                    f"start must lie on {self.where}; its norm is {norms[wrong][0]:.6g}. "
                    "Divide it by its norm"
                )
            return np.asarray(weights / norms[:, None])
        if self.name == "box" and np.abs(weights).max() > 1.0:
            raise InvalidParameter(
                f"start must lie in {self.where}; an entry is "
                f"{weights.flat[np.abs(weights).argmax()]:.6g}"
            )
        return weights

    def nearest(self, weights: Floats) -> Floats:
        """Multiples of weights (..., k) that lie on the prior's support."""
        sizes = np.abs(weights)
        if self.name == "l2-sphere":
            return np.asarray(weights / np.sqrt((weights**2).sum(axis=-1, keepdims=True)))
        if self.name == "l1-sphere":
            return np.asarray(weights / sizes.sum(axis=-1, keepdims=True))
        if self.name == "box":
            return np.asarray(weights / np.maximum(1.0, sizes.max(axis=-1, keepdims=True)))
        return weights


PRIORS = {
    prior.name: prior
    for prior in (
        Prior("l2-sphere", "the unit sphere, sum of w^2 = 1", {"gaussian": kernels.GAUSSIAN}),
        Prior("box", "the box [-1, 1]^k", {"reject": kernels.WALK}),
        Prior(
            "l1-sphere",
            "the surface sum of |w| = 1",
            {"pairs": kernels.PAIRS, "lattice": kernels.LATTICE},
        ),
        Prior("gaussian", "R^k", {"walk": kernels.WALK}),
        Prior("flat", "R^k", {"walk": kernels.WALK}),
    )
}
"""By name. 'gaussian' is the standard normal; 'flat' is no distribution until log_prior tilts it,
and its draws, which chains start from, are standard normal."""


def as_prior(prior: Any, log_prior: Any) -> tuple[Prior, Density | None]:
    """A prior by its name, or 'flat' tilted by a given log density; and the tilt."""
    if log_prior is not None and not callable(log_prior):
        raise InvalidParameter(
            f"log_prior must be a function of weights (k,); it is {shown(log_prior)}"
        )
    if callable(prior):
        if log_prior is not None:
            raise InvalidParameter(
                "a function as prior is short for prior='flat' and log_prior; give one of the two"
            )
        return PRIORS["flat"], prior
    if not isinstance(prior, str) or prior not in PRIORS:
        raise InvalidParameter(
            f"prior must be one of {', '.join(PRIORS)}, or a log density; it is {shown(prior)}"
        )
    if prior == "flat" and log_prior is None:
        raise InvalidParameter(
            "prior 'flat' needs log_prior, a log density on R^k: alone it is no distribution"
        )
    return PRIORS[prior], log_prior


def as_proposal(prior: Prior, proposal: Any) -> str:
    """The proposal's name; the prior's default where none is given."""
    if proposal is None:
        return next(iter(prior.proposals))
    if not isinstance(proposal, str) or proposal not in prior.proposals:
        raise InvalidParameter(
            f"prior {prior.name!r} is kept by the proposals {', '.join(prior.proposals)}; "
            f"not by {shown(proposal)}"
        )
    return proposal


@dataclass(frozen=True, eq=False, kw_only=True)
class ChainOptions:
    """What chains are told.

    confidence: what values are multiplied by, from 0 (the prior) on. sampler: 'mixture' runs until
    the chains have mixed, or `max_likelihoods` were computed; 'walk' takes a number of steps.
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
    max_likelihoods: int = 1_000_000
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


@dataclass(frozen=True, eq=False)
class Sampling:
    """Options of chains that fit a model and each other.

    sampler: 'mixture' or 'walk'. max_likelihoods: of a mixture. n_steps, burn_in, thin: how many
    steps of a walk, how many of those are dropped, and of the others every which is kept. step: the
    step size, None where it is adapted. tilt: the log density that a named prior is tilted by.
    starts: (n_chains, k) on the prior's support, None where chains look for theirs.
    """

    confidence: float
    sampler: str
    max_likelihoods: int
    n_chains: int
    n_steps: int
    burn_in: int
    thin: int
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
        max_likelihoods = whole_number(options.max_likelihoods, "max_likelihoods", MIN_LIKELIHOODS)
        n_chains = whole_number(options.n_chains, "n_chains", 1)
        step = options.step_size
        if step is not None and not (is_number(step) and 0 < as_float(step) < math.inf):
            raise InvalidParameter(
                f"step_size must be a finite number above 0; it is {shown(step)}"
            )
        prior, tilt = as_prior(options.prior, options.log_prior)
        proposal = as_proposal(prior, options.proposal)
        if proposal == "lattice" and step is None:
            raise InvalidParameter(
                "proposal 'lattice' needs step_size: "
                "its chains stay whole steps away from their start"
            )
        starts = None
        if options.start is not None:
            starts = prior.placed(as_starts(options.start, n_chains, k))
        lengths = as_lengths(options, n_chains, k)
        return cls(
            *(confidence, sampler, max_likelihoods, n_chains, *lengths),
            *(None if step is None else float(step), prior, tilt, proposal, starts),
        )

    @property
    def n_draws(self) -> int:
        """Draws kept of each walk."""
        return (self.n_steps - self.burn_in) // self.thin

    def settings(self) -> dict[str, Any]:
        """What a belief tells of them."""
        tilted = None if self.tilt is None else "given"
        if self.sampler == "mixture":
            return {
                "sampler": "mixture",
                "max_likelihoods": self.max_likelihoods,
                "n_chains": self.n_chains,
                "prior": self.prior.name,
                "log_prior": tilted,
            }
        return {
            "n_steps": self.n_steps,
            "burn_in": self.burn_in,
            "thin": self.thin,
            "n_chains": self.n_chains,
            "prior": self.prior.name,
            "proposal": self.proposal,
            "log_prior": tilted,
            "start": None if self.starts is None else self.starts.tolist(),
            "step_size": self.step,
        }


def as_sampler(options: ChainOptions) -> str:
    """The sampler's name: as given, else a walk where an option of a walk is given."""
    own = {field.name: field.default for field in fields(options)}
    given = [name for name in WALK_OPTIONS if getattr(options, name) is not own[name]]
    if options.sampler is None:
        return "walk" if given else "mixture"
    choice(options.sampler, "sampler", SAMPLERS)
    if options.sampler == "mixture" and given:
        raise InvalidParameter(
            f"{given[0]} is an option of sampler 'walk'; a mixture runs until it has mixed. "
            f"Leave out {given[0]}, or give sampler='walk'"
        )
    return options.sampler


def as_lengths(options: ChainOptions, n_chains: int, k: int) -> tuple[int, int, int]:
    """Steps, burn-in and thinning that leave at least one draw, and not too many."""
    given = DEFAULT_STEPS if options.n_steps is None else options.n_steps
    n_steps = whole_number(given, "n_steps", 1)
    given = n_steps // 5 if options.burn_in is None else options.burn_in
    burn_in, thin = whole_number(given, "burn_in", 0), whole_number(options.thin, "thin", 1)
    if burn_in >= n_steps:
        raise InvalidParameter(f"burn_in must be less than n_steps, {n_steps}; it is {burn_in}")
    n_draws = (n_steps - burn_in) // thin
    if n_draws < 1:
        raise InvalidParameter(
            f"thin must be at most the {n_steps - burn_in} steps after burn-in; it is {thin}"
        )
    size = 8 * n_chains * n_draws * (k + 1)
    if size > MAX_BYTES:
        raise InvalidParameter(
            f"the draws would take {size / 1e9:.3g} GB, more than {MAX_BYTES / 1e9:.3g}; "
            "use a larger thin"
        )
    return n_steps, burn_in, thin


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


def published_chain(
    n_features: int, *, confidence: float = 100.0, n_steps: int = 10_000, step_size: float = 0.005
) -> dict[str, Any]:
    """The paper's chain as options of `learn`: L1 sphere, one chain from a constant reward.

    By default the settings of Table 1 and Figure 2 (appendix, Algorithm comparison full results and
    Active learning experiment parameters).

    n_features: k, of the task.
    confidence: the paper's alpha.
    n_steps: of the chain; no burn-in is dropped.
    step_size: of a proposal, which moves weight from one feature to another.
    """
    k = whole_number(n_features, "n_features", 1)
    return {
        "learner": "birl",
        "prior": "l1-sphere",
        "proposal": "lattice",
        "start": [-1 / k] * k,
        "n_chains": 1,
        "burn_in": 0,
        "confidence": confidence,
        "n_steps": n_steps,
        "step_size": step_size,
        "threads": 1,
    }


def preset_options(
    preset: str | None, learner: str, n_features: int, options: Mapping[str, Any]
) -> dict[str, Any]:
    """The options of a learner with those of a preset; options that are given besides win."""
    if preset is None:
        return dict(options)
    choice(preset, "preset", ("paper",))
    if learner == "birl":
        chain = published_chain(n_features)
    elif learner == "bio-irl":
        chain = published_chain(n_features, n_steps=1000, step_size=0.05)
        chain |= {"trust": 100.0, "matching": "greedy"}
    else:
        raise InvalidParameter(
            f"preset 'paper' is for the learners birl and bio-irl; it is {learner!r}. The paper's "
            "maximum likelihood reward is `map_weights` of birl's chain"
        )
    del chain["learner"]
    return {**chain, **options}
