"""Read `didact.lesson/1` files, and `didact.lesson/2`, of families and of several kinds."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from didact.errors import InvalidFile, InvalidInput
from didact.files.json import plain_numbers, read_json
from didact.files.reading import shown_path
from didact.inputs import as_text, finite_number, flag, is_whole, reason_of, shown, whole_number
from didact.mdp import Demonstration
from didact.numerics.exact import read_number, whole_if_whole
from didact.numerics.texts import read_text
from didact.teaching.feedback.lesson import MIXED_FORMAT, MixedLesson
from didact.teaching.feedback.lesson_files import read_mixed
from didact.teaching.lesson import FAMILY_LESSON_FORMAT, LESSON_FORMAT, Lesson, Missing, Recorded
from didact.teaching.within import read_within


def load_lesson(path: str | os.PathLike[str]) -> Lesson | MixedLesson:
    """The lesson in a `didact.lesson/1` file, or of a family in a `didact.lesson/2` file.

    Where such a file has items of several kinds, it is a `MixedLesson`.

    path: of the file.
    """
    document = read_json(path)
    place = shown_path(path)
    known = (LESSON_FORMAT, FAMILY_LESSON_FORMAT)
    if not isinstance(document, dict) or document.get("format") not in known:
        raise InvalidFile(
            f"{place}: must hold one JSON object with format {known[0]!r} or {known[1]!r}"
        )
    try:
        if "items" in document and document["format"] == MIXED_FORMAT:
            return read_mixed(document)
        lesson = _from_document(document)
        _require_counts(document, lesson)
        return lesson
    except InvalidInput as error:
        raise InvalidFile(f"{place}: is not a whole {document['format']} file: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InvalidFile(
            f"{place}: is not a whole {document['format']} file: {reason_of(error)}"
        ) from None


def _from_document(document: Mapping[str, Any]) -> Lesson:
    witness, loss, volumes = document["witness"], document["loss"], document["volumes"]
    hardest = document.get("hardest")  # older files have none
    return Lesson(
        task_name=as_text(document["task"], "task", error=InvalidFile),
        status=_as_status(document["status"]),
        demonstrations=_as_demonstrations(document),
        gains=tuple(whole_number(gain, "gains", 0) for gain in _as_list(document, "gains")),
        cost=_read(document["cost"]),
        closed=flag(document["closed"], "closed"),
        n_facets=whole_number(document["n_facets"], "n_facets", 0),
        n_equalities=whole_number(document["n_equalities"], "n_equalities", 0),
        uncovered=tuple(_as_missing(missing) for missing in _as_list(document, "uncovered")),
        witness=None if witness is None else tuple(_as_exact(w, "witness") for w in witness),
        loss=None if loss is None else _as_finite(loss, "loss"),
        proof=None if document["proof"] is None else plain_numbers(_as_object(document["proof"])),
        settings=plain_numbers(_as_object(document["settings"])),
        volumes=None
        if volumes is None
        else tuple(_as_finite(volume, "volumes") for volume in volumes),
        n_close_calls=whole_number(document.get("n_close_calls", 0), "n_close_calls", 0),
        within=read_within(document.get("within")),
        loss_error=_as_finite(document.get("loss_error", 0.0), "loss_error"),
        _evidence=Recorded(
            _read(document["lower_bound"]),
            _read(document["guarantee"]),
            tuple(_as_facet(facet) for facet in _as_list(document, "facets")),
            None if hardest is None else _as_exact(hardest, "hardest"),
            as_text(document["candidates"], "candidates", error=InvalidFile),
            tuple(_as_exact(p, "probabilities") for p in _as_list(document, "probabilities")),
        ),
    )


def _as_demonstrations(document: Mapping[str, Any]) -> tuple[Demonstration, ...]:
    """What is shown; of a family [member, pairs], and its settings name the members."""
    names = _as_object(document["settings"]).get("members")
    if document["format"] == LESSON_FORMAT:
        if names is not None:
            raise InvalidFile("settings of a task must have no members; remove them")
        return tuple(Demonstration(d) for d in document["demonstrations"])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidFile(f"settings must list the names of members; they are {shown(names)}")
    shown_ones = []
    for i, entry in enumerate(_as_list(document, "demonstrations")):
        if not isinstance(entry, list) or len(entry) != 2:
            raise InvalidFile(
                f"demonstration {i + 1} must be [member, pairs]; it is {shown(entry)}"
            )
        member = whole_number(entry[0], f"demonstration {i + 1}: member", 0, len(names) - 1)
        shown_ones.append(Demonstration(entry[1], member))
    return tuple(shown_ones)


def _require_counts(document: Mapping[str, Any], lesson: Lesson) -> None:
    """What the file counts for its readers must be so; older files may leave it out."""
    counts = {"n_demonstrations": len(lesson.demonstrations), "n_pairs": lesson.n_pairs}
    for name, own in counts.items():
        said = document.get(name, own)
        if not is_whole(said) or said != own:
            raise InvalidFile(f"{name} must be {own}, as many as it shows; it is {shown(said)}")


def _as_list(document: Mapping[str, Any], name: str) -> list[Any]:
    entries: Any = document[name]
    if not isinstance(entries, list):
        raise InvalidFile(f"{name} must be a list; it is {shown(entries)}")
    return entries


def _as_finite(value: Any, place: str) -> float:
    return finite_number(plain_numbers(value), place, -math.inf)


def _as_exact(value: Any, place: str) -> Fraction:
    """A number of any length; decimals as elsewhere."""
    is_long = isinstance(value, str) and value.lstrip("+-").replace("/", "", 1).isdecimal()
    return read_text(value, place) if is_long else read_number(value, place)


def _as_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"an object is expected, not {shown(value)}")
    return value


def _as_missing(given: Any) -> Missing:
    entries = _as_object(given)
    state, action, other = (
        whole_number(entries[name], name, 0) for name in ("state", "action", "other")
    )
    reason, words = (
        as_text(entries[name], name, error=InvalidFile) for name in ("reason", "words")
    )
    member = entries.get("member")
    of = None if member is None else whole_number(member, "member", 0)
    return Missing(state, action, other, reason, words, of)


def _as_facet(given: Any) -> dict[str, Any]:
    facet: dict[str, Any] = plain_numbers(_as_object(given))
    known = facet["covered_by"] is None or is_whole(facet["covered_by"])
    if not (known and isinstance(facet["words"], str)):
        raise ValueError("a facet has words, and the number of a demonstration or null")
    return facet


def _as_status(status: Any) -> str:
    if status not in ("complete", "undecided", "partial"):
        raise ValueError(
            f"status must be 'complete', 'undecided' or 'partial', not {shown(status)}"
        )
    return str(status)


def _read(value: Any) -> Any:
    if value is None:
        return None
    return whole_if_whole(read_number(value, "number"))
