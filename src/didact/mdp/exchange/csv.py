"""Demonstrations as a table (CSV): a row for each step, as spreadsheets and pandas have them.

The first row names the columns: `episode`, `step`, `action`, and `state` (numbers of the task) or
`observation` (what the environment showed; anything but a number or a plain text as JSON). They may
stand in any order, and other columns are passed over. So may the rows: the steps of an episode
count up by one. A table holds neither its task nor a lesson.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from didact.errors import InvalidFile, InvalidInput
from didact.files.folders import require_free
from didact.files.json import parse_json, write_text
from didact.files.kinds import Kind
from didact.files.reading import read_lines, shown_path
from didact.inputs import MAX_DIGITS, counted, shown
from didact.mdp.demonstrations import Demonstration
from didact.mdp.exchange.recordings import Recording, recorded, require_size
from didact.mdp.observations import Watched, observation_text

ALWAYS = ("episode", "step", "action")
SEEN = ("state", "observation")
"""Of these a table has one."""
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
            raise self.refusal(column, "must be a whole number from 0")
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
    seen = "state"
    for n_pairs, row in enumerate(_rows(path, place), start=1):
        seen = next(name for name in SEEN if name in row.cells)
        require_size(n_pairs, place)
        episode = steps.setdefault(row.whole("episode"), {})
        step = row.whole("step")
        if step in episode:
            before = f"; line {episode[step][2]} has it too, so number the steps or the episodes"
            raise row.refusal("step", "must be another one in each row of an episode", before)
        what = row.whole(seen) if seen == "state" else row.observed(seen)
        episode[step] = (what, row.whole("action"), row.line)
    shown_ones = [_demonstration(number, episode, place) for number, episode in steps.items()]
    return recorded(shown_ones, steps, None, None, place, foreign=seen == "observation")


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
    missing = [name for name in ALWAYS if name not in names]
    if len(there) == 2:
        raise InvalidFile(
            f"{place}: must have the column state or observation, not both; rename the one that is "
            "not meant"
        )
    if missing or not there:
        told = f"{missing[0]} is missing" if missing else "both are missing"
        if any(sign in cells[0] for sign in ";\t"):
            told += "; separate the columns by commas"
        raise InvalidFile(f"{place}: {_rule()}; {told}")
    for name in (*ALWAYS, *there):
        if names.count(name) > 1:
            raise InvalidFile(
                f"{place}: must name the column {name} once; it stands {names.count(name)} times"
            )
    return names


def _rule() -> str:
    return "the first line must name the columns episode, step, action, and state or observation"


def _demonstration(
    number: int, steps: Mapping[int, tuple[Any, int, int]], place: str
) -> Demonstration | Watched:
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
        texts = Watched.of(pairs)
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
    watched = recording.foreign or any(isinstance(d, Watched) for d in recording.demonstrations)
    writer.writerow(("episode", "step", "observation" if watched else "state", "action"))
    for episode, demonstration in zip(recording.episodes, recording.demonstrations, strict=True):
        writer.writerows((episode, step, *pair) for step, pair in enumerate(demonstration.pairs))
    kind = Kind("a table of demonstrations", lambda head: head.startswith(b"episode,step,"))
    write_text(text.getvalue(), path, kind=kind, new=not replace)
