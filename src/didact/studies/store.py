"""The records of a study: one SQLite file, one row for each trial, written when the trial ends.

The file says which study, settings and version of didact it belongs to and is refused for any
other. It is opened in WAL mode, so that others may read it while a run writes; a lock beside it
keeps a second run out. A killed run leaves every row it has written, and nothing else.

Every row has a digest, which tells accidents. Whoever edits a row can write its digest as well, so
types, ranges and tables are compared with what a store holds: a view could also make a query
endless.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from didact import __version__
from didact.errors import InvalidFile
from didact.files.json import parse_json, plain_numbers
from didact.files.reading import open_file, shown_path, without_waiting
from didact.inputs import as_float, in_one_line, shown, shown_name
from didact.studies.study import Record, Study, fingerprint, restored

SIGNATURE = b"SQLite format 3\0"
OLDEST = (3, 37, 0)
"""The first SQLite with STRICT tables."""
MALFORMED = sqlite3.DatabaseError("database disk image is malformed")


def connect(path: Path, *, mode: str = "rwc", any_thread: bool = False) -> sqlite3.Connection:
    """The open file; SQLite would take a few bytes of anything for an empty database.

    mode: of SQLite's addresses: ro, rw, rwc. any_thread: others than this one may use it.
    """
    if os.path.exists(path) and not os.path.isdir(path):
        with open_file(path) as file:
            if file.read(len(SIGNATURE)) not in (b"", SIGNATURE):
                raise sqlite3.DatabaseError("file is not a database")
    place = urllib.parse.quote(os.fspath(path.absolute()))
    database = sqlite3.connect(
        f"file:{place}?mode={mode}",
        uri=True,
        isolation_level=None,
        check_same_thread=not any_thread,
    )
    database.execute("PRAGMA trusted_schema=OFF")  # views and triggers of a stranger's file
    database.text_factory = lambda text: text.decode(errors="replace")
    return database


def require_strict_tables(place: str) -> None:
    """Refuse a SQLite without STRICT tables; place: of the file."""
    if sqlite3.sqlite_version_info < OLDEST:
        raise InvalidFile(
            f"{place}: studies need SQLite 3.37 or later; this Python has {sqlite3.sqlite_version}"
        )


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """All of what is done inside, or nothing of it."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            database.execute("ROLLBACK")
        raise


