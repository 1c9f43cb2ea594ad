"""Who answers: a demonstrator that plays a policy, or a function that asks a person."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from didact.active.situation import Situation, softmax
from didact.errors import InvalidInput, InvalidParameter, Unsupported
from didact.inputs import is_whole, own_code, shown
from didact.mdp import MDP, Comparison, Demonstration, Task
from didact.mdp.demonstrations import as_demonstrations
from didact.mdp.naming import action_words, numbered_state
from didact.planning import Plan, rollout, solve

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
