"""Verdicts in words: of `check` on demonstrations and other feedback; exams, audits of agents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from didact.auditing import Audit, Exam
from didact.auditing.questions import ExamQuestion
from didact.inputs import counted, shown_name
from didact.mdp import Family, Task
from didact.mdp.naming import action_words, pair_words, step_words
from didact.report.words import Description, Listing
from didact.report.words.lessons import (
    LEARNERS,
    close_calls,
    closed_words,
    hardest_words,
    listed_states,
    statement_words,
    witness_line,
)
from didact.teaching import Verdict
from didact.teaching.check import SuggestedStarts
from didact.teaching.feedback.halfspaces import WrongPair
from didact.teaching.loss.search import Worst

MAX_WRONG = 4
"""Wrong steps and items that are told one by one, unless all are asked for."""


def describe_verdict(
    task: Task | Family,
    verdict: Verdict,
    n: int,
    verified: str | None,
    *,
    further: SuggestedStarts | None = None,
    costs: Sequence[Worst] = (),
) -> Description:
    """Whether n demonstrations or items teach, which steps are wrong, and what stays open.

    verified: what the checker said of a proof. further: demonstrations that complete the right
    steps. costs: what the right steps may still cost each kind of learner.
    """
    facts: list[str | Listing] = ["Proof verified."] if verified else []
    wrong = [f"item {w.item + 1} is not true: {w.words} (worse by {w.gap:.4g})"
             for w in verdict.wrong_items]  # fmt: skip
    facts.append(Listing("", tuple(wrong), MAX_WRONG, "item that is not true"))
    told = tuple(_wrong_line(task, pair) for pair in verdict.wrong)
    facts.append(Listing("", told, MAX_WRONG, "wrong step"))
    if verdict.right_teaches:
        facts.append(closed_words(verdict.closed))
    if verdict.hardest is not None:
        facts.append(hardest_words(verdict.hardest))
    details: list[str | Listing] = []
    if verdict.missing is not None:
        facts += _open_facts(task, verdict)
        if verdict.witness is not None and isinstance(task, Task):
            whole = not (verdict.wrong or verdict.wrong_items)
            details.append(witness_line(task, verdict.witness, verdict.loss, not whole))
    if further is not None and isinstance(task, Task):
        facts.append(_further_line(task, further))
    facts += _cost_lines(costs, task.names if isinstance(task, Family) else None)
    details += [f"checker: {verified}"] if verified else []
    more = (
        "weights that fit and are wrong" if verdict.missing is not None else "the checker's words"
    )
    return Description(_sentence(task, verdict, n), tuple(facts), tuple(details), more)


def _sentence(task: Task | Family, verdict: Verdict, n: int) -> str:
    is_mixed = verdict.hardest is not None or bool(verdict.wrong_items)
    name = f"{shown_name(task.name)}: {counted(n, 'item' if is_mixed else 'demonstration')}"
    n_wrong = len(verdict.wrong) + len(verdict.wrong_items)
    one = n == 1 and not n_wrong
    if n_wrong and is_mixed:
        name += f", {n_wrong} of them wrong: the right ones alone"
    elif n_wrong:
        name += f", {counted(n_wrong, 'wrong step')} of {verdict.n_steps}: the right steps alone"
    if verdict.missing is None:
        up_to = f" {close_calls(verdict.n_close_calls)}" if verdict.n_close_calls else ""
        verb = "teaches" if one else "teach"
    else:
        up_to, verb = "", "does NOT teach" if one else "do NOT teach"
    what = counted(len(task), "member") if isinstance(task, Family) else "it"
    return f"{name} {verb} {what}{up_to}{', decided exactly' if is_mixed else ''}."


def _wrong_line(task: Task | Family, pair: WrongPair) -> str:
    where, named = task, ""
    if isinstance(task, Family):
        where = task[pair.member or 0]
        named = f"{shown_name(where.name)}: "
    assert isinstance(where, Task)
    line = (
        f"{step_words(pair.demonstration, pair.step)}: {named}"
        f"{pair_words(where, pair.state, pair.action)} is not optimal, "
        f"{action_words(where, pair.better)} is better by {pair.gap:.3g}"
    )
    if pair.contradicted_by and isinstance(task, Task):
        others = ", ".join(pair_words(where, s, a) for s, a in pair.contradicted_by)
        line += f"; it contradicts what is shown elsewhere: {others}"
    return line


def _open_facts(task: Task | Family, verdict: Verdict) -> Iterator[str]:
    total = verdict.n_facets + verdict.n_equalities
    if isinstance(task, Family):
        member, state, action, other = verdict.missing or ()
        where = f"{shown_name(task.names[member])}: "
        where += statement_words(task[member], state, action, other)
    else:
        where = statement_words(task, *(verdict.missing or ()))
    of = f" ({verdict.n_open} of {counted(total, 'constraint')})" if verdict.n_open else ""
    yield f"open: {where}: {verdict.missing_words}{of}"
    if verdict.witness is not None:
        yield f"a learner that fits the right steps may lose {verdict.loss:.3g}"


def _further_line(task: Task, found: SuggestedStarts) -> str:
    """Which further demonstrations complete what was shown, as checked."""
    n = len(found.lesson.demonstrations)
    begin = f"{counted(n, 'more demonstration')} that {'begins' if n == 1 else 'begin'}"
    return f"with {begin} in {listed_states(task, found.starts)}, they teach it, checked"


def _cost_lines(costs: Sequence[Worst], names: Sequence[str] | None = None) -> Iterator[str]:
    """What demonstrations may still cost each kind of learner, and whether that is certain.

    names: of the members, for a family.
    """
    for worst in costs:
        certain = worst.status == "enumerated"
        how = "lose at most" if certain else "may lose"
        end = "every class of policies that fits was visited" if certain else "found by search"
        where = f" ({worst.loss:.4g})"
        if names is not None:
            where = "" if worst.member is None else f" in {shown_name(names[worst.member])}"
        yield f"{LEARNERS[worst.learner]} {how} {100 * worst.share:.3g}%{where}: {end}"


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
