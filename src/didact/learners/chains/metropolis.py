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
from typing import Any

import numpy as np

from didact.errors import DidactError, InvalidParameter, NotConverged
from didact.inputs import FAILURES, as_float, reason_of, shown
from didact.learners.chains import steps as kernels
from didact.learners.chains.models import Scorer, shown_arrays
from didact.learners.chains.priors import Density, Prior
from didact.learners.evidence import Evidence
from didact.numerics import compiled as running
from didact.numerics.compiled import Kernel
from didact.numerics.exact import Floats
from didact.planning.sweeps import back_up_values

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


def is_worth_compiling(scorer: Scorer, n_steps: int) -> bool:
    """Whether so many steps take longer in plain Python than the compiler takes to load."""
    at_hand = "numba" in sys.modules and scorer.run.is_at_hand()
    return n_steps * scorer.work >= running.WORTH_COMPILING or at_hand


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
        self.weights, self.proposed, self.best_weights = np.zeros((3, target.k))
        self.samples, self.densities = np.zeros((n_draws, target.k)), np.zeros(n_draws)
        self._numbers = np.zeros(kernels.N_NUMBERS)
        self._numbers[kernels.BEST] = -math.inf
        self._counters = np.zeros(kernels.N_COUNTERS, dtype=np.int64)
        self._counters[kernels.BURN_IN] = burn_in
        self._counters[kernels.THIN] = thin
        self._noise, self._shuffles, self._levels = generator.spawn(3)
        self._work = target.scorer.workspace()
        self._shown = shown_arrays(target.evidence, target.confidence)
        self._moves = _moves(target)
        self._state = (
            *(self.weights, self.proposed, self.best_weights),
            *(self._numbers, self._counters),
        )

    @property
    def workspace(self) -> tuple[Any, ...]:
        """What the likelihood kernels write: the last policy among it."""
        return self._work

    @property
    def log_density(self) -> float:
        """Log likelihood and log prior density where the chain is now."""
        return float(self._numbers[kernels.LIKELIHOOD] + self._numbers[kernels.PRIOR])

    @property
    def best(self) -> float:
        """The best log density seen so far."""
        return float(self._numbers[kernels.BEST])

    @property
    def step_size(self) -> float:
        """The scale of the moves."""
        return math.exp(float(self._numbers[kernels.LOG_STEP]))

    @step_size.setter
    def step_size(self, step: float) -> None:
        self._numbers[kernels.LOG_STEP] = math.log(step)
        self._counters[kernels.ADAPTED] = 0

    @property
    def n_steps(self) -> int:
        """How many steps were taken."""
        return int(self._counters[kernels.STEP])

    @property
    def acceptance(self) -> float:
        """The accepted share of proposals after burn-in."""
        past = self.n_steps - int(self._counters[kernels.BURN_IN])
        return float(self._counters[kernels.ACCEPTED] / past) if past > 0 else math.nan

    @property
    def block_size(self) -> int:
        """How many steps take a moment; nothing but waiting times depends on it."""
        by_numbers = BLOCK_NUMBERS // max(1, self._moves[2])
        by_work = BLOCK_WORK // self.target.scorer.work
        return int(max(1, min(by_numbers, by_work)))

    def place(self, weights: Floats) -> float:
        """Put the chain on weights (k,); their log density, -inf if they are outside."""
        self.weights[:] = weights
        self.proposed[:] = weights
        scorer = self.target.scorer
        score = self.target.function(scorer.score)
        likelihood = score(scorer.model, self._work, scorer.columns, self._shown, self.proposed)
        self._numbers[kernels.NEW_LIKELIHOOD] = likelihood
        is_normal = self.target.prior.name == "gaussian"
        self._numbers[kernels.NEW_PRIOR] = -0.5 * float(weights @ weights) if is_normal else 0.0
        self._ask()
        self._numbers[kernels.LIKELIHOOD] = self._numbers[kernels.NEW_LIKELIHOOD]
        self._numbers[kernels.PRIOR] = self._numbers[kernels.NEW_PRIOR]
        if self.log_density > self.best:
            self._numbers[kernels.BEST] = self.log_density
            self.best_weights[:] = weights
        return self.log_density

    def count_steps(self, n_steps: int) -> None:
        """Count so many steps as taken, without taking them."""
        self._counters[kernels.STEP] += n_steps

    def advance(self, n_steps: int, *, adapting: bool) -> None:
        """Take so many steps.

        adapting: whether each step also moves the step size towards an acceptance of TARGET.
        """
        self._counters[kernels.ADAPTING] = int(adapting)
        n_noise = self._moves[2]
        randomness = (
            self._noise.standard_normal(n_steps * n_noise),
            self._shuffles.random(n_steps * n_noise if self._moves[3].size else 0),
            -self._levels.standard_exponential(n_steps),
        )
        scorer = self.target.scorer
        given = (scorer.model, self._work, scorer.columns, self._shown, self._moves, randomness)
        kept = (self.samples.reshape(-1), self.densities)
        if self.target.is_stepwise:
            self._advance_stepwise(n_steps, given, kept)
        else:
            self.target.function(scorer.run)(n_steps, *given, self._state, *kept)
        if scorer.failures_at is not None and self._work[scorer.failures_at][0]:
            raise NotConverged(
                "policy iteration did not settle at a proposal; use a smaller discount"
            )

    def _advance_stepwise(self, n_steps: int, given: Any, kept: Any) -> None:
        trial = self.target.function(self.target.scorer.trial)
        finish = self.target.function(kernels.end_step)
        levels = given[-1][2]
        for t in range(n_steps):
            inside = trial(t, *given, self._state)
            if inside:
                self._ask()
            finish(inside, levels[t], self._state, *kept)

    def _ask(self) -> None:
        """Add what Python functions say of the proposed weights."""
        target, numbers = self.target, self._numbers
        if target.log_prior is not None:
            tilt = _answer(target.log_prior, "log_prior", self.proposed)
            numbers[kernels.NEW_PRIOR] += tilt
            if tilt == -math.inf:
                numbers[kernels.NEW_LIKELIHOOD] = -math.inf
                return
        if target.extra is not None:
            values = self._action_values()
            more = _answer(target.extra, "extra", self.proposed, values)
            numbers[kernels.NEW_LIKELIHOOD] += more

    def _action_values(self) -> Floats:
        """Q of the proposed weights, shape (S, A), from the values that scoring them left."""
        mdp, scorer = self.target.evidence.mdp, self.target.scorer
        rewards, values = self._work[0], self._work[scorer.values_at]
        if rewards.size < mdp.n_states * mdp.n_actions:
            rewards = np.repeat(rewards, mdp.n_actions)
        found = np.zeros(mdp.n_states * mdp.n_actions)
        self.target.function(back_up_values)(scorer.backup, rewards, values, found)
        return found.reshape(mdp.n_states, mdp.n_actions)


def _moves(target: Target) -> tuple[Any, ...]:
    """Proposal, whether the prior is normal, random numbers a step, and all pairs of weights."""
    nothing = np.zeros(0, dtype=np.int64)
    is_normal = int(target.prior.name == "gaussian")
    if target.proposal not in (kernels.PAIRS, kernels.LATTICE):
        return target.proposal, is_normal, target.k, nothing, nothing, nothing
    first, second = (side.astype(np.int64) for side in np.triu_indices(target.k, 1))
    return target.proposal, is_normal, first.size, np.arange(first.size), first, second


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
