"""Exams and audits in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from didact.auditing import Audit, Exam
from didact.auditing.questions import ExamQuestion
from didact.inputs import counted, shown_name

VERDICTS = {"pass": "PASSED", "fail": "FAILED", "undecided": "NOT DECIDED"}


def exam_lines(exam: Exam, *, key: bool = False) -> Iterator[str]:
    """The exam: how many questions, what they decide and when, and the questions."""
    yield exam_line(exam)
    yield f"  a pass says: {exam.statement}"
    for condition in exam.conditions:
        yield f"  if {condition}"
    for words in exam.open:
        yield f"  cannot be asked: whether {words}"
    for number, question in enumerate(exam.questions, start=1):
        yield f"  {number}. {question.words}"
        if key:
            yield f"     key: {key_words(question)}"


def exam_line(exam: Exam) -> str:
    """How many questions, and whether fewer would do."""
    asked = counted(len(exam.questions), "question")
    if exam.is_fewest:
        size = "proved fewest: no exam of this kind has fewer"
    else:
        checked = "proved" if exam.verified else "not checked"
        size = f"at least {exam.lower_bound} are needed ({checked})"
    decides = "" if exam.can_pass else " It passes nobody: right answers do not decide."
    return f"{shown_name(exam.task_name)}: {asked} about {exam.ask}; {size}.{decides}"


def key_words(question: ExamQuestion) -> str:
    """The right answer, what it costs to be wrong, and what it says of the features."""
    if question.kind == "action":
        right = ", ".join(question.labels[action] for action in question.key)
    elif question.key == "equal":
        right = "equal"
    else:
        right = f"{question.key}, {question.labels[0 if question.key == 'first' else 1]}"
    cost = f", by {float(question.margin):.4g}" if question.margin else ""
    return f"{right}{cost}" + ("" if question.says is None else f": {question.says}")


def audit_lines(name: str, audit: Audit) -> Iterator[str]:
    """The verdict, what it says, and where the agent acts otherwise."""
    yield f"{shown_name(name)}: {VERDICTS[audit.verdict]}: {audit.reason}."
    says = {"pass": "so", "fail": "so it is not true that", "undecided": "open is whether"}
    yield f"  {says[audit.verdict]} {audit.statement}"
    if audit.situation is not None and audit.situation.words != audit.reason:
        yield f"  {audit.situation.words}"
    for line in _numbers(audit):
        yield f"  {line}"


def _numbers(audit: Audit) -> Iterator[str]:
    found: dict[str, Any] = vars(audit)
    if found["loss"] is not None:
        yield f"it loses {audit.loss:.4g} from the start"
    if found["loss_bound"] is not None:
        yield f"it loses at most {audit.loss_bound:.4g} from any state that it comes to"
    if audit.same is not None and audit.agent == "weights":
        yield f"it holds {'the same' if audit.same else 'other'} actions best"
    if audit.n_asked:
        yield f"{counted(audit.n_asked, 'answer')} {'was' if audit.n_asked == 1 else 'were'} needed"
