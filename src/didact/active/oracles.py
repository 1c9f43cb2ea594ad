"""Who answers: a demonstrator that plays a policy, or a function that asks a person."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from didact.active.situation import Situation, softmax
from didact.errors import InvalidInput, InvalidParameter
from didact.inputs import is_whole, own_code
from didact.mdp import MDP, Demonstration, Task
from didact.mdp.demonstrations import as_demonstrations
from didact.mdp.naming import numbered_state
from didact.planning import Plan, rollout, solve


@dataclass(frozen=True, eq=False)
class Question:
    """What to do in `state`, for up to `horizon` steps? The situation says what is believed so far.

    rng: for an answer that plays a policy. It depends on the seed and the state alone, so whoever
    asks about a state gets the same answer.
    """

    number: int
    state: int
    horizon: int
    situation: Situation
    rng: np.random.Generator


Answer = Callable[[Question], Any]


def optimal_oracle(task: Task, plan: Plan | None = None) -> Answer:
    """Answers by the task's optimal policy, all optimal actions equally likely."""
    return policy_oracle(task.mdp, solve(task.mdp, task.true_weights) if plan is None else plan)


def softmax_oracle(task: Task, confidence: float) -> Answer:
    """Answers as BIRL thinks that people do: with probability ~ exp(confidence Q(s, a))."""
    values = solve(task.mdp, task.true_weights).action_values
    return policy_oracle(task.mdp, softmax(values, confidence))


def policy_oracle(mdp: MDP, policy: Any) -> Answer:
    """Answers by any policy that `didact.planning.as_policy` takes."""

    def answer(question: Question) -> Demonstration:
        return rollout(
            mdp, policy, horizon=question.horizon, rng=question.rng, start=question.state
        )

    return answer


def answered(answer: Answer, question: Question) -> Demonstration | None:
    """The answer as a demonstration that begins in the state asked; None to stop.

    It may be an action, or (state, action) pairs.
    """
    with own_code("the answering function"):
        given = answer(question)
    if given is None:
        return None
    if is_whole(given):
        given = [(question.state, int(given))]
    try:
        (demonstration,) = as_demonstrations([given], question.situation.mdp)
    except InvalidInput as error:
        raise InvalidParameter(f"the answer about {_asked(question)}: {error}") from None
    if demonstration[0][0] != question.state:
        raise InvalidParameter(
            f"the answer must begin in {_asked(question)}, which was asked; "
            f"it begins in {numbered_state(question.situation.mdp, demonstration[0][0])}"
        )
    return demonstration


def _asked(question: Question) -> str:
    return numbered_state(question.situation.mdp, question.state)