def locked(path: Path) -> Any:
    """The open lock file beside a store; the system frees it when this process ends."""
    place = shown_path(path)
    if not path.name:
        raise InvalidFile(f"{place} is a folder; name a file in it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = path.with_name(f".{path.stem}.lock")
        file = open(lock, "a", opener=without_waiting)  # noqa: SIM115 (held as long as the store)
    except OSError as error:
        raise InvalidFile(
            f"{shown_path(path.parent)}: cannot be written: {error.strerror}; give another --out"
        ) from None
    try:
        _take(file)
    except OSError:
        file.close()
        raise InvalidFile(
            f"{place}: another run is using it; wait for it, or give another --out"
        ) from None
    return file


def _take(file: Any) -> None:
    """Lock a file for this process, or raise OSError at once."""
    if os.name == "nt":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def in_words(error: sqlite3.Error) -> str:
    """An error of SQLite and what to do about it."""
    text = in_one_line(error)
    if "full" in text or "disk I/O" in text:
        return f"cannot be written: {text}; free some space and run the same command again"
    if "readonly" in text or "unable to open" in text:
        return f"cannot be written: {text}; give an --out that can be written to"
    if "not a database" in text or "malformed" in text:
        return f"is damaged or no store ({text}); move it away, or give another --out"
    return f"cannot be used: {text}"


# The store of a study.

SCHEMA = """
CREATE TABLE about (name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) STRICT;
CREATE TABLE trials (
    number INTEGER PRIMARY KEY CHECK (number >= 0), record TEXT NOT NULL, seconds TEXT NOT NULL,
    digest TEXT NOT NULL
) STRICT;
CREATE TABLE failures (
    id INTEGER PRIMARY KEY, number INTEGER NOT NULL CHECK (number >= 0), reason TEXT NOT NULL,
    details TEXT NOT NULL
) STRICT;
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, began TEXT NOT NULL, workers INTEGER NOT NULL CHECK (workers >= 0),
    place TEXT NOT NULL, trials INTEGER NOT NULL CHECK (trials >= 0),
    wall REAL NOT NULL CHECK (wall BETWEEN 0 AND 1e12),
    busy REAL NOT NULL CHECK (busy BETWEEN 0 AND 1e12)
) STRICT;
"""
"""SQLite's own check of a file compares every row with these types and ranges."""
LONGEST = 1e12
"""Seconds; no trial takes so long, and no sum of them overflows."""


class RunInfo(NamedTuple):
    """One run on a store: when, with how many workers and where, how long, how busy they were."""

    began: str
    workers: int
    place: str
    trials: int
    wall: float
    busy: float


def tables_of(database: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """Everything that a database has beside rows: kind, name, table and definition."""
    query = "SELECT type, name, tbl_name, sql FROM sqlite_master"
    return sorted(database.execute(query).fetchmany(100), key=repr)


@cache
def tables_made_by(script: str) -> list[tuple[Any, ...]]:
    """The same of a new database in which these statements were executed."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(script)
        return tables_of(database)


def about_in(database: sqlite3.Connection) -> dict[str, str]:
    """What a store says of itself; nothing where the table is not one that a store has."""
    own = {entry for entry in tables_made_by(SCHEMA) if entry[2] == "about"}
    if not own <= set(tables_of(database)):
        return {}
    rows = database.execute("SELECT name, value FROM about")
    return {str(name): str(value) for name, value in rows}


STORE_FORMAT = "didact.study/1"
MAX_FAILURES = 3
"""A trial that fails so often is left out and reported."""


class Store:
    """The open store of one study; use it in a `with` statement."""

    def __init__(self, path: str | os.PathLike[str], study: Study, settings: Any) -> None:
        """Open or create the store; one that belongs to anything else is refused untouched."""
        self._place = shown_path(path)
        self.path = Path(path)
        self._total = study.n_trials(settings)
        self._lock = locked(self.path)
        about = {
            "format": STORE_FORMAT,
            "study": study.name,
            "version": __version__,
            "settings": fingerprint(settings),
        }
        with ExitStack() as opened:
            opened.callback(self._lock.close)
            with self._told():
                self._database = connect(self.path)
                opened.callback(self._database.close)
                self._prepare(about)
            opened.pop_all()  # both stay open

    def _prepare(self, about: Mapping[str, str]) -> None:
        """Check what is there before anything is written; an empty file becomes a store."""
        require_strict_tables(self._place)
        database = self._database
        if database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            self._require_ours(about)
        database.execute("PRAGMA journal_mode=WAL").fetchone()
        database.execute("PRAGMA synchronous=NORMAL")
        database.execute("PRAGMA busy_timeout=5000")
        if not database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            with transaction(database):
                for statement in SCHEMA.split(";\n"):
                    database.execute(statement)
                database.executemany("INSERT INTO about VALUES (?, ?)", about.items())

    def _require_ours(self, wanted: Mapping[str, str]) -> None:
        """Refuse a damaged file, another program's, and one of another study or settings."""
        found = about_in(self._database)
        if "study" not in found or not found.get("format", "").startswith("didact.study/"):
            raise InvalidFile(f"{self._place}: is not a store of didact; give another --out")
        for name, what in (("format", "format"), ("study", "study"), ("version", "didact version")):
            if found.get(name) != wanted[name]:
                raise InvalidFile(
                    f"{self._place}: holds trials of {what} {_shortly(found.get(name))}, not "
                    f"{wanted[name]}; move it away, or give another --out"
                )
        if found.get("settings") != wanted["settings"]:
            raise InvalidFile(
                f"{self._place}: holds trials with other settings "
                f"({_first_difference(found.get('settings', ''), wanted['settings'])}); "
                "move it away, or give another --out"
            )
        if tables_of(self._database) != tables_made_by(SCHEMA):
            raise self._damaged("its tables are others than a store has")
        state = self._database.execute("PRAGMA quick_check(1)").fetchone()[0]
        if state != "ok":
            raise self._damaged(f"{in_one_line(state):.80}")
        numbers = "SELECT number FROM trials UNION ALL SELECT number FROM failures"
        (last,) = self._database.execute(f"SELECT max(number) FROM ({numbers})").fetchone()
        if last is not None and last >= self._total:
            raise self._damaged(f"it has trials from 0 to {self._total - 1}; one is {last}")
        self._trials()

    def _damaged(self, why: str) -> InvalidFile:
        """The refusal of a store that no run leaves so."""
        return InvalidFile(f"{self._place}: is damaged ({why}); move it away and run again")

    def records(self) -> dict[int, Record]:
        """Every finished trial's record by number, ascending, without its seconds."""
        return {number: record for number, (record, _) in self._trials().items()}

    def seconds(self) -> dict[int, dict[str, float]]:
        """What each finished trial measured in seconds, by number."""
        return {number: seconds for number, (_, seconds) in self._trials().items()}

    def _trials(self) -> dict[int, tuple[Record, dict[str, float]]]:
        """Record and seconds of every finished trial; a row that was changed is refused."""
        found: dict[int, tuple[Record, dict[str, float]]] = {}
        with self._told():
            for number, record, seconds, digest in self._database.execute(
                "SELECT number, record, seconds, digest FROM trials ORDER BY number"
            ):
                try:
                    found[number] = _trial_in(number, record, seconds, digest)
                except InvalidFile as error:
                    raise self._damaged(f"trial {number}: {error}") from None
        return found

    def numbers(self) -> set[int]:
        """The numbers of the finished trials."""
        with self._told():
            return {int(row[0]) for row in self._database.execute("SELECT number FROM trials")}

    def add(self, number: int, record: Record, seconds: Mapping[str, float]) -> None:
        """Write a finished trial, whole or not at all."""
        texts = _as_json(record), _as_json(seconds)
        row = (number, *texts, _digest(number, *texts))
        with self._told(), transaction(self._database):
            self._database.execute("INSERT INTO trials VALUES (?, ?, ?, ?)", row)

    def add_failure(self, number: int, reason: str, details: str) -> int:
        """Write that a trial failed; how often it has failed so far."""
        with self._told(), transaction(self._database):
            self._database.execute(
                "INSERT INTO failures (number, reason, details) VALUES (?, ?, ?)",
                (number, reason, details),
            )
        return len(self.failures().get(number, ()))

    def failures(self) -> dict[int, list[str]]:
        """Why trials that are not finished failed, by number: one reason for each attempt."""
        found: dict[int, list[str]] = {}
        with self._told():
            for number, reason in self._database.execute(
                "SELECT number, reason FROM failures "
                "WHERE number NOT IN (SELECT number FROM trials) ORDER BY number, id"
            ):
                found.setdefault(number, []).append(reason)
        return found

    def quarantined(self) -> dict[int, str]:
        """Trials that failed too often, and the last reason."""
        return {n: why[-1] for n, why in self.failures().items() if len(why) >= MAX_FAILURES}

    def forgive(self) -> None:
        """Forget all failures, so that quarantined trials are tried again."""
        with self._told(), transaction(self._database):
            self._database.execute("DELETE FROM failures")

    def add_run(self, run: RunInfo) -> None:
        """Write down a run that ended, however it ended."""
        with self._told(), transaction(self._database):
            self._database.execute("INSERT INTO runs VALUES (NULL, ?, ?, ?, ?, ?, ?)", run)

    def runs(self) -> list[RunInfo]:
        """The runs so far that were not killed."""
        with self._told():
            rows = self._database.execute(
                "SELECT began, workers, place, trials, wall, busy FROM runs ORDER BY id"
            )
            return [RunInfo(*row) for row in rows]

    def close(self) -> None:
        """Close the file and let others in."""
        with suppress(sqlite3.Error):
            self._database.close()
        self._lock.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What SQLite complains about, in one line."""
        try:
            yield
        except sqlite3.IntegrityError:
            raise
        except sqlite3.Error as error:
            raise InvalidFile(f"{self._place}: {in_words(error)}") from None
        except OSError as error:
            raise InvalidFile(
                f"{self._place}: cannot be read: {error.strerror}; give another --out"
            ) from None
        except UnicodeDecodeError:
            # SQLite's own complaint about a damaged schema quotes its bytes.
            raise InvalidFile(f"{self._place}: {in_words(MALFORMED)}") from None


def stored_settings(path: Path, study: Study) -> Any:
    """The settings that a store was made with, read beside whoever writes it."""
    try:
        with closing(connect(path)) as database:
            found = about_in(database)
        return restored(study.settings, plain_numbers(parse_json(found["settings"])))
    except (OSError, sqlite3.Error, ValueError, KeyError, TypeError, AttributeError, RuntimeError):
        raise InvalidFile(
            f"{shown_path(path)}: its settings cannot be read; move it away, or give another --out"
        ) from None


def _trial_in(
    number: int, record: str, seconds: str, digest: str
) -> tuple[dict[str, Any], dict[str, float]]:
    """Record and seconds of a trial from its row."""
    if digest != _digest(number, record, seconds):
        raise InvalidFile("its digest is another")
    measured = _object(seconds, "seconds")
    for name, value in measured.items():
        if not 0 <= as_float(value) < LONGEST:
            raise InvalidFile(f"seconds[{shown(name)}] must be seconds; it is {shown(value)}")
    return _object(record, "record"), measured


def _object(text: str, place: str) -> dict[str, Any]:
    try:
        value = plain_numbers(parse_json(text))
    except InvalidFile as error:
        raise InvalidFile(f"{place}: {error}") from None
    except (ValueError, RecursionError):
        raise InvalidFile(f"{place} must be JSON; it is {shown(text)}") from None
    if not isinstance(value, dict):
        raise InvalidFile(f"{place} must be an object; it is {shown(value)}")
    return value


def _digest(number: int, record: str, seconds: str) -> str:
    """What a row must hold to be as it was written."""
    return hashlib.sha256(f"{number}\n{record}\n{seconds}".encode()).hexdigest()


def _as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)


def _first_difference(found: str, wanted: str) -> str:
    """'trials is 20 there, 3 here'."""
    try:
        there, here = json.loads(found), json.loads(wanted)
        names = [name for name in here if there.get(name) != here[name]]
        names += [name for name in there if name not in here]
        first = names[0]
        return f"{_shortly(first)} is {_shortly(there.get(first))} there, {here.get(first)} here"
    except (ValueError, AttributeError, IndexError, RecursionError):
        return "they cannot be read"


def _shortly(value: Any) -> str:
    return shown_name(str(value))
