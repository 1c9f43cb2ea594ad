"""Read lessons of tasks and families, of demonstrations or of several kinds: `didact.lesson/1`.

A file lists `demonstrations`, or of a mix `items` with the words of each; the rest is the same. A
file's own claims are read as they are: they count only once its proof is checked with its task.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from didact.errors import InvalidFile
from didact.files.json import (
    Read,
    as_finite,
    as_fraction,
    as_list,
    as_object,
    as_texts,
    plain_numbers,
    read_document,
)
from didact.inputs import (
    as_text,
    choice,
    flag,
    is_whole,
    shown,
    whole_number,
)
from didact.mdp import Demonstration
from didact.mdp.items import Item, read_item
from didact.numerics.exact import changed, read_number, whole_if_whole
from didact.teaching.lesson import FROM_BAD_TO_GOOD, LESSON_FORMAT, Lesson, Missing, Within, Witness

STATUSES = ("complete", "undecided", "partial")


def load_lesson(path: str | os.PathLike[str]) -> Lesson:
    """The lesson in a `didact.lesson/1` file.

    path: of the file.
    """
    return read_document(path, LESSON_FORMAT, _lesson)


def _lesson(document: Mapping[str, Any]) -> Lesson:
    settings = as_object(document["settings"], "settings")
    is_mixed = "items" in document
    # Of a family each item names one of the members that the settings list.
    names, kind = settings.get("members"), "items" if is_mixed else "demonstrations"
    n_members = 0 if names is None else len(as_texts(names, "settings: names of members"))
    listed = enumerate(as_list(document[kind], kind))
    items = tuple(_item(entry, f"{kind}[{i}]", n_members) for i, entry in listed)
    lesson = Lesson(
        task_name=as_text(document["task"], "task", error=InvalidFile),
        status=choice(document["status"], "status", STATUSES),
        items=items,
        gains=tuple(whole_number(gain, "gains", 0) for gain in as_list(document["gains"], "gains")),
        cost=_cost(document["cost"], "cost"),
        closed=flag(document["closed"], "closed"),
        n_facets=whole_number(document["n_facets"], "n_facets", 0),
        n_equalities=whole_number(document["n_equalities"], "n_equalities", 0),
        uncovered=tuple(map(_missing, as_list(document["uncovered"], "uncovered"))),
        witness=_several(document, "witness", as_fraction),
        loss=_given(document["loss"], "loss", as_finite),
        proof=_given(document["proof"], "proof", as_object),
        settings=plain_numbers(settings),
        lower_bound=_given(document["lower_bound"], "lower_bound", _cost),
        candidates=as_text(document["candidates"], "candidates", error=InvalidFile),
        probabilities=_several(document, "probabilities", as_fraction) or (),
        guarantee=_given(document["guarantee"], "guarantee", as_fraction),
        hardest=_given(document["hardest"], "hardest", as_fraction),
        facets=tuple(map(_facet, as_list(document["facets"], "facets"))),
        words=as_texts(document["words"], "words") if is_mixed else (),
        volumes=_several(document, "volumes", as_finite),
        n_close_calls=whole_number(document.get("n_close_calls", 0), "n_close_calls", 0),
        within=_within(document.get("within")),
        loss_error=as_finite(document.get("loss_error", 0.0), "loss_error"),
    )
    _require_consistent(document, lesson, is_mixed=is_mixed)
    # Of a complete lesson the file has null beside the missing witness: nothing is lost.
    return changed(lesson, loss=0.0) if lesson.is_complete and lesson.loss is None else lesson


def _item(entry: Any, place: str, n_members: int) -> Item:
    """An item of a task, or of one of so many members of a family."""
    item: Item
    if isinstance(entry, Mapping) and place.startswith("items"):
        item = read_item(entry, place)
    elif n_members:
        if not isinstance(entry, list) or len(entry) != 2:
            raise InvalidFile(f"{place} must be [member, pairs]; it is {shown(entry)}")
        item = Demonstration(entry[1], whole_number(entry[0], f"{place}: member", 0))
    else:
        item = Demonstration(entry)
    if (item.member is None) != (n_members == 0) or (item.member or 0) >= max(n_members, 1):
        of = f"of one of {n_members} members" if n_members else "of a task, without a member"
        raise InvalidFile(f"{place} must be {of}; its member is {item.member}")
    return item


def _require_consistent(document: Mapping[str, Any], lesson: Lesson, *, is_mixed: bool) -> None:
    """What the file counts for its readers must be so."""
    if lesson.is_mixed != is_mixed:
        raise InvalidFile("a file has items where its settings name kinds of feedback, and only so")
    counts = {"n_demonstrations": len(lesson.demonstrations), "n_pairs": lesson.n_pairs}
    for name, own in counts.items():
        given = document[name]
        if not is_whole(given) or given != own:
            raise InvalidFile(f"{name} must be {own}, as many as it shows; it is {shown(given)}")
    for name in ("words", "gains") if is_mixed else ():
        n, own = len(getattr(lesson, name)), len(lesson.items)
        if n != own:
            raise InvalidFile(f"{name} must be as many as items, {own}; they are {n}")


def _missing(given: Any) -> Missing:
    entries = as_object(given, "uncovered")
    state, action, other = (
        whole_number(entries[name], name, 0) for name in ("state", "action", "other")
    )
    reason, words = (
        as_text(entries[name], name, error=InvalidFile) for name in ("reason", "words")
    )
    member = entries.get("member")
    of = None if member is None else whole_number(member, "member", 0)
    return Missing(state, action, other, reason, words, of)


def _facet(given: Any) -> dict[str, Any]:
    facet = as_object(given, "facets")
    is_known = facet["covered_by"] is None or is_whole(facet["covered_by"])
    if not (is_known and isinstance(facet["words"], str)):
        raise ValueError("a facet has words, and the number of a demonstration or null")
    return facet


def _within(document: Any) -> Within | None:
    """What is promised of losses, as `Within.document` wrote it; None for None."""
    if document is None:
        return None
    worst = document["worst"]
    if not document["statuses"]:
        raise ValueError("a bound on the loss needs the status of a learner; there is none")
    return Within(
        float(document["bound"]),
        float(document["spread"]),
        None if worst is None else float(worst),
        {str(learner): _loss_status(status) for learner, status in document["statuses"].items()},
        read_number(document["lower_bound"], "lower_bound"),
        tuple(
            Witness(
                tuple(read_number(weight, "witnesses") for weight in entry["weights"]),
                float(entry["loss"]),
                str(entry["learner"]),
                frozenset(int(number) for number in entry["excluded_by"]),
            )
            for entry in document["witnesses"]
        ),
        int(document["n_cells"]),
    )


def _loss_status(given: Any) -> str:
    if given not in FROM_BAD_TO_GOOD:
        raise ValueError(f"a status of loss must be one of {FROM_BAD_TO_GOOD}, not {given!r}")
    return str(given)


def _given(value: Any, place: str, read: Callable[[Any, str], Read]) -> Read | None:
    return None if value is None else read(value, place)


def _several(
    document: Mapping[str, Any], name: str, read: Callable[[Any, str], Read]
) -> tuple[Read, ...] | None:
    """Each entry of a list; None where the file says null."""
    if document[name] is None:
        return None
    return tuple(read(entry, name) for entry in as_list(document[name], name))


def _cost(value: Any, place: str) -> int | Fraction:
    cost = whole_if_whole(as_fraction(value, place))
    if cost < 0:
        raise InvalidFile(f"{place} must not be negative; it is {shown(value)}")
    return cost
