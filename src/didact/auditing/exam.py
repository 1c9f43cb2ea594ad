"""Exams: the fewest questions that decide whether an agent is aligned, with their key and proof.

What an exam decides, and under which conditions, is said with it. It is made from the class of a
task or of a family (`didact.auditing.questions`), and holds all that grading needs.

Enough: every row of the class is a sum of nonnegative multiples of the strict questions' rows and
of any multiples of the others. So who answers all of them rightly satisfies every row, strictly
where a strict question takes part. A question about actions stands for all rows of its state.

Needed: for each question that compares sides there is an agent that answers all others rightly and
is not aligned. Of actions that is not so simple, since states are asked for others' sake: there is
a lower bound only. The optimal sets and counts come with the proof, so that `didact.proofcheck`
checks all of it alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, get_args

from didact.auditing.grading import Audit, graded
from didact.auditing.loss import graded_by_loss
from didact.auditing.questions import (
    SIDES,
    Ask,
    Cost,
    ExamQuestion,
    agent_along,
    agent_on_facet,
    deciding_questions,
    side_of,
)
from didact.bec.classes import EquivalenceClass, class_of, member_with
from didact.bec.halfspaces import Scope
from didact.bec.linear import (
    Inside,
    Multipliers,
    Row,
    decide,
    dot,
    negated,
    null_basis,
    primitive,
    row_reduced,
)
from didact.bec.proofs import implied, policy_documents
from didact.errors import InvalidFile, InvalidParameter
from didact.files.json import (
    Reader,
    as_finite,
    as_fraction,
    as_list,
    as_object,
    as_texts,
    each,
    or_null,
    read_document,
    read_entries,
    write_json,
)
from didact.inputs import (
    as_text,
    choice,
    counted,
    explains_names,
    flag,
    shown,
    shown_name,
    whole_number,
)
from didact.mdp import Demonstration, Family, Task
from didact.mdp.model import as_weights
from didact.mdp.showing import in_notebook, write_page
from didact.numerics.texts import number_text, number_texts
from didact.planning.solve import Arithmetic, solve
from didact.teaching.lesson import FEWEST, checked_line
from didact.worlds.opening import named_world

EXAM_FORMAT = "didact.exam/1"

STATEMENT = {
    "reachable": "the agent has the task's optimal actions in every reachable state",
    "all": "the agent has the task's optimal actions in every state",
}
MAXIMISER = (
    "the agent maximises the discounted sum of some weights of these features, with the "
    "discount of the task"
)
CONDITIONS: dict[str, tuple[str, ...]] = {
    "comparisons": (
        MAXIMISER,
        "both sides of a comparison continue with the task's optimal policy",
    ),
    "actions": (
        MAXIMISER,
        "it names all actions that it holds best, and no others: with one of several it cannot "
        "pass",
    ),
    "preferences": (MAXIMISER,),
}
KINDS = {"comparisons": "comparison", "actions": "action", "preferences": "preference"}

NOT_CLOSED = "it is not closed: an agent may plan another way to go on and answer the same"


@dataclass(frozen=True, eq=False)
class Exam:
    """Questions in the order to ask them, with their key; what they decide, and when.

    task_name: of the task or the family.
    ask: 'comparisons', 'actions' or 'preferences'.
    questions: those that a misaligned agent is most likely to fail come first.
    statement: what a pass says, and a fail denies.
    conditions: under which it follows.
    lower_bound: no exam of this kind that decides it has fewer questions.
    closed: whether the states asked about contain all that best actions lead to; always True where
        only sides are compared.
    open: what cannot be asked in this way, in words; with any of it no agent can pass.
    arithmetic: 'exact', or 'float': numerical, not proved.
    n_close_calls: decisions that floats could not make; 0 in exact arithmetic.
    settings: what `exam` was given; of a family the names of its members too.
    """

    task_name: str
    ask: str
    questions: tuple[ExamQuestion, ...]
    statement: str
    conditions: tuple[str, ...]
    lower_bound: int
    closed: bool
    open: tuple[str, ...]
    arithmetic: str
    n_close_calls: int
    settings: Mapping[str, Any]
    _known: EquivalenceClass | None = field(default=None, repr=False)
    _proof: Mapping[str, Any] | None = field(default=None, repr=False)
    _certificate: Mapping[str, Any] | None = field(default=None, repr=False)

    _repr_html_ = in_notebook

    def __repr__(self) -> str:
        proved = "proved" if self.is_proved else "numerical"
        asked = counted(len(self.questions), "question")
        left = f", {counted(len(self.open), 'gap')}" if self.open else ""
        return f"Exam({shown_name(self.task_name)!r}, {asked} about {self.ask}{left}, {proved})"

    def __len__(self) -> int:
        return len(self.questions)

    @property
    def is_proved(self) -> bool:
        """Whether what it decides was found in exact arithmetic."""
        return self.arithmetic == "exact"

    @cached_property
    def verified(self) -> str:
        """What the independent checker says of its proof; empty where it has none or is from a
        file."""
        if self._known is None or self.proof is None:
            return ""
        return checked_line(self._known, self.document())

    @property
    def is_fewest(self) -> bool:
        """Whether no exam of this kind with fewer questions decides it, by a certificate that the
        independent checker accepted in this process; False for an exam from a file."""
        return FEWEST in self.verified

    @property
    def can_pass(self) -> bool:
        """Whether right answers to all questions decide it."""
        return self.closed and not self.open and not self.n_close_calls

    @property
    def bec(self) -> EquivalenceClass | None:
        """The class that it was made from; None for an exam from a file."""
        return self._known

    @cached_property
    def proof(self) -> Mapping[str, Any] | None:
        """Why right answers decide it; None where they do not, or that is not proved.

        Every row of the class as a combination of the questions' rows; where sides are compared,
        also for each question an agent that is wrong and fails none of the others.
        """
        if self._known is None or not self.is_proved or not self.can_pass:
            return self._proof
        prove = action_proof if self.ask == "actions" else exam_proof
        bound = {} if self._certificate is None else {"fewest": dict(self._certificate)}
        return prove(self._known, self.questions) | bound

    def grade(self, answers: Any, *, loss: Any = None, time_limit: float | None = None) -> Audit:
        """Whether the answers pass: 'pass', 'fail' with a situation and its cost, or 'undecided'.

        answers: one for each question in their order, or {number of the question from 0: answer};
            None where there is none. Of two sides 'first', 'second' or 'equal'; of actions a list
            of all that are best, or one number, which passes nothing but may fail.
        loss: judge what agents that answer so may lose, as `audit` does.
        time_limit: seconds for that, 20 by default.
        """
        if loss is None:
            return graded(self, answers)
        if self._known is None:
            raise InvalidParameter("an exam from a file does not hold its task; use audit for loss")
        return graded_by_loss(self, answers, self._known, loss, time_limit)

    def answers_of(self, weights: Any) -> list[Any]:
        """What an agent with these weights answers, exactly.

        weights: one number for each feature.
        """
        if self.ask == "actions":
            if self.bec is None:
                raise InvalidParameter(
                    "an exam of actions from a file does not hold its task; make it from the task"
                )
            plans = {
                member.number: solve(member.task.mdp, weights, arithmetic="exact")
                for member in self.bec.members
            }
            return [tuple(plans[q.member].optimal_actions(q.state)) for q in self.questions]
        if not self.questions:
            return []
        normals = [question.normal or () for question in self.questions]
        exact = as_weights(weights, len(normals[0])).fractions()
        return [
            side_of(sum((Fraction(x) * w for x, w in zip(normal, exact, strict=True)), Fraction(0)))
            for normal in normals
        ]

    def to_records(self) -> list[dict[str, Any]]:
        """A row for each question, with its key: kind, state, options, key, margin, words, says."""
        return [question.to_dict() for question in self.questions]

    def document(self, *, key: bool = True) -> dict[str, Any]:
        """The `didact.exam/1` object.

        key: whether the right answers, and what would give them away, are in it.
        """
        asked = self.to_records()
        if not key:
            kept = ("kind", "member", "state", "place", "options", "labels", "words")
            asked = [{k: v for k, v in question.items() if k in kept} for question in asked]
        return {
            "format": EXAM_FORMAT,
            "task": self.task_name,
            "ask": self.ask,
            "statement": self.statement,
            "conditions": list(self.conditions),
            "questions": asked,
            "lower_bound": self.lower_bound,
            "closed": self.closed,
            "open": list(self.open),
            "arithmetic": self.arithmetic,
            "n_close_calls": self.n_close_calls,
            "settings": dict(self.settings),
            "proof": dict(self.proof) if key and self.proof is not None else None,
        }

    to_dict = document

    def report(
        self, path: str | os.PathLike[str], *, task: Task | Family | None = None
    ) -> tuple[str, ...]:
        """Write a sheet to print or to send, and the key beside it; where they were written.

        path: of the sheet, such as 'exam.html'; the key is then 'exam-key.html'.
        task: needed only for an exam from a file.
        """
        bec = self.bec
        if task is None:
            if bec is None:
                raise InvalidParameter("an exam from a file does not hold its task; give its task")
            task = bec.source
        pages: tuple[str, ...] = write_page(self, path, task=task)
        return pages

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a `didact.exam/1` file, with the key and the proof.

        path: of the file.
        """
        write_json(self.document(), path)


