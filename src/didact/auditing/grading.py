"""Grades: the result of an audit, and what follows from answers to an exam, nothing more.

A wrong answer fails, whatever else was answered. A pass needs all questions answered rightly, and
an exam whose right answers decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from didact.auditing.questions import SIDES, ExamQuestion
from didact.errors import InvalidParameter
from didact.inputs import counted, entries, is_whole, nearest_spelling, shown, whole_in
from didact.mdp.showing import in_notebook
from didact.numerics.texts import number_text

if TYPE_CHECKING:
    from didact.auditing.exam import Exam

Outcome = Literal["pass", "fail", "undecided"]


@dataclass(frozen=True)
class CostlyState:
    """Where an agent acts otherwise than the task asks, and what that costs.

    state: where; member: whose state it is, in a family.
    action: what the agent takes, or holds as good as the best; None where it only leaves out an
        action that is as good as those it takes. In a comparison it is what it takes when it is
        offered both ways; where it may go on as it likes, it may act otherwise.
    better: an action that is best there.
    cost: what taking the action there costs, in return; 0 where it costs nothing.
    exact_cost: the same as a fraction; None in floats.
    words: the same in words.
    """

    state: int
    action: int | None
    better: int
    cost: float
    exact_cost: Fraction | None
    words: str
    member: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The same for machines; the fraction as a text, the member only in a family."""
        exact = None if self.exact_cost is None else number_text(self.exact_cost)
        named = {**vars(self), "exact_cost": exact}
        return {k: v for k, v in named.items() if k != "member" or v is not None}


@dataclass(frozen=True, eq=False)
class Audit:
    """Whether an agent is aligned with a task: decided, or what is in the way of deciding.

    verdict: 'pass', 'fail' or 'undecided'; a pass is only said where it follows.
    statement: what a pass says, and a fail denies.
    reason: why it is so, in words.
    agent: how the agent was looked at: 'answers', 'weights', 'policy', 'asked',
        'demonstrations' or 'belief'.
    n_asked: how many questions were answered.
    question: the number of the question that was failed, from 0; None where none was.
    answer: what was answered to it.
    situation: where the agent acts otherwise, and what it costs; None where it does not.
    loss: what the agent loses from the start, ties broken as badly as can be; None where not known.
    loss_bound: it loses at most so much, from any state that was looked at, or from the start where
        a bound on the loss was asked for; None where not known.
    same: whether it holds the same actions best in every state; None where not known.
    share: of a belief, the share of draws that never act wrongly, with `low` and `high`, the ends
        of its 95% interval.
    witness: weights that answer as the agent did and lose more than was allowed; None without.
    """

    verdict: Outcome
    statement: str
    reason: str
    agent: str
    n_asked: int = 0
    question: int | None = None
    answer: Any = None
    situation: CostlyState | None = None
    loss: float | None = None
    loss_bound: float | None = None
    same: bool | None = None
    share: Mapping[str, float] | None = None
    witness: tuple[float, ...] | None = None

    _repr_html_ = in_notebook

    @property
    def passed(self) -> bool:
        """Whether the verdict is 'pass'."""
        return self.verdict == "pass"

    def __repr__(self) -> str:
        asked = f", {counted(self.n_asked, 'answer')}" if self.n_asked else ""
        return f"Audit({self.verdict}, by {self.agent}{asked}: {self.reason})"

    def to_dict(self) -> dict[str, Any]:
        """The same for machines."""
        answer = list(self.answer) if isinstance(self.answer, tuple) else self.answer
        return {
            **vars(self),
            "answer": answer,
            "situation": None if self.situation is None else self.situation.to_dict(),
            "witness": None if self.witness is None else list(self.witness),
            "share": None if self.share is None else dict(self.share),
        }


def graded(exam: Exam, given: Any) -> Audit:
    """The grade of answers, one for each question or by number."""
    answers = as_answers(exam, given)
    n_asked = sum(answer is not None for answer in answers)
    for number, (question, answer) in enumerate(zip(exam.questions, answers, strict=True)):
        if answer is not None and not is_right(question, answer):
            given, right = answer_words(answer), answer_words(question.key)
            wrong = f"question {number + 1} is answered {given}, right is {right}"
            found = (n_asked, number, answer, situation_of(question, answer))
            return Audit("fail", exam.statement, wrong, "answers", *found, same=False)
    reason = _undecided(exam, answers)
    if reason is not None:
        return Audit("undecided", exam.statement, reason, "answers", n_asked)
    reason = "every question is answered rightly" if answers else "there is nothing to ask"
    return Audit("pass", exam.statement, reason, "answers", n_asked, same=True)


def as_answers(exam: Exam, given: Any) -> list[Any]:
    """One checked answer for each question; None where there is none."""
    n = len(exam.questions)
    if isinstance(given, Mapping):
        answers: list[Any] = [None] * n
        for number, answer in given.items():
            at = whole_in(number) if isinstance(number, str) else number
            if not is_whole(at) or not 0 <= at < n:
                raise InvalidParameter(
                    f"answers must be to questions 0 to {n - 1}; one is to {shown(number)}"
                )
            answers[int(at)] = answer
    else:
        answers = entries(given, "answers", "answers")
    if len(answers) != n:
        raise InvalidParameter(
            f"answers must be to each of the {counted(n, 'question')}, None where there is none; "
            f"there are {len(answers)}"
        )
    return [
        None if answer is None else as_answer(question, answer, f"answers[{i}]")
        for i, (question, answer) in enumerate(zip(exam.questions, answers, strict=True))
    ]


