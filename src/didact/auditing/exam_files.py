"""Read `didact.exam/1` files; `Exam.save` writes them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, get_args

from didact.auditing.exam import EXAM_FORMAT, Exam
from didact.auditing.questions import SIDES, Ask, Cost, ExamQuestion
from didact.errors import InvalidFile
from didact.files.json import as_finite, as_fraction, as_list, as_object, as_texts, read_document
from didact.inputs import as_text, choice, flag, shown, whole_number
from didact.mdp import Demonstration

FIELDS = (
    *("format", "task", "ask", "statement", "conditions", "questions", "lower_bound", "closed"),
    *("open", "arithmetic", "n_close_calls", "settings", "proof"),
)
OF_QUESTION = (
    *("kind", "state", "place", "options", "labels", "words", "costs", "key", "normal", "angle"),
    "says",
)
KINDS = {"comparisons": "comparison", "actions": "action", "preferences": "preference"}


def load_exam(path: str | os.PathLike[str]) -> Exam:
    """The exam in a `didact.exam/1` file, with its key.

    path: of the file.
    """
    return read_document(path, EXAM_FORMAT, _from_document)


def _from_document(document: Mapping[str, Any]) -> Exam:
    _require_fields(document, FIELDS, "the exam")
    ask = choice(document["ask"], "ask", get_args(Ask))
    arithmetic = choice(document["arithmetic"], "arithmetic", ("exact", "float"))
    proof = document["proof"]
    return Exam(
        task_name=_text(document["task"], "task"),
        ask=ask,
        questions=tuple(
            _as_question(entry, KINDS[ask], arithmetic == "exact", f"questions[{i}]")
            for i, entry in enumerate(as_list(document["questions"], "questions"))
        ),
        statement=_text(document["statement"], "statement"),
        conditions=as_texts(document["conditions"], "conditions"),
        lower_bound=whole_number(document["lower_bound"], "lower_bound", 0),
        closed=flag(document["closed"], "closed"),
        open=as_texts(document["open"], "open"),
        arithmetic=arithmetic,
        n_close_calls=whole_number(document["n_close_calls"], "n_close_calls", 0),
        settings=as_object(document["settings"], "settings"),
        _proof=None if proof is None else as_object(proof, "proof"),
    )


def _as_question(given: Any, kind: str, exact: bool, place: str) -> ExamQuestion:
    entries = as_object(given, place)
    if "key" not in entries:
        raise InvalidFile(f"{place} has no key; give the file that the exam was saved to")
    _require_fields(entries, OF_QUESTION, place, ("member",))
    if entries["kind"] != kind:
        raise InvalidFile(f"{place}: kind must be {kind!r}; it is {shown(entries['kind'])}")
    member, angle, says = entries.get("member"), entries["angle"], entries["says"]
    question = ExamQuestion(
        kind=entries["kind"],
        state=whole_number(entries["state"], f"{place}: state", 0),
        place=_text(entries["place"], f"{place}: place"),
        options=_options(entries["options"], kind, f"{place}: options"),
        labels=as_texts(entries["labels"], f"{place}: labels"),
        costs=tuple(
            _as_cost(cost, exact, f"{place}: costs")
            for cost in as_list(entries["costs"], f"{place}: costs")
        ),
        key=_as_key(entries["key"], kind, f"{place}: key"),
        words=_text(entries["words"], f"{place}: words"),
        normal=_as_normal(entries["normal"], kind, exact, f"{place}: normal"),
        angle=None if angle is None else as_finite(angle, f"{place}: angle"),
        says=None if says is None else _text(says, f"{place}: says"),
        member=None if member is None else whole_number(member, f"{place}: member", 0),
    )
    _require_consistent(question, place)
    return question


def _options(given: Any, kind: str, place: str) -> tuple[Any, ...]:
    options = as_list(given, place)
    if kind != "action" and len(options) != 2:
        raise InvalidFile(f"{place} must be two; there are {len(options)}")
    if kind == "preference":
        return tuple(Demonstration(option) for option in options)
    if kind == "action" and options != list(range(len(options))):
        raise InvalidFile(f"{place} must be all actions, 0, 1, 2, ...; they are {shown(options)}")
    return tuple(whole_number(option, place, 0) for option in options)


def _as_cost(value: Any, exact: bool, place: str) -> Cost:
    cost: Cost = as_fraction(value, place) if exact else as_finite(value, place)
    if cost < 0:
        raise InvalidFile(f"{place} must not be negative; one is {shown(value)}")
    return cost


def _as_key(value: Any, kind: str, place: str) -> Any:
    if kind != "action":
        return choice(value, place, SIDES)
    return tuple(whole_number(action, place, 0) for action in as_list(value, place))


def _as_normal(value: Any, kind: str, exact: bool, place: str) -> tuple[Any, ...] | None:
    if kind == "action":
        if value is not None:
            raise InvalidFile(f"{place} must be null; it is {shown(value)}")
        return None
    read: Callable[[Any, str], Any] = _whole_text if exact else as_finite
    return tuple(read(entry, place) for entry in as_list(value, place))


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


def _text(value: Any, place: str) -> str:
    return as_text(value, place, error=InvalidFile)


def _require_fields(
    entries: Mapping[str, Any], fields: tuple[str, ...], place: str, optional: tuple[str, ...] = ()
) -> None:
    missing = [name for name in fields if name not in entries]
    unknown = [name for name in entries if name not in (*fields, *optional)]
    if missing:
        raise InvalidFile(f"{place} has no {missing[0]}")
    if unknown:
        raise InvalidFile(f"{place} has no entry {shown(min(unknown))}; remove it")