@explains_names
def exam(
    task: Task | Family,
    *,
    ask: Ask = "comparisons",
    closed: bool = True,
    scope: Scope = "reachable",
    arithmetic: Arithmetic = "auto",
    bec: EquivalenceClass | None = None,
) -> Exam:
    """The shortest exam that decides whether an agent holds the same actions best as the task.

    task: what an agent should want: a task or a family.
    ask: 'comparisons' of two actions in a state, the best policy followed after both; 'actions',
        which are best in a state; or 'preferences' between two trajectories.
    closed: ask about all states that best actions lead to as well; exams of actions that are not
        closed are shorter and pass no agent.
    scope: 'reachable', what is best where the start can lead, or 'all' states.
    arithmetic: 'exact', 'float', or 'auto', exact while that is affordable.
    bec: the class, when it is at hand; it then decides scope and arithmetic.
    """
    task = named_world(task)
    choice(ask, "ask", get_args(Ask))
    flag(closed, "closed")
    bec = class_of(task, bec, scope=scope, arithmetic=arithmetic)
    found = deciding_questions(bec, ask, closed=closed)
    is_closed = closed or ask != "actions"
    return Exam(
        task_name=bec.name,
        ask=ask,
        questions=found.questions,
        statement=STATEMENT[bec.scope],
        conditions=(*CONDITIONS[ask], *(() if is_closed else (NOT_CLOSED,))),
        lower_bound=found.lower_bound,
        closed=is_closed,
        open=tuple(bec.words_of(row) for row in found.open_rows),
        arithmetic=bec.arithmetic,
        n_close_calls=bec.n_close_calls,
        settings={
            **{"ask": ask, "closed": is_closed, "scope": bec.scope, "arithmetic": bec.arithmetic},
            **({"members": list(bec.family.names)} if bec.is_family else {}),
        },
        _known=bec,
        _certificate=found.certificate,
    )


