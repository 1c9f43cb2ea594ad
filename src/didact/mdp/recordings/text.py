"""Recordings as text: JSON, JSON lines, and tables (CSV).

**JSON**: a lesson, or demonstrations with their task.

**JSON lines**: the first line is an object with `format`, `task` and `lesson`; every other line is
an object with `episode` and `pairs`. A file without a first line of that kind, each line a list of
[state, action] pairs, is read too.

**Tables**: a row for each step, as spreadsheets and pandas have them. The first row names the
columns: `episode`, `step`, `action`, and `state` (numbers of the task) or `observation` (what the
environment showed; anything but a number or a plain text as JSON), or `observation_0`,
`observation_1`, ... for its numbers one by one. They may stand in any order, and other columns are
passed over. So may the rows: the steps of an episode count up by one. A table
holds neither its task nor a lesson."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from didact.errors import InvalidFile, InvalidInput
from didact.files.folders import require_free
from didact.files.json import parse_json, plain_numbers, read_json, write_json, write_text
from didact.files.kinds import Kind
from didact.files.reading import read_lines, shown_path
from didact.inputs import MAX_DIGITS, counted, shown
from didact.mdp.demonstrations import Demonstration
from didact.mdp.files import task_from_document
from didact.mdp.observations import ObservedDemonstration, observation_text
from didact.mdp.recordings.recording import (
    DEMONSTRATIONS_FORMAT,
    LESSON_FORMAT,
    Recording,
    document_of,
    header,
    read_pairs,
    recorded,
    require_size,
)

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


def _read_demonstrations(given: Any, has_task: bool) -> list[Demonstration | ObservedDemonstration]:
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


OWN_LINE = re.compile(rb'\{"(format": "didact\.demonstrations/|episode": )|\[\[')
"""How a file of demonstrations begins: with its task, or with an episode."""


def read_jsonlines(path: Path) -> Recording:
    """The demonstrations in a file of JSON lines."""
    place = shown_path(path)
    begins: dict[str, Any] = {}
    found: list[Demonstration | ObservedDemonstration] = []
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
        episode = given.get("episode", len(found))
        if type(episode) is not int or episode < 0:
            raise InvalidFile(f"{where}: episode must be a whole number; it is {shown(episode)}")
        try:
            demonstration = read_pairs(given.get("pairs", ()), has_task=has_task)
        except InvalidInput as error:
            raise InvalidFile(f"{where}: {error}") from None
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
            where = f"{place}: line {number}"
            try:
                value = parse_json(line)
            except InvalidFile as error:
                raise InvalidFile(f"{where}: {error}") from None
            except (ValueError, RecursionError):
                told = shown(line.strip())
                raise InvalidFile(f"{where} must be one JSON value; it is {told}") from None
            yield number, value


def _header(value: dict[str, Any], place: str) -> dict[str, Any]:
    if value["format"] != DEMONSTRATIONS_FORMAT:
        raise InvalidFile(
            f"{place}: format must be {DEMONSTRATIONS_FORMAT!r}; it is {shown(value['format'])}"
        )
    for name in ("task", "lesson"):
        if not isinstance(value.get(name), dict | None):
            raise InvalidFile(f"{place}: {name} must be an object or null")
    return value


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


ALWAYS = ("episode", "step", "action")
SEEN = ("state", "observation")
"""Of these a table has one."""
PART = re.compile(r"(?:observation|obs)[_.\[]?([0-9]{1,4})\]?")
"""A column of one number of the observation, as observation_0."""
WHOLE = re.compile(r"([0-9]{1,18})(\.0{1,30})?")
"""A whole number, also as pandas writes it in a column that once had gaps: 3.0."""
NUMERIC = re.compile(r"[-+]?[0-9.]+([eE][-+]?[0-9]+)?")
"""What is meant as a number, whether or not it can be read."""
MARKS = "[{(\"'"
"""What begins so is meant as a list, an object or a quoted text."""
NO_VALUES = ("null", "NaN", "Infinity", "-Infinity")
"""JSON that is no observation."""


@dataclass(frozen=True)
class Row:
    """A row of the table by the names of its columns, and where it stands."""

    cells: Mapping[str, str]
    line: int
    place: str

    def whole(self, column: str) -> int:
        """The whole number in a column."""
        text = self.cells[column].strip()
        found = WHOLE.fullmatch(text)
        if found is None:
            is_seen = column == "state" and NUMERIC.fullmatch(text)
            remedy = "; name the column observation if it is what was observed" if is_seen else ""
            raise self.refusal(column, "must be a whole number from 0", remedy)
        return int(found[1])

    def observed(self, column: str) -> Any:
        """What was observed: a whole number, or any JSON, or else the text that stands there."""
        text = self.cells[column].strip()
        if not text:
            raise self.refusal(column, "must say what was observed")
        try:
            value = parse_json(text)
            observation_text(value)
        except (InvalidInput, ValueError, RecursionError):
            if text[0] in MARKS or text in NO_VALUES:
                rule = "must be a number, a plain text, or JSON such as [0, 1]"
                remedy = "; write it as json.dumps(observation) does"
                raise self.refusal(column, rule, remedy) from None
            if NUMERIC.fullmatch(text):
                rule = "must be a number that a float tells from whole ones, of at most"
                raise self.refusal(column, f"{rule} {MAX_DIGITS} digits", "; round it") from None
            return text
        return value

    def together(self, columns: Sequence[str]) -> list[Any]:
        """What was observed, of which each column has one number."""
        return [self.observed(column) for column in columns]

    def refusal(self, column: str, rule: str, remedy: str = "") -> InvalidFile:
        """What is wrong with the cell in a column, in one line."""
        value = shown(self.cells[column]) if self.cells[column].strip() else "empty"
        return InvalidFile(
            f"{self.place}: line {self.line}, column {column} {rule}; it is {value}{remedy}"
        )


def read_csv(path: Path) -> Recording:
    """The demonstrations in a table."""
    place = shown_path(path)
    steps: dict[int, dict[int, tuple[Any, int, int]]] = {}
    seen, parts = "state", None
    for n_pairs, row in enumerate(_rows(path, place), start=1):
        seen = "state" if "state" in row.cells else "observation"
        if parts is None:
            parts = [] if "observation" in row.cells else _parts(row.cells, place)
        require_size(n_pairs, place)
        episode = steps.setdefault(row.whole("episode"), {})
        step = row.whole("step")
        if step in episode:
            before = f"; line {episode[step][2]} has it too, so number the steps or the episodes"
            raise row.refusal("step", "must be another one in each row of an episode", before)
        if seen == "state":
            what: Any = row.whole(seen)
        else:
            what = row.together(parts) if parts else row.observed(seen)
        episode[step] = (what, row.whole("action"), row.line)
    shown_ones = [_demonstration(number, episode, place) for number, episode in steps.items()]
    return recorded(shown_ones, steps, None, None, place, foreign=seen == "observation")


def read_steps(path: Path) -> list[tuple[list[Any], list[Any]]]:
    """The observations (T) and actions (T) of each episode of a table, as numbers."""
    place = shown_path(path)
    episodes: dict[int, dict[int, tuple[Any, Any]]] = {}
    for row in _rows(path, place):
        if "state" in row.cells:
            raise InvalidFile(
                f"{place}: must have observations for a simulator, in the column observation or "
                "in observation_0, observation_1, ...; it has states"
            )
        parts = [] if "observation" in row.cells else _parts(row.cells, place)
        seen = row.together(parts) if parts else row.observed("observation")
        steps = episodes.setdefault(row.whole("episode"), {})
        step = row.whole("step")
        if step in steps or (steps and step != max(steps) + 1):
            raise row.refusal("step", "must count up by one in the rows of an episode")
        steps[step] = (_numeric(row, "observation", seen), _numeric(row, "action"))
    for number, steps in episodes.items():
        if len(steps) < 2:
            raise InvalidFile(f"{place}: episode {number} must have at least two steps; it has one")
    return [
        ([seen for seen, _ in steps.values()], [action for _, action in steps.values()])
        for steps in episodes.values()
    ]


def _numeric(row: Row, column: str, given: Any = None) -> Any:
    """A number or a list of numbers in a column."""
    value = row.observed(column) if given is None else given
    try:
        array = np.asarray(plain_numbers(value))
        is_numeric = array.dtype.kind in "iuf" and bool(np.isfinite(array).all())
    except ValueError:
        is_numeric = False
    if not is_numeric:
        raise InvalidFile(
            f"{row.place}: line {row.line}: the {column} must be numbers; it is {shown(value)}"
        )
    return array


def _rows(path: Path, place: str) -> Iterator[Row]:
    """Every row that is not empty, as the first one names the columns."""
    reader = csv.reader(_without_mark(read_lines(path)), strict=True)
    names: list[str] | None = None
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if names is None:
                names = _columns(cells, place)
                continue
            if len(cells) != len(names):
                raise InvalidFile(
                    f"{place}: line {reader.line_num} must have {counted(len(names), 'cell')}, as "
                    f"the first line; it has {len(cells)}; quote cells that hold commas"
                )
            yield Row(dict(zip(names, cells, strict=True)), reader.line_num, place)
    except csv.Error as error:
        raise InvalidFile(
            f"{place}: line {reader.line_num} must be cells between commas, quoted where they hold "
            f"commas: {error}"
        ) from None
    if names is None:
        raise InvalidFile(f"{place}: {_rule()}; it is empty")


def _without_mark(lines: Iterator[str]) -> Iterator[str]:
    """The lines without the byte order mark with which spreadsheets begin."""
    for number, line in enumerate(lines):
        yield line.removeprefix("\ufeff") if number == 0 else line


def _columns(cells: list[str], place: str) -> list[str]:
    """The names of the columns, if those wanted are there, each once."""
    names = [cell.strip() for cell in cells]
    there = [name for name in SEEN if name in names]
    parts = [] if there else _parts(names, place)
    missing = [name for name in ALWAYS if name not in names]
    if len(there) == 2:
        raise InvalidFile(
            f"{place}: must have the column state or observation, not both; rename the one that is "
            "not meant"
        )
    if missing or not (there or parts):
        told = f"{missing[0]} is missing" if missing else "both are missing"
        if any(sign in cells[0] for sign in ";\t"):
            told += "; separate the columns by commas"
        raise InvalidFile(f"{place}: {_rule()}; {told}")
    for name in (*ALWAYS, *there, *parts):
        if names.count(name) > 1:
            raise InvalidFile(
                f"{place}: must name the column {name} once; it stands {names.count(name)} times"
            )
    return names


def _parts(names: Iterable[str], place: str) -> list[str]:
    """The columns that together are the observation, in the order of their numbers."""
    numbered = {int(found[1]): name for name in names if (found := PART.fullmatch(name))}
    if sorted(numbered) != list(range(len(numbered))):
        raise InvalidFile(
            f"{place}: must number the columns of the observation from 0; it has "
            f"{', '.join(numbered[i] for i in sorted(numbered)[:9])}"
        )
    return [numbered[i] for i in range(len(numbered))]


def _rule() -> str:
    return "the first line must name the columns episode, step, action, and state or observation"


def _demonstration(
    number: int, steps: Mapping[int, tuple[Any, int, int]], place: str
) -> Demonstration | ObservedDemonstration:
    """An episode from its steps, which must count up by one from wherever they begin."""
    ordered = sorted(steps)
    for at, step in enumerate(ordered):
        if step != ordered[0] + at:
            line = steps[step][2]
            raise InvalidFile(
                f"{place}: line {line}, column step: the steps of episode {number} must count up "
                f"by one; {step} follows {ordered[at - 1]}. Begin another episode there"
            )
    try:
        pairs = [steps[step][:2] for step in ordered]
        texts = ObservedDemonstration.of(pairs)
        if all(text.isdecimal() for text, _ in texts.pairs):
            return Demonstration(texts.numbers() or ())
        return texts
    except InvalidInput as error:
        raise InvalidFile(f"{place}: episode {number}: {error}") from None


def write_csv(recording: Recording, path: Path, *, replace: bool = False) -> None:
    """Write a row for each step; neither the task nor a lesson is kept."""
    require_free(path, replace=replace, is_such=Path.is_file)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    watched = recording.foreign or any(
        isinstance(d, ObservedDemonstration) for d in recording.demonstrations
    )
    writer.writerow(("episode", "step", "observation" if watched else "state", "action"))
    for episode, demonstration in zip(recording.episodes, recording.demonstrations, strict=True):
        writer.writerows((episode, step, *pair) for step, pair in enumerate(demonstration.pairs))
    kind = Kind("a table of demonstrations", lambda head: head.startswith(b"episode,step,"))
    write_text(text.getvalue(), path, kind=kind, new=not replace)
