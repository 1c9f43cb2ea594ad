"""What an agent with known weights answers to an exam, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from didact.auditing.questions import Question, side_of
from didact.bec.linear import Row, dot, primitive
from didact.errors import InvalidParameter
from didact.mdp.model import as_weights
from didact.numerics.exact import Numbers
from didact.planning import solve

if TYPE_CHECKING:
    from didact.auditing.exam import Exam


def answers_of_weights(exam: Exam, weights: Any) -> list[Any]:
    """What an agent with these weights answers to each question, exactly."""
    if exam.ask == "actions":
        return _best_actions(exam, weights)
    given = None
    answers = []
    for question in exam.questions:
        assert question.normal is not None
        if given is None:
            given = as_weights(weights, len(question.normal))
        answers.append(side_of(_product(question, given)))
    return answers


def _product(question: Question, weights: Numbers) -> Any:
    """The product of a question's normal with weights, of the right sign; exact with integers."""
    normal: Sequence[Any] = question.normal or ()
    exact: Row = primitive(list(weights.fractions()))
    if all(isinstance(entry, int) for entry in normal):
        return dot(tuple(normal), exact)
    return sum((Fraction(x) * w for x, w in zip(normal, exact, strict=True)), Fraction(0))


def _best_actions(exam: Exam, weights: Any) -> list[Any]:
    """All best actions of the agent in each state asked about."""
    if exam.known is None:
        raise InvalidParameter(
            "an exam of actions from a file does not hold its task; make it from the task"
        )
    plans = {
        part.member: solve(part.task.mdp, weights, arithmetic="exact") for part in exam.known.parts
    }
    return [tuple(plans[q.member].optimal_actions(q.state)) for q in exam.questions]
