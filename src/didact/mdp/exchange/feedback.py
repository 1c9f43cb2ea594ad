"""Files that hold other feedback than demonstrations: JSON, or JSON lines, of items with kinds.

A JSON file is a list of items, or an object with `items` such as a lesson of several kinds; of JSON
lines every line is one item, after the first line that recordings may begin with. An item is an
object with `kind`, or a demonstration: a list of [state, action] pairs, or an object with `pairs`.
Files without objects of a kind hold demonstrations and are read elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from didact.errors import InvalidFile, InvalidInput
from didact.files.json import parse_json, read_json
from didact.files.reading import read_lines, shown_path
from didact.mdp.exchange.given import given_demonstrations
from didact.mdp.family import Family
from didact.mdp.files import task_from_document
from didact.mdp.items import Item, as_items, holds_feedback
from didact.mdp.model import MDP
from didact.mdp.task import Task


def given_items(given: Any, where: MDP | Task) -> tuple[Item, ...]:
    """The items of this model that are given: demonstrations, and other feedback among them.

    given: a list of items, a lesson of several kinds, the path of a file, or demonstrations in any
        form that `given_demonstrations` takes.
    """
    found = given_feedback(given, where)
    return given_demonstrations(given, where) if found is None else found


def given_feedback(given: Any, where: MDP | Task | Family) -> tuple[Item, ...] | None:
    """The items that are given, where other feedback than demonstrations is among them; else None.

    given: anything, as for `given_items`.
    """
    if isinstance(given, str | os.PathLike):
        return feedback_in(given, where)
    listed = getattr(given, "items", given)
    return as_items(listed, where) if holds_feedback(listed) else None


def task_in(path: str | os.PathLike[str]) -> Task | None:
    """The task that a file of items says it is of; None where it says none."""
    named = os.fspath(path)
    try:
        if named.endswith(".jsonl"):
            begins = parse_json(next(iter(read_lines(named)), "null"))
        else:
            begins = read_json(named)
    except (InvalidInput, ValueError, RecursionError):
        return None
    task = begins.get("task") if isinstance(begins, dict) else None
    return task_from_document(task) if isinstance(task, dict) else None


def has_feedback(path: str | os.PathLike[str]) -> bool:
    """Whether a file holds other feedback than demonstrations."""
    listed, is_mixed = _listed(os.fspath(path))
    return is_mixed or holds_feedback(listed)


def feedback_in(
    path: str | os.PathLike[str], where: MDP | Task | Family
) -> tuple[Item, ...] | None:
    """The items in a file, checked; None where it holds demonstrations only, or is of no such kind.

    What cannot be read is left to the readers of demonstrations, who say what is wrong.
    """
    listed, is_mixed = _listed(os.fspath(path))
    if not is_mixed and not holds_feedback(listed):
        return None
    try:
        return as_items(listed, where)
    except InvalidInput as error:
        raise InvalidFile(f"{shown_path(path)}: {error}") from None


def _listed(path: str) -> tuple[Any, bool]:
    """What a file lists, and whether it says itself that these are items."""
    if not os.path.isfile(path) or not path.endswith((".json", ".jsonl")):
        return None, False
    try:
        if path.endswith(".jsonl"):
            return _lines(path), False
        document = read_json(path)
    except (InvalidInput, ValueError, RecursionError):
        return None, False
    if not isinstance(document, dict):
        return document, False
    items = document.get("items")
    return items, isinstance(items, list)


def _lines(path: str) -> list[Any]:
    """The items of JSON lines, without a first line that says format and task."""
    listed = [parse_json(line) for line in read_lines(path) if line.strip()]
    if listed and isinstance(listed[0], Mapping) and "format" in listed[0]:
        del listed[0]
    return [_without_number(entry) for entry in listed]


def _without_number(entry: Any) -> Any:
    """An item without the number of its episode; of an episode its pairs."""
    if not isinstance(entry, Mapping):
        return entry
    if "kind" not in entry and "pairs" in entry:
        return entry["pairs"]
    return {name: value for name, value in entry.items() if name != "episode"}