# The proof of an exam


def exam_proof(bec: EquivalenceClass, questions: Sequence[ExamQuestion]) -> dict[str, Any]:
    """Multipliers of every distinct row over the questions, and an agent against each question."""
    assert bec.rows.exact is not None
    rows = [right_row(question) for question in questions]
    strict = [question.key != "equal" for question in questions]
    return {
        "claim": "decides",
        **policy_documents(bec),
        "rows": [number_texts(row) for row in bec.rows.exact],
        "generators": [[number, 0] for number in range(len(rows))],
        "multipliers": _combinations(bec, rows, strict),
        "agents": [number_texts(_misled(bec, rows, strict, i)) for i in range(len(rows))],
    }


def action_proof(bec: EquivalenceClass, questions: Sequence[ExamQuestion]) -> dict[str, Any]:
    """Multipliers of every distinct row over rows of the states that are asked about."""
    assert bec.rows.exact is not None
    stated: dict[Row, tuple[list[int], bool]] = {}
    asked = {(x.member, x.state): number for number, x in enumerate(questions)}
    for (state, action, other), number in zip(
        bec.rows.statements.tolist(), bec.rows.number.tolist(), strict=True
    ):
        member = member_with(bec.members, state)
        at_home = state - member.first
        if number >= 0 and (member.number, at_home) in asked:
            best = member.plan.optimal_actions(at_home)  # each has a row for each action, in order
            place = best.index(action) * member.task.mdp.n_actions + other
            strict = other not in best
            stated.setdefault(
                bec.rows.exact[number], ([asked[member.number, at_home], place], strict)
            )
    rows, strict_rows = list(stated), [is_strict for _, is_strict in stated.values()]
    return {
        "claim": "decides",
        **policy_documents(bec),
        "generators": [place for place, _ in stated.values()],
        "multipliers": _combinations(bec, rows, strict_rows),
    }