def as_answer(question: ExamQuestion, answer: Any, place: str) -> Any:
    """A side, an action, or a tuple of all actions that are held best."""
    if question.kind != "action":
        if isinstance(answer, str) and answer in SIDES:
            return answer
        raise InvalidParameter(
            f"{place} must be 'first', 'second' or 'equal'; it is {shown(answer)}"
            f"{nearest_spelling(answer, SIDES)}"
        )
    if is_whole(answer):
        return _as_action(question, answer, place)
    if isinstance(answer, str | bytes) or not isinstance(answer, Iterable):
        raise InvalidParameter(
            f"{place} must be an action, or a list of all that are best; it is {shown(answer)}"
        )
    named = tuple(
        sorted({_as_action(question, a, place) for a in entries(answer, place, "numbers")})
    )
    if not named:
        raise InvalidParameter(f"{place} must name at least one action; it names none")
    return named


def _as_action(question: ExamQuestion, action: Any, place: str) -> int:
    if is_whole(action) and 0 <= action < len(question.options):
        return int(action)
    raise InvalidParameter(
        f"{place} must be an action from 0 to {len(question.options) - 1}; it is {shown(action)}"
    )


def is_right(question: ExamQuestion, answer: Any) -> bool:
    """Whether an answer is the key, or a single action one of the best."""
    if question.kind == "action" and isinstance(answer, int):
        return answer in question.key
    return bool(answer == question.key)


def _undecided(exam: Exam, answers: list[Any]) -> str | None:
    """Why right answers do not pass; None where they do."""
    n_open = sum(answer is None for answer in answers)
    if n_open:
        return f"{counted(n_open, 'question')} of {len(answers)} {_are(n_open)} not answered"
    if exam.open:
        return f"the exam cannot ask whether {exam.open[0]}"
    if not exam.closed:
        return "the exam is not closed, so right answers do not decide; make it with closed=True"
    if exam.n_close_calls:
        return f"{counted(exam.n_close_calls, 'close call')} could not be decided in floats"
    n_single = sum(isinstance(answer, int) for answer in answers)
    if n_single:
        return (
            f"{counted(n_single, 'answer')} {_are(n_single)} a single action; what else the agent "
            "holds as good is not known. Answer with a list of all that are best"
        )
    return None


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def answer_words(answer: Any) -> str:
    """An answer in words: a side, or the numbers of actions."""
    if isinstance(answer, tuple):
        return "actions " + ", ".join(map(str, answer)) if len(answer) > 1 else f"only {answer[0]}"
    return f"action {answer}" if isinstance(answer, int) else f"'{answer}'"


def situation_of(question: ExamQuestion, answer: Any) -> CostlyState:
    """Where a wrong answer takes what is worse, and what that costs."""
    taken = _taken(question, answer)
    # The best option that the answer wrongs: one that it leaves out, or the other side.
    named = answer if taken is None else (taken,)
    best = next(i for i, cost in enumerate(question.costs) if not cost and i not in named)
    cost = Fraction(0) if taken is None else question.costs[taken]
    return CostlyState(
        state=question.state,
        action=None if taken is None else _action(question, taken),
        better=_action(question, best),
        cost=float(cost),
        exact_cost=cost if isinstance(cost, Fraction) else None,
        words=f"in {question.place}{_told(question, taken, best, answer)}",
        member=question.member,
    )


def _taken(question: ExamQuestion, answer: Any) -> int | None:
    """The option that a wrong answer takes or holds as good: the costliest; None where none is."""
    if question.kind == "action":
        named = (answer,) if isinstance(answer, int) else answer
        wrong = [a for a in named if question.costs[a] > 0]
        return max(wrong, key=lambda a: question.costs[a], default=None)
    if answer == "equal":
        return 0 if question.costs[0] > 0 else 1
    return SIDES.index(answer)


def _action(question: ExamQuestion, option: int) -> int:
    """The action that an option begins with."""
    chosen = question.options[option]
    return int(chosen[0][1] if question.kind == "preference" else chosen)


def _told(question: ExamQuestion, taken: int | None, best: int, answer: Any) -> str:
    """What a wrong answer makes the agent do, and what that costs.

    A side is a whole way: what the agent would do where it may go on as it likes is not asked.
    """
    right = question.labels[best]
    if taken is None:
        return f" it leaves out {right}, which is as good; that costs nothing"
    named, cost = question.labels[taken], float(question.costs[taken])
    if question.kind == "action":
        return f" it takes {named}; {right} is better by {cost:.4g}"
    if not cost:
        return f", offered both ways, it prefers {named} to {right}, which is worth the same"
    how = f"holds {named} as good as" if answer == "equal" else f"prefers {named} to"
    return f", offered both ways, it {how} {right}, which is better by {cost:.4g}"
