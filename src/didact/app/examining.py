"""Exams for a person or an uploaded policy, as the studio asks and grades them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from didact.app.fitting import as_task
from didact.app.lessons import class_for, read_settings
from didact.auditing import Audit, Exam, audit, exam
from didact.errors import InvalidParameter
from didact.inputs import choice, shown, whole_number
from didact.mdp import Family, Task

KINDS = ("comparisons", "actions")
SIDES = ("first", "second", "equal")


def _exam(task: Task, question: Mapping[str, Any]) -> Exam:
    ask: Any = choice(question.get("ask", KINDS[0]), "ask", KINDS)
    scope = read_settings(question.get("settings", {}))["scope"]
    return exam(task, ask=ask, known=class_for(task, scope))


def asked_exam(subject: Task | Family, question: Mapping[str, Any]) -> dict[str, Any]:
    """The shortest exam of a world, without its key."""
    task = as_task(subject)
    made = _exam(task, question)
    return {
        "questions": [
            {
                "kind": each.kind,
                "state": each.state,
                "words": each.words,
                "labels": list(each.labels),
            }
            for each in made.questions
        ],
        "statement": made.statement,
        "conditions": list(made.conditions),
        "is_fewest": made.is_fewest,
        "is_proved": made.is_proved,
        "can_pass": made.can_pass,
        "open": list(made.open),
    }


def graded_exam(subject: Task | Family, question: Mapping[str, Any]) -> dict[str, Any]:
    """The grade of answers to the exam of a world, with the right ones."""
    task = as_task(subject)
    made = _exam(task, question)
    given = question.get("answers")
    if not isinstance(given, list) or len(given) != len(made.questions):
        raise InvalidParameter(
            f"answers must be a list, one for each of {len(made.questions)} questions; it is "
            f"{shown(given)}"
        )
    return {
        **_graded(made.grade(given)),
        "key": [
            list(each.key) if isinstance(each.key, tuple) else each.key for each in made.questions
        ],
        "says": [each.says for each in made.questions],
    }


def audited_policy(subject: Task | Family, question: Mapping[str, Any]) -> dict[str, Any]:
    """Whether a policy, one action for each state, is aligned with a world."""
    task = as_task(subject)
    given = question.get("policy")
    if not isinstance(given, list) or len(given) != task.mdp.n_states:
        raise InvalidParameter(
            f"policy must be a list of {task.mdp.n_states} actions, one for each state; it is "
            f"{shown(given)}"
        )
    actions = [
        whole_number(action, f"policy[{i}]", 0, task.mdp.n_actions - 1)
        for i, action in enumerate(given)
    ]
    scope = read_settings(question.get("settings", {}))["scope"]
    return _graded(audit(task, actions, known=class_for(task, scope)))


def _graded(found: Audit) -> dict[str, Any]:
    told = found.to_dict()
    return {name: told[name] for name in ("verdict", "statement", "reason", "question", "loss")}
