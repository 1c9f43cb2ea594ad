"""What a strategy sees before it asks: the belief, what is open, and what the draws say of states.

The tables by draw and state are computed when a strategy first looks at them, and then kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import Unsupported
from didact.learners.belief import Belief
from didact.learners.risk import thinned
from didact.mdp import MDP, Demonstration, Task
from didact.numerics.exact import Floats
from didact.planning import float_successor_features
from didact.planning.batch import action_values_of

MAX_ENTRIES = 60_000_000
"""A table by draw, state and action has at most so many entries, about half a gigabyte."""
MIN_DRAWS = 20

SETTLED = 1e-10
"""Values closer than this, relative to the largest, are equal up to rounding."""


@dataclass(frozen=True, eq=False)
class Situation:
    """The state of questioning: everything that the next question may depend on.

    draws: (chains, m, k), some of the belief's, evenly spaced. open_states: ascending, those that
    may be asked now. asked: the states asked so far, in order. memory: kept from question to
    question, for strategies that plan ahead. task: holds the true weights too; only benchmarks look
    at them. open_pairs: (S, A, A), whether it may be asked which of two actions, the first of the
    lower number, is better; None where that is not asked.
    """

    task: Task
    belief: Belief
    draws: Floats
    open_states: NDArray[np.int64]
    asked: tuple[int, ...] = ()
    horizon: int = 1
    memory: dict[str, Any] = field(default_factory=dict)
    open_pairs: NDArray[np.bool_] | None = None

    @property
    def mdp(self) -> MDP:
        """The world, without its weights."""
        return self.task.mdp

    @property
    def demonstrations(self) -> tuple[Demonstration, ...]:
        """What has been shown so far."""
        return self.belief.demonstrations

    @property
    def weights(self) -> Floats:
        """The draws of all chains in one row after another, (n, k)."""
        return self.draws.reshape(-1, self.draws.shape[2])

    @cached_property
    def action_values(self) -> Floats:
        """Q*_w(s, a) for each draw of weights, (n, S, A)."""
        return action_values_of(self.mdp, self.weights)

    @cached_property
    def optimal(self) -> NDArray[np.bool_]:
        """Which actions are optimal under each draw, up to rounding, (n, S, A)."""
        best = self.action_values.max(axis=2, keepdims=True)
        return np.asarray(self.action_values >= best - SETTLED * self._scale[:, :, None])

    @cached_property
    def action_probabilities(self) -> Floats:
        """The share of the draws for each action (S, A); ties count in equal parts."""
        shares = self.optimal / self.optimal.sum(axis=2, keepdims=True)
        return np.asarray(shares.mean(axis=0))

    @cached_property
    def policies(self) -> Floats:
        """pi_w(a|s) for each draw, (n, S, A): softmax at the learner's confidence.

        For a learner without one: equal probability for all optimal actions.
        """
        if self.belief.confidence is None:
            chosen = self.optimal
            return np.asarray(chosen / chosen.sum(axis=2, keepdims=True))
        return softmax(self.action_values, self.belief.confidence)

    def rather(self, a: int, b: int) -> Floats:
        """How likely each draw holds a rather than b, in every state, (n, S)."""
        if self.belief.confidence is None:
            first, second = self.policies[:, :, a], self.policies[:, :, b]
            total = first + second
            known = total > 0.0
            return np.where(known, first / np.where(known, total, 1.0), 0.5)
        return softmax(self.action_values[:, :, [a, b]], self.belief.confidence)[:, :, 0]

    @cached_property
    def losses(self) -> Floats:
        """What the most likely weights' policy loses in each state under each draw, (n, S).

        V*_w(s) - V^pi_w(s), never negative; exactly 0 where only rounding is left.
        """
        counts = float_successor_features(self.mdp, self.belief.policy("map")).states
        lost = self.action_values.max(axis=2) - self.weights @ counts.T
        return np.where(lost <= SETTLED * self._scale, 0.0, lost)

    @cached_property
    def agreement(self) -> Floats:
        """The share of draws under which what the learned policy does is optimal, by state (S,)."""
        taken = self.belief.policy("map") > 0.0
        agreed = (self.optimal | ~taken[None]).all(axis=2)
        return np.asarray(agreed.mean(axis=0))

    @cached_property
    def _scale(self) -> Floats:
        """The largest absolute value under each draw, (n, 1)."""
        return np.asarray(np.abs(self.action_values).max(axis=(1, 2))[:, None])


def softmax(action_values: Floats, confidence: float) -> Floats:
    """exp(confidence Q(s, a)) / sum over b of exp(confidence Q(s, b)), over the last axis."""
    powers: Floats = action_values - action_values.max(axis=-1, keepdims=True)
    powers *= confidence
    np.exp(powers, out=powers)
    powers /= powers.sum(axis=-1, keepdims=True)
    return powers


def draws_for_tables(belief: Belief, n_samples: int) -> Floats:
    """At most n_samples of a belief's draws, evenly spaced along its chains, (chains, m, k).

    Fewer where the world is so large that their tables would not fit.
    """
    size = belief.mdp.n_states * belief.mdp.n_actions
    most = MAX_ENTRIES // size
    if most < MIN_DRAWS:
        raise Unsupported(
            f"questions need the values of {MIN_DRAWS} draws at once, so at most "
            f"{MAX_ENTRIES // MIN_DRAWS} states times actions; this world has {size}"
        )
    return thinned(belief, max(min(n_samples, most), belief.n_chains))
