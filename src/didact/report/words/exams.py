"""Exams and audits in words."""

from __future__ import annotations

from collections.abc import Iterator

from didact.auditing import Audit, Exam
from didact.auditing.questions import ExamQuestion
from didact.inputs import counted, shown_name
from didact.report.words import Description, Listing

VERDICTS = {"pass": "PASSED", "fail": "FAILED", "undecided": "NOT DECIDED"}
MAX_QUESTIONS, MAX_LONG, MAX_OPEN = 9, 3, 2
"""Questions that are listed, those between trajectories, and what cannot be asked."""


def describe_exam(exam: Exam, *, key: bool = False, verified: str | None = None) -> Description:
    """How many questions, what they decide and when, and the questions.

    key: whether the right answers stand beside them. verified: what the checker said.
    """
    would = "" if exam.can_pass else "would "
    facts: list[str | Listing] = [f"a pass {would}show{'' if would else 's'}: {exam.statement}"]
    facts += [f"if {condition}" for condition in exam.conditions]
    left = tuple(f"cannot be asked: whether {words}" for words in exam.open)
    facts.append(Listing("", left, MAX_OPEN, "such half-space"))
    facts.append(_questions(exam, key=key))
    facts += [] if verified is None else [verified]
    told = tuple(
        f"{number}. {question.words}" + (f" Key: {key_words(question)}" if key else "")
        for number, question in enumerate(exam.questions, start=1)
    )
    details = (Listing("the questions in full:", told, len(told)),) if told else ()
    return Description(exam_line(exam), tuple(facts), details, "the questions in full")


_ASKED = {
    "comparisons": "which is worth more, each followed by the task's optimal policy?",
    "preferences": "which trajectory is worth more?",
    "actions": "which actions are optimal? name all of them",
}


def _questions(exam: Exam, *, key: bool) -> Listing:
    """What is asked, and a line for each question: where, and between what."""
    all_labels = {question.labels for question in exam.questions}
    same = exam.ask == "actions" and len(all_labels) == 1
    title = _ASKED[exam.ask]
    if same:
        title += f" ({', '.join(next(iter(all_labels)))})"
    lines = []
    for number, question in enumerate(exam.questions, start=1):
        sides = "" if same else f": {' or '.join(question.labels)}"
        if exam.ask == "preferences":
            sides = f": {'; or '.join(question.labels)}"
        answer = f"; key: {_answer_words(question)}" if key else ""
        lines.append(f"{number}. {question.place}{sides}{answer}")
    most = MAX_LONG if exam.ask == "preferences" else MAX_QUESTIONS
    return Listing(title, tuple(lines), most, "question")


def exam_line(exam: Exam) -> str:
    """How many questions, and whether fewer would do."""
    asked = f"{counted(len(exam.questions), 'question')} about {exam.ask}"
    if exam.is_fewest:
        size = "proved fewest"
    else:
        checked = "proved" if exam.verified else "not checked"
        size = f"at least {exam.lower_bound} are needed ({checked})"
    decides = "" if exam.can_pass else " No agent can pass: right answers do not decide it."
    return f"{shown_name(exam.task_name)}: {asked}, {size}.{decides}"


def _answer_words(question: ExamQuestion) -> str:
    """The right answer, and what it costs to be wrong."""
    if question.kind == "action":
        right = ", ".join(question.labels[action] for action in question.key)
    elif question.key == "equal":
        right = "equal"
    else:
        right = f"{question.key}, {question.labels[0 if question.key == 'first' else 1]}"
    return f"{right}, by {float(question.margin):.4g}" if question.margin else right


def key_words(question: ExamQuestion) -> str:
    """The right answer, what it costs to be wrong, and what it says of the features."""
    says = "" if question.says is None else f": {question.says}"
    return f"{_answer_words(question)}{says}"


def describe_audit(name: str, audit: Audit) -> Description:
    """The verdict, what it says, and where the agent acts otherwise."""
    says = {"pass": "so", "fail": "refuted:", "undecided": "open is whether"}
    facts = [f"{says[audit.verdict]} {audit.statement}"]
    if audit.situation is not None and audit.situation.words != audit.reason:
        facts.append(audit.situation.words)
    verdict = f"{shown_name(name)}: {VERDICTS[audit.verdict]}: {audit.reason}."
    return Description(verdict, (*facts, *_numbers(audit)))


def _numbers(audit: Audit) -> Iterator[str]:
    if audit.loss is not None:
        yield f"it loses {audit.loss:.4g} from the start"
    if audit.loss_bound is not None:
        yield f"it loses at most {audit.loss_bound:.4g} from any state that it reaches"
    if audit.same is not None and audit.agent == "weights":
        yield f"its optimal actions are {'the same' if audit.same else 'others'}"
    if audit.n_asked:
        yield f"{counted(audit.n_asked, 'answer')} {'was' if audit.n_asked == 1 else 'were'} needed"
