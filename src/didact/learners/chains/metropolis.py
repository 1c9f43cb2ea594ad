"""Metropolis chains over reward weights: whole blocks of steps in compiled kernels.

Each chain has its own generator, and each kind of random number its own child of it: the draws are
a function of the generator alone, whatever the block size or the number of threads. Where Python
functions have a say in the density, the same kernels are called step by step.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from didact.errors import DidactError, InvalidParameter, NotConverged
from didact.inputs import FAILURES, as_float, reason_of, shown
from didact.learners.chains import steps as kernels
from didact.learners.chains.models import Scorer, shown_in
from didact.learners.chains.priors import Density, Prior
from didact.learners.evidence import Evidence
from didact.numerics import compiled as running
from didact.numerics.compiled import Kernel
from didact.numerics.exact import Floats
from didact.planning.kernels import back_up_values

Extra = Callable[[Floats, Floats], float]

BLOCK_NUMBERS = 2**17
"""Random numbers drawn at a time."""

BLOCK_WORK = 2**25
"""Inner-loop steps between two looks at the clock, the keyboard and the other chains."""


@dataclass(frozen=True, eq=False)
class Target:
    """The posterior that chains sample, and the moves that they make.

    proposal: its number in the kernels. log_prior(weights) and extra(weights, action values) are
    added to the log density by calls from Python. compiled: whether to run compiled kernels.
    """

    evidence: Evidence
    confidence: float
    scorer: Scorer
    prior: Prior
    proposal: int
    log_prior: Density | None = None
    extra: Extra | None = None
    compiled: bool = True

    @property
    def k(self) -> int:
        """How many weights there are."""
        return self.evidence.mdp.n_features

    @property
    def is_stepwise(self) -> bool:
        """Whether Python functions must be asked at each step."""
        return self.log_prior is not None or self.extra is not None

    def function(self, kernel: Kernel) -> Any:
        """The kernel as it is to be called."""
        return kernel.compiled if self.compiled else kernel

    def function_for(self, kernel: Kernel, *arguments: Any) -> Any:
        """The kernel as it is to be called many times, with arguments of the types of these."""
        return kernel.compiled_for(*arguments) if self.compiled else kernel

    def problem(self) -> kernels.Problem:
        """What scores are computed from, with a workspace of its own."""
        shown = shown_in(self.evidence, self.confidence)
        return kernels.Problem(self.scorer.model, self.scorer.workspace(), shown)

    @cached_property
    def score(self) -> Any:
        """What scores weights (k,) on a problem; looked up once, which takes milliseconds."""
        return self.function_for(self.scorer.sampler.score, *self.problem(), np.zeros(self.k))


def is_worth_compiling(scorer: Scorer, n_steps: int) -> bool:
    """Whether so many steps take longer in plain Python than the compiler takes to load."""
    return n_steps * scorer.work >= running.WORTH_COMPILING or "numba" in sys.modules


class Chain:
    """One chain: its place, what it has recorded, its random numbers, and the step it takes.

    n_draws places are kept: every thin-th step after burn_in.
    """

    def __init__(
        self,
        target: Target,
        generator: np.random.Generator,
        *,
        n_draws: int = 0,
        burn_in: int = 0,
        thin: int = 1,
    ):
        self.target = target
        numbers, counters = np.zeros(kernels.N_NUMBERS), np.zeros(kernels.N_COUNTERS, np.int64)
        numbers[kernels.BEST] = -math.inf
        counters[kernels.BURN_IN], counters[kernels.THIN] = burn_in, thin
        kept = np.zeros(n_draws * target.k), np.zeros(n_draws)
        place, proposed, best = np.zeros((3, target.k))
        self.state = kernels.State(place, proposed, best, numbers, counters, *kept)
        self.problem = target.problem()
        self.proposal = _proposal(target)
        self._noise, self._shuffles, self._levels = generator.spawn(3)

    @property
    def weights(self) -> Floats:
        """Where the chain is, (k,)."""
        return np.asarray(self.state.weights)

    @property
    def best_weights(self) -> Floats:
        """The weights of the best log density seen so far, (k,)."""
        return np.asarray(self.state.best)

    @property
    def samples(self) -> Floats:
        """The draws kept, (n_draws, k)."""
        return np.asarray(self.state.samples.reshape(-1, self.target.k))

    @property
    def densities(self) -> Floats:
        """The log densities of the draws kept, (n_draws,)."""
        return np.asarray(self.state.densities)

    @property
    def log_density(self) -> float:
        """Log likelihood and log prior density where the chain is now."""
        return float(self.state.numbers[kernels.LIKELIHOOD] + self.state.numbers[kernels.PRIOR])

    @property
    def best(self) -> float:
        """The best log density seen so far."""
        return float(self.state.numbers[kernels.BEST])

    @property
    def step_size(self) -> float:
        """The scale of the moves."""
        return math.exp(float(self.state.numbers[kernels.LOG_STEP]))

    @step_size.setter
    def step_size(self, step: float) -> None:
        self.state.numbers[kernels.LOG_STEP] = math.log(step)
        self.state.counters[kernels.ADAPTED] = 0

    @property
    def n_steps(self) -> int:
        """How many steps were taken."""
        return int(self.state.counters[kernels.STEP])

    @property
    def acceptance(self) -> float:
        """The accepted share of proposals after burn-in."""
        past = self.n_steps - int(self.state.counters[kernels.BURN_IN])
        return float(self.state.counters[kernels.ACCEPTED] / past) if past > 0 else math.nan

    @property
    def block_size(self) -> int:
        """How many steps take a moment; nothing but waiting times depends on it."""
        by_numbers = BLOCK_NUMBERS // max(1, self.proposal.n_noise)
        by_work = BLOCK_WORK // self.target.scorer.work
        return int(max(1, min(by_numbers, by_work)))

    def place(self, weights: Floats) -> float:
        """Put the chain on weights (k,); their log density, -inf if they are outside."""
        self.state.weights[:] = weights
        self.state.proposed[:] = weights
        likelihood = self.target.score(*self.problem, self.state.proposed)
        self.state.numbers[kernels.NEW_LIKELIHOOD] = likelihood
        is_normal = self.target.prior.name == "gaussian"
        self.state.numbers[kernels.NEW_PRIOR] = (
            -0.5 * float(weights @ weights) if is_normal else 0.0
        )
        self._ask()
        self.state.numbers[kernels.LIKELIHOOD] = self.state.numbers[kernels.NEW_LIKELIHOOD]
        self.state.numbers[kernels.PRIOR] = self.state.numbers[kernels.NEW_PRIOR]
        if self.log_density > self.best:
            self.state.numbers[kernels.BEST] = self.log_density
            self.state.best[:] = weights
        return self.log_density

    def count_steps(self, n_steps: int) -> None:
        """Count so many steps as taken, without taking them."""
        self.state.counters[kernels.STEP] += n_steps

    def advance(self, n_steps: int, *, adapting: bool) -> None:
        """Take so many steps.

        adapting: whether each step also moves the step size towards an acceptance of TARGET.
        """
        self.state.counters[kernels.ADAPTING] = int(adapting)
        n_noise = self.proposal.n_noise
        randomness = kernels.Randomness(
            self._noise.standard_normal(n_steps * n_noise),
            self._shuffles.random(n_steps * n_noise if self.proposal.order.size else 0),
            -self._levels.standard_exponential(n_steps),
        )
        given = (self.problem, self.proposal, randomness, self.state)
        scorer = self.target.scorer
        if self.target.is_stepwise:
            self._advance_stepwise(*given)
        else:
            self.target.function(scorer.sampler.run)(n_steps, *given)
        if scorer.n_failed(self.problem.work):
            raise NotConverged(
                "policy iteration did not settle at a proposal; use a smaller discount"
            )

    def _advance_stepwise(self, *given: Any) -> None:
        *_, randomness, state = given
        levels = randomness.levels.tolist()
        trial = self.target.function_for(self.target.scorer.sampler.trial, 0, *given)
        finish = self.target.function_for(kernels.end_step, 0, 0.0, state)
        for t, level in enumerate(levels):
            inside = trial(t, *given)
            if inside:
                self._ask()
            finish(inside, level, state)

    def _ask(self) -> None:
        """Add what Python functions say of the proposed weights."""
        if not self.target.is_stepwise:
            return
        numbers = self.state.numbers
        tilt, extra = added_terms(self.target, self.problem, self.state.proposed)
        numbers[kernels.NEW_PRIOR] += tilt
        if tilt == -math.inf:
            numbers[kernels.NEW_LIKELIHOOD] = -math.inf
        else:
            numbers[kernels.NEW_LIKELIHOOD] += extra


def added_terms(target: Target, problem: kernels.Problem, weights: Floats) -> tuple[float, float]:
    """What log_prior and extra say of weights (k,) that were just scored; 0 where there is none.

    Where log_prior is -inf, extra is not asked.
    """
    tilt = extra = 0.0
    if target.log_prior is not None:
        tilt = _answer(target.log_prior, "log_prior", weights)
    if target.extra is not None and tilt > -math.inf:
        extra = _answer(target.extra, "extra", weights, _action_values(target, problem))
    return tilt, extra


def _action_values(target: Target, problem: kernels.Problem) -> Floats:
    """Q of the weights just scored, shape (S, A), from the values that scoring them left."""
    mdp, scorer = target.evidence.mdp, target.scorer
    rewards, values = problem.work.rewards, scorer.values(problem.work)
    if rewards.size < mdp.n_states * mdp.n_actions:
        rewards = np.repeat(rewards, mdp.n_actions)
    found = np.zeros(mdp.n_states * mdp.n_actions)
    target.function(back_up_values)(scorer.backup, rewards, values, found)
    return found.reshape(mdp.n_states, mdp.n_actions)


def _proposal(target: Target) -> kernels.Proposal:
    """The target's move, with all pairs of weights where it turns them."""
    nothing = np.zeros(0, dtype=np.int64)
    is_normal = int(target.prior.name == "gaussian")
    if target.proposal not in (kernels.PAIRS, kernels.LATTICE):
        return kernels.Proposal(target.proposal, is_normal, target.k, nothing, nothing, nothing)
    first, second = (side.astype(np.int64) for side in np.triu_indices(target.k, 1))
    pairs = (np.arange(first.size), first, second)
    return kernels.Proposal(target.proposal, is_normal, first.size, *pairs)


def _answer(function: Any, name: str, weights: Floats, *more: Any) -> float:
    """What a log density says of the weights: a number below infinity."""
    try:
        given = function(weights.copy(), *more)
    except DidactError:
        raise
    except FAILURES as error:
        raise InvalidParameter(
            f"{name} failed at weights {weights.round(4).tolist()}: {reason_of(error)}"
        ) from error
    value = as_float(given.item() if isinstance(given, np.ndarray) and given.size == 1 else given)
    if math.isnan(value) or value == math.inf:
        raise InvalidParameter(
            f"{name} must return a number or -inf; at weights {weights.round(4).tolist()} "
            f"it returned {shown(given)}"
        )
    return value
