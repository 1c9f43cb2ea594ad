"""Demonstrations as JSON lines: a line for the task, then one for each episode.

The first line is an object with `format`, `task` and `lesson`; every other line is an object with
`episode` and `pairs`. A file without a first line of that kind, each line a list of
[state, action] pairs, is read too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from didact.errors import InvalidFile, InvalidInput
from didact.files.folders import require_free
from didact.files.json import parse_json, write_text
from didact.files.kinds import Kind
from didact.files.reading import read_lines, shown_path
from didact.inputs import shown
from didact.mdp.demonstrations import Demonstration
from didact.mdp.exchange.recordings import (
    DEMONSTRATIONS_FORMAT,
    Recording,
    document_of,
    header,
    read_pairs,
    recorded,
    require_size,
)
from didact.mdp.observations import Watched

OWN_LINE = re.compile(rb'\{"(format": "didact\.demonstrations/|episode": )|\[\[')
"""How a file of demonstrations begins: with its task, or with an episode."""


def read_jsonlines(path: Path) -> Recording:
    """The demonstrations in a file of JSON lines."""
    place = shown_path(path)
    begins: dict[str, Any] = {}
    found: list[Demonstration | Watched] = []
    episodes: list[int] = []
    n_pairs = 0
    for number, value in _lines(path, place):
        if number == 1 and isinstance(value, dict) and "format" in value:
            begins = _header(value, place)
            continue
        given = value if isinstance(value, dict) else {"pairs": value}
        if "kind" in given:
            raise InvalidFile(
                f"{place}: line {number} is a {shown(given['kind'])}, and demonstrations alone are "
                "read here; `learn`, `check` and `select` read other feedback too"
            )
        where, has_task = f"{place}: line {number}", begins.get("task") is not None
        episode = _number_of(given, len(found), where)
        demonstration = _shown_by(given, where, has_task=has_task)
        n_pairs += len(demonstration)
        require_size(n_pairs, place)
        found.append(demonstration)
        episodes.append(episode)
    task, lesson = begins.get("task"), begins.get("lesson")
    return recorded(found, episodes, task, lesson, place, foreign=not begins)


def _lines(path: Path, place: str) -> Iterator[tuple[int, Any]]:
    """Number and value of each line that is not empty, read strictly."""
    for number, line in enumerate(read_lines(path), start=1):
        if line.strip():
            yield number, _parse(line, f"{place}: line {number}")


def _parse(line: str, place: str) -> Any:
    try:
        return parse_json(line)
    except InvalidFile as error:
        raise InvalidFile(f"{place}: {error}") from None
    except (ValueError, RecursionError):
        raise InvalidFile(f"{place} must be one JSON value; it is {shown(line.strip())}") from None


def _header(value: dict[str, Any], place: str) -> dict[str, Any]:
    if value["format"] != DEMONSTRATIONS_FORMAT:
        raise InvalidFile(
            f"{place}: format must be {DEMONSTRATIONS_FORMAT!r}; it is {shown(value['format'])}"
        )
    for name in ("task", "lesson"):
        if not isinstance(value.get(name), dict | None):
            raise InvalidFile(f"{place}: {name} must be an object or null")
    return value


def _number_of(given: dict[str, Any], next_number: int, place: str) -> int:
    episode = given.get("episode", next_number)
    if type(episode) is not int or episode < 0:
        raise InvalidFile(f"{place}: episode must be a whole number; it is {shown(episode)}")
    return episode


def _shown_by(given: dict[str, Any], place: str, *, has_task: bool) -> Demonstration | Watched:
    try:
        return read_pairs(given.get("pairs", ()), has_task=has_task)
    except InvalidInput as error:
        raise InvalidFile(f"{place}: {error}") from None


def write_jsonlines(recording: Recording, path: Path, *, replace: bool = False) -> None:
    """Write the task, then each episode on a line of its own."""
    require_free(path, replace=replace, is_such=Path.is_file)
    kind = Kind("demonstrations as JSON lines", lambda head: OWN_LINE.match(head) is not None)
    lesson = None if recording.lesson is None else dict(recording.lesson)
    begins = header(recording)
    lines: list[Any] = [{**begins, "lesson": lesson}] if begins else []
    for episode, demonstration in zip(recording.episodes, recording.demonstrations, strict=True):
        lines.append({"episode": episode, "pairs": document_of(demonstration)})
    texts = (json.dumps(line, ensure_ascii=False, allow_nan=False) for line in lines)
    write_text("".join(f"{text}\n" for text in texts), path, kind=kind, new=not replace)
