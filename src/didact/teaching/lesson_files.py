"""Read `didact.lesson/1` files; `Lesson.save` writes them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from didact.errors import InvalidFile
from didact.files.json import plain_numbers, read_json
from didact.inputs import shown
from didact.mdp import Demonstration
from didact.numerics.exact import read_number, whole_if_whole
from didact.numerics.texts import read_text
from didact.teaching.lesson import LESSON_FORMAT, Lesson, Missing, Recorded


def load_lesson(path: str | os.PathLike[str]) -> Lesson:
    """The lesson in a `didact.lesson/1` file.

    path: of the file.
    """
    document = read_json(path)
    place = os.fspath(path)
    if not isinstance(document, dict) or document.get("format") != LESSON_FORMAT:
        raise InvalidFile(f"{place}: must hold one JSON object with format {LESSON_FORMAT!r}")
    try:
        return _from_document(document)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InvalidFile(
            f"{place}: is not a whole {LESSON_FORMAT} file: {type(error).__name__}: {error}"
        ) from None


def _from_document(document: Mapping[str, Any]) -> Lesson:
    witness, loss, volumes = document["witness"], document["loss"], document["volumes"]
    return Lesson(
        task_name=str(document["task"]),
        status=_as_status(document["status"]),
        demonstrations=tuple(Demonstration(d) for d in document["demonstrations"]),
        gains=tuple(int(gain) for gain in document["gains"]),
        cost=_read(document["cost"]),
        closed=bool(document["closed"]),
        n_facets=int(document["n_facets"]),
        n_equalities=int(document["n_equalities"]),
        uncovered=tuple(_as_missing(missing) for missing in document["uncovered"]),
        witness=None if witness is None else tuple(_as_weight(w) for w in witness),
        loss=None if loss is None else float(loss),
        proof=None if document["proof"] is None else plain_numbers(_as_object(document["proof"])),
        settings=plain_numbers(dict(document["settings"])),
        volumes=None if volumes is None else tuple(float(volume) for volume in volumes),
        n_close_calls=int(document.get("n_close_calls", 0)),
        _evidence=Recorded(
            _read(document["lower_bound"]),
            _read(document["guarantee"]),
            tuple(_as_facet(facet) for facet in document["facets"]),
        ),
    )


def _as_weight(value: Any) -> Fraction:
    """A weight of any length; decimals as elsewhere."""
    is_long = isinstance(value, str) and value.lstrip("+-").replace("/", "", 1).isdecimal()
    return read_text(value, "witness") if is_long else read_number(value, "witness")


def _as_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"an object is expected, not {shown(value)}")
    return value


def _as_missing(given: Any) -> Missing:
    entries = _as_object(given)
    state, action, other = (int(entries[name]) for name in ("state", "action", "other"))
    return Missing(state, action, other, str(entries["reason"]), str(entries["words"]))


def _as_facet(given: Any) -> dict[str, Any]:
    facet: dict[str, Any] = plain_numbers(_as_object(given))
    known = facet["covered_by"] is None or isinstance(facet["covered_by"], int)
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
