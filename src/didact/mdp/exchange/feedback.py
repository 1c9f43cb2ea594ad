"""Files that hold other feedback than demonstrations: JSON, or JSON lines, of items with kinds.

A JSON file is a list of items, or an object with `items` such as a lesson of several kinds; of JSON
lines every line is one item. An item is an object with `kind`, or a demonstration: a list of
[state, action] pairs. Files without such objects hold demonstrations and are read elsewhere.
"""

from __future__ import annotations

import os
from typing import Any

from didact.errors import InvalidFile, InvalidInput
from didact.files.json import parse_json, read_json
from didact.files.reading import read_lines, shown_path
from didact.mdp.items import Item, as_items, holds_feedback
from didact.mdp.task import Task


def feedback_in(path: str | os.PathLike[str], task: Task) -> tuple[Item, ...] | None:
    """The items in a file, checked; None where it holds demonstrations only, or is of no such kind.

    What cannot be read is left to the readers of demonstrations, who say what is wrong.
    """
    listed, is_mixed = _listed(os.fspath(path))
    if not is_mixed and not holds_feedback(listed):
        return None
    try:
        return as_items(listed, task)
    except InvalidInput as error:
        raise InvalidFile(f"{shown_path(path)}: {error}") from None


def _listed(path: str) -> tuple[Any, bool]:
    """What a file lists, and whether it says itself that these are items."""
    if not os.path.isfile(path) or not path.endswith((".json", ".jsonl")):
        return None, False
    try:
        if path.endswith(".jsonl"):
            return [parse_json(line) for line in read_lines(path) if line.strip()], False
        document = read_json(path)
    except (InvalidInput, ValueError, RecursionError):
        return None, False
    if not isinstance(document, dict):
        return document, False
    items = document.get("items")
    return items, isinstance(items, list)
