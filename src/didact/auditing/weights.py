"""What an agent with known weights answers to an exam, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from didact.auditing.questions import side_of
from didact.bec.linear import Row, dot, primitive
from didact.errors import InvalidParameter
from didact.mdp.model import as_weights
from didact.planning import solve

if TYPE_CHECKING:
    from didact.auditing.exam import Exam


def answers_of_weights(exam: Exam, weights: Any) -> list[Any]:
    """What an agent with these weights answers to each question, exactly."""
    if exam.ask == "actions":
        return _best_actions(exam, weights)
    if not exam.questions:
        return []
    normals = [question.normal or () for question in exam.questions]
    exact = primitive(list(as_weights(weights, len(normals[0])).fractions()))
    return [side_of(_product(normal, exact)) for normal in normals]


def _product(normal: Sequence[Any], weights: Row) -> Any:
    """The product of a question's normal with weights, of the right sign; exact with integers."""
    if all(isinstance(entry, int) for entry in normal):
        return dot(tuple(normal), weights)
    return sum((Fraction(x) * w for x, w in zip(normal, weights, strict=True)), Fraction(0))


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
