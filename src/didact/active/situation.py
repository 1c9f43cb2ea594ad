"""What a strategy sees before it asks, and who answers.

A situation holds the belief, what is open, and what the draws say of states. The tables by draw and
state are computed when a strategy first looks at them, and then kept. An answer is given by a
demonstrator that plays a policy, or a function that asks a person.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidInput, InvalidParameter, Unsupported
from didact.inputs import is_whole, own_code, shown
from didact.learners.belief import Belief
from didact.learners.risk import thinned
from didact.mdp import MDP, Comparison, Demonstration, Task
from didact.mdp.demonstrations import as_demonstrations
from didact.mdp.naming import action_words, numbered_state
from didact.numerics.exact import Floats
from didact.planning import Plan, float_successor_features, rollout, solve
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


TIED = 1e-12
"""Values closer than this, relative to the largest, are equal: either action is as good."""


@dataclass(frozen=True, eq=False)
class Question:
    """What to do in `state`, for up to `horizon` steps? The situation says what is believed so far.

    actions: where there are two, which of them is better there?

    rng: for an answer that plays a policy. It depends on the seed and the state alone, so whoever
    asks about a state gets the same answer.
    """

    number: int
    state: int
    horizon: int
    situation: Situation
    rng: np.random.Generator
    actions: tuple[int, int] | None = None


Answer = Callable[[Question], Any]


def optimal_oracle(task: Task, plan: Plan | None = None) -> Answer:
    """Answers by the task's optimal policy, all optimal actions equally likely."""
    best = solve(task.mdp, task.true_weights) if plan is None else plan
    shows = policy_oracle(task.mdp, best)
    scale = TIED * float(np.abs(best.action_values).max(initial=0.0))

    def answer(question: Question) -> Any:
        if question.actions is None:
            return shows(question)
        first, second = best.action_values[question.state, list(question.actions)].tolist()
        if abs(first - second) <= scale:
            return int(question.rng.choice(question.actions))
        return question.actions[0 if first > second else 1]

    return answer


def softmax_oracle(task: Task, confidence: float) -> Answer:
    """Answers as BIRL thinks that people do: with probability ~ exp(confidence Q(s, a))."""
    values = solve(task.mdp, task.true_weights).action_values
    shows = policy_oracle(task.mdp, softmax(values, confidence))

    def answer(question: Question) -> Any:
        if question.actions is None:
            return shows(question)
        chances = softmax(values[question.state, list(question.actions)], confidence)
        return int(question.rng.choice(question.actions, p=chances))

    return answer


def policy_oracle(mdp: MDP, policy: Any) -> Answer:
    """Answers by any policy that `didact.planning.as_policy` takes."""

    def answer(question: Question) -> Demonstration:
        if question.actions is not None:
            raise Unsupported(
                "a policy alone does not say which of two actions is better; answer by "
                "optimal_oracle, softmax_oracle or a function of your own"
            )
        return rollout(
            mdp, policy, horizon=question.horizon, seed=question.rng, start=question.state
        )

    return answer


def answered(answer: Answer, question: Question) -> Demonstration | Comparison | None:
    """The answer as a demonstration that begins in the state asked, or a comparison; None to stop.

    It may be an action, or (state, action) pairs; of two actions to compare, one of them.
    """
    with own_code("the answering function"):
        given = answer(question)
    if given is None:
        return None
    if question.actions is not None:
        return _compared(given, question)
    if is_whole(given):
        given = [(question.state, int(given))]
    try:
        (demonstration,) = as_demonstrations([given], question.situation.mdp)
    except InvalidInput as error:
        raise InvalidParameter(f"the answer about {_asked(question)}: {error}") from None
    if demonstration[0][0] != question.state:
        raise InvalidParameter(
            f"the answer must begin in {_asked(question)}, which was asked; "
            f"it begins in {numbered_state(question.situation.task, demonstration[0][0])}"
        )
    return demonstration


def _compared(given: Any, question: Question) -> Comparison:
    """Which of the two actions asked about is better."""
    assert question.actions is not None
    better = int(given) if is_whole(given) else None
    if isinstance(given, Comparison) and given.state == question.state:
        better = given.better if {given.better, given.other} == set(question.actions) else None
    if better not in question.actions:
        first, second = (action_words(question.situation.mdp, a) for a in question.actions)
        raise InvalidParameter(
            f"the answer about {_asked(question)} must be one of the two actions asked about, "
            f"{first} or {second}; it is {shown(given)}"
        )
    (other,) = set(question.actions) - {better}
    return Comparison(question.state, better, other)


def _asked(question: Question) -> str:
    return numbered_state(question.situation.task, question.state)
