"""Rows of a store as Python values; what no run writes is refused, with a right digest too.

A digest tells accidents. Whoever edits a row can write its digest as well, so types, ranges and
tables are compared with what a store holds: a view could also make a query endless.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any, NamedTuple

from didact.errors import InvalidFile
from didact.files.json import parse_json, plain_numbers
from didact.inputs import as_float, as_text, is_whole, shown

SCHEMA = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE trials (
    number INTEGER PRIMARY KEY, record TEXT NOT NULL, seconds TEXT NOT NULL, digest TEXT NOT NULL
);
CREATE TABLE failures (
    id INTEGER PRIMARY KEY, number INTEGER NOT NULL, reason TEXT NOT NULL, details TEXT NOT NULL
);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, began TEXT NOT NULL, workers INTEGER NOT NULL, place TEXT NOT NULL,
    trials INTEGER NOT NULL, wall REAL NOT NULL, busy REAL NOT NULL
);
"""

LONGEST = 1e12
"""Seconds; no run takes so long, and no sum of them overflows."""


class RunInfo(NamedTuple):
    """One run on a store: when, with how many workers and where, how long, how busy they were."""

    began: str
    workers: int
    place: str
    trials: int
    wall: float
    busy: float


def make_tables(database: sqlite3.Connection) -> None:
    """Make the empty tables of a store."""
    for statement in SCHEMA.split(";\n"):
        database.execute(statement)


def tables_of(database: sqlite3.Connection) -> set[tuple[Any, ...]]:
    """Everything that a database has beside rows: kind, name, table and definition."""
    return set(database.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"))


def own_tables() -> set[tuple[Any, ...]]:
    """The same of a new store."""
    with closing(sqlite3.connect(":memory:")) as database:
        make_tables(database)
        return tables_of(database)


def about_in(database: sqlite3.Connection) -> dict[str, str]:
    """What a store says of itself; nothing where the table is not one that a store has."""
    own = {entry for entry in own_tables() if entry[2] == "about"}
    if not own <= tables_of(database):
        return {}
    rows = database.execute("SELECT name, value FROM about")
    return {str(name): str(value) for name, value in rows}


def trial_in(number: int, record: Any, seconds: Any, total: int) -> tuple[Any, dict[str, float]]:
    """Record and seconds of a trial, which must be one of so many."""
    if not 0 <= number < total:
        raise InvalidFile(f"trials are numbered from 0 to {total - 1}; one is {number}")
    measured = _object(seconds, "seconds")
    for name, value in measured.items():
        _length_of_time(value, f"seconds[{shown(name)}]")
    return _object(record, "record"), measured


def failure_in(number: Any, reason: Any, total: int) -> tuple[int, str]:
    """The trial that failed, and why."""
    if not is_whole(number) or not 0 <= number < total:
        raise InvalidFile(
            f"failures must be of trials from 0 to {total - 1}; one is of {shown(number)}"
        )
    return number, as_text(reason, "failures.reason", error=InvalidFile)


def run_in(row: Sequence[Any]) -> RunInfo:
    """A run from its row."""
    run = RunInfo(*row)
    for name in ("began", "place"):
        as_text(getattr(run, name), f"runs.{name}", error=InvalidFile)
    for name in ("workers", "trials"):
        value = getattr(run, name)
        if not is_whole(value) or value < 0:
            raise InvalidFile(f"runs.{name} must be a whole number from 0; one is {shown(value)}")
    for name in ("wall", "busy"):
        _length_of_time(getattr(run, name), f"runs.{name}")
    return run


def _object(text: Any, place: str) -> dict[str, Any]:
    try:
        value = plain_numbers(parse_json(as_text(text, place, error=InvalidFile)))
    except InvalidFile as error:
        raise InvalidFile(f"{place}: {error}") from None
    except (ValueError, RecursionError):
        raise InvalidFile(f"{place} must be JSON; it is {shown(text)}") from None
    if not isinstance(value, dict):
        raise InvalidFile(f"{place} must be an object; it is {shown(value)}")
    return value


def _length_of_time(value: Any, place: str) -> None:
    if not 0 <= as_float(value) < LONGEST:
        raise InvalidFile(f"{place} must be seconds; it is {shown(value)}")
