"""Recordings as JSON: a lesson, or demonstrations with their task."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from didact.errors import InvalidFile, InvalidInput
from didact.files.folders import require_free
from didact.files.json import plain_numbers, read_json, write_json
from didact.files.kinds import Kind
from didact.files.reading import shown_path
from didact.inputs import shown
from didact.mdp.demonstrations import Demonstration
from didact.mdp.exchange.recordings import LESSON_FORMAT, Recording, document_of, header, read_pairs
from didact.mdp.files import task_from_document
from didact.mdp.observations import Watched

OWN_BEGINNING = re.compile(rb'\{"(format": "didact\.(demonstrations|lesson)/|episodes": \[)|\[\[')
RECORDED = Kind("demonstrations as JSON", lambda head: OWN_BEGINNING.match(head) is not None)


def read_json_recording(path: Path) -> Recording:
    """A lesson, or a list of demonstrations, in a JSON file."""
    document = read_json(path)
    given = document if isinstance(document, dict) else {"demonstrations": document}
    try:
        task = given.get("task")
        return Recording(
            tuple(_read_demonstrations(given.get("demonstrations"), isinstance(task, dict))),
            tuple(_read_episodes(given.get("episodes"))),
            task_from_document(task) if isinstance(task, dict) else None,
            plain_numbers(given) if given.get("format") == LESSON_FORMAT else None,
            foreign="format" not in given,
        )
    except InvalidInput as error:
        raise InvalidFile(f"{shown_path(path)}: {error}") from None


def _read_demonstrations(given: Any, has_task: bool) -> list[Demonstration | Watched]:
    if not isinstance(given, list):
        raise InvalidFile(
            "must hold a list of demonstrations, each a list of [state, action] pairs, or an "
            "object with such a list named 'demonstrations'"
        )
    found = []
    for i, entry in enumerate(given):
        try:
            found.append(read_pairs(entry, has_task=has_task))
        except InvalidInput as error:
            raise InvalidFile(f"demonstration {i + 1}: {error}") from None
    return found


def _read_episodes(given: Any) -> list[int]:
    if given is None:
        return []
    if not isinstance(given, list) or not all(type(n) is int and n >= 0 for n in given):
        raise InvalidFile(f"episodes must be a list of whole numbers; it is {shown(given)}")
    return given


def write_json_recording(recording: Recording, path: Path, *, replace: bool = False) -> None:
    """The lesson itself where the recording is one; else demonstrations with their task."""
    require_free(path, replace=replace, is_such=Path.is_file)
    if recording.lesson is not None:
        write_json(dict(recording.lesson), path, kind=RECORDED, new=not replace)
        return
    document = {**header(recording), "episodes": list(recording.episodes)}
    document["demonstrations"] = [document_of(shown_one) for shown_one in recording.demonstrations]
    write_json(document, path, kind=RECORDED, new=not replace)