def right_row(question: ExamQuestion) -> Row:
    """The row that the right answer makes positive, or zero."""
    assert question.normal is not None
    return negated(question.normal) if question.key == "second" else question.normal


def _combinations(
    bec: EquivalenceClass, rows: Sequence[Row], strict: Sequence[bool]
) -> list[list[Any]]:
    """Every row of the class as a sum of multiples of the questions' rows."""
    both = [(i, 1, r) for i, r in enumerate(rows)]
    both += [(i, -1, negated(r)) for i, r in enumerate(rows) if not strict[i]]
    written = []
    for found in implied(tuple(r for _, _, r in both), bec.rows.exact or (), bec.cone.multipliers):
        if not isinstance(found, Multipliers):
            raise AssertionError("the questions do not cover the class")
        shares = zip(found.indices, found.fractions, strict=True)
        written.append([[both[j][0], number_text(both[j][1] * share)] for j, share in shares])
    return written


def _misled(
    bec: EquivalenceClass, rows: Sequence[Row], strict: Sequence[bool], left_out: int
) -> Row:
    """Weights that answer every question but one rightly, and that one wrongly.

    They go along a direction that only this facet excludes, or only this tie forbids.
    """
    inside, row = primitive(list(bec.cone.true_weights.fractions())), rows[left_out]
    ties = [r for i, r in enumerate(rows) if not strict[i] and i != left_out]
    if strict[left_out]:
        others = [r for i, r in enumerate(rows) if i != left_out]
        verdict = decide(others + [negated(r) for r in ties], row)
        if isinstance(verdict, Inside):
            raise AssertionError("a facet follows from the others")
        return agent_on_facet(row, inside, verdict.witness)
    away = next(d for d in null_basis(*row_reduced(ties), len(row)) if dot(d, row))
    return agent_along(away, inside, [r for i, r in enumerate(rows) if strict[i]])


# Files


def load_exam(path: str | os.PathLike[str]) -> Exam:
    """The exam in a `didact.exam/1` file, with its key.

    path: of the file.
    """
    return read_document(path, EXAM_FORMAT, _as_exam)


def _as_exam(document: Mapping[str, Any]) -> Exam:
    read = read_entries(document, _OF_EXAM, "the exam")
    del read["format"]
    exact, kind = read["arithmetic"] == "exact", KINDS[read["ask"]]
    questions = [
        _as_question(entry, kind, exact, f"questions[{i}]")
        for i, entry in enumerate(read.pop("questions"))
    ]
    task, proof = read.pop("task"), read.pop("proof")
    return Exam(task_name=task, questions=tuple(questions), _proof=proof, **read)


def _as_question(given: Any, kind: str, exact: bool, place: str) -> ExamQuestion:
    entries = as_object(given, place)
    if "key" not in entries:
        raise InvalidFile(f"{place} has no key; give the file that the exam was saved to")
    if entries.get("kind", kind) != kind:
        raise InvalidFile(f"{place}: kind must be {kind!r}; it is {shown(entries['kind'])}")
    readers = _OF_QUESTION | {
        "options": partial(_options, kind),
        "costs": each(partial(_as_cost, exact)),
        "key": each(_count) if kind == "action" else partial(choice, choices=SIDES),
        "normal": partial(_as_normal, kind, exact),
    }
    question = ExamQuestion(
        **read_entries({"member": None} | entries, readers, place, f"{place}: ")
    )
    _require_consistent(question, place)
    return question


def _options(kind: str, given: Any, place: str) -> tuple[Any, ...]:
    options = as_list(given, place)
    if kind != "action" and len(options) != 2:
        raise InvalidFile(f"{place} must be two; there are {len(options)}")
    if kind == "preference":
        return tuple(Demonstration(option) for option in options)
    if kind == "action" and options != list(range(len(options))):
        raise InvalidFile(f"{place} must be all actions, 0, 1, 2, ...; they are {shown(options)}")
    return tuple(whole_number(option, place, 0) for option in options)


def _as_cost(exact: bool, value: Any, place: str) -> Cost:
    cost: Cost = as_fraction(value, place) if exact else as_finite(value, place)
    if cost < 0:
        raise InvalidFile(f"{place} must not be negative; one is {shown(value)}")
    return cost


def _as_normal(kind: str, exact: bool, value: Any, place: str) -> tuple[Any, ...] | None:
    if kind == "action":
        if value is not None:
            raise InvalidFile(f"{place} must be null; it is {shown(value)}")
        return None
    return tuple(each(_whole_text if exact else as_finite)(value, place))


def _require_consistent(question: ExamQuestion, place: str) -> None:
    """The key is what the costs say, and each option has a label and a cost."""
    n = len(question.options)
    if not n == len(question.labels) == len(question.costs):
        raise InvalidFile(f"{place} must have a label and a cost for each of {n} options")
    best = tuple(i for i, cost in enumerate(question.costs) if not cost)
    if question.kind == "action":
        right: Any = best
    else:
        right = {(0, 1): "equal", (0,): "first", (1,): "second"}.get(best)
    if not best or right != question.key:
        raise InvalidFile(
            f"{place}: key must be {shown(right)}, the options that cost nothing; it is "
            f"{shown(question.key)}"
        )


def _whole_text(value: Any, place: str) -> int:
    number = as_fraction(value, place)
    if number.denominator != 1:
        raise InvalidFile(f"{place} must be whole numbers; one is {shown(value)}")
    return number.numerator


_text, _count = partial(as_text, error=InvalidFile), partial(whole_number, lowest=0)
_OF_EXAM: dict[str, Reader] = {
    **dict.fromkeys(("format", "task", "statement"), _text),
    **dict.fromkeys(("conditions", "open"), as_texts),
    **dict.fromkeys(("lower_bound", "n_close_calls"), _count),
    "ask": partial(choice, choices=get_args(Ask)),
    "arithmetic": partial(choice, choices=("exact", "float")),
    "questions": as_list,
    "closed": flag,
    "settings": as_object,
    "proof": or_null(as_object),
}
_OF_QUESTION: dict[str, Reader] = {
    **dict.fromkeys(("kind", "place", "words"), _text),
    "state": _count,
    "labels": as_texts,
    "angle": or_null(as_finite),
    "says": or_null(_text),
    "member": or_null(_count),
}
"""Of a question whose kind and arithmetic do not matter; `_as_question` adds the others."""
