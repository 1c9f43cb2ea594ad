"""One SQLite file for a study with people: every answer is on the disk before it is acknowledged.

A participant is a secret name in a link and a number; nothing else is known of them. A step is
answered once: sending it again changes nothing, so that a browser may repeat what it is not sure
of. So is joining, by the token of the page that was agreed to.

Every row has a digest, and the row `content` counts the rows and adds up their digests: a changed,
lost or added row is noticed and named whenever the file is opened. The file may come from anybody:
its schema is compared before anything is read from its tables, no view or trigger of it ever runs,
and what takes too long is stopped.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from didact.errors import InvalidFile, InvalidInput, InvalidParameter
from didact.files.json import parse_json, plain_numbers, write_bytes
from didact.files.reading import shown_path
from didact.inputs import is_whole, shown
from didact.mdp import Family, Task
from didact.mdp.files import task_or_family_from_document
from didact.studies.people.answers import (
    KEPT,
    Kept,
    Participant,
    PlatformIds,
    as_kept,
    gates_in,
    given_in,
)
from didact.studies.people.design import Design, require_same
from didact.studies.store import (
    connect,
    in_words,
    require_strict_tables,
    tables_made_by,
    tables_of,
    transaction,
)

FORMAT = "didact.people/1"
TABLES = """
CREATE TABLE about (name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL,
    digest TEXT NOT NULL) STRICT;
CREATE TABLE participants (number INTEGER PRIMARY KEY, secret TEXT UNIQUE NOT NULL,
    token TEXT UNIQUE NOT NULL, condition TEXT NOT NULL, began REAL NOT NULL,
    platform TEXT, person TEXT, study TEXT, session TEXT, digest TEXT NOT NULL,
    UNIQUE (platform, person)) STRICT;
CREATE TABLE answers (participant INTEGER NOT NULL, step INTEGER NOT NULL, kind TEXT NOT NULL,
    member INTEGER, state INTEGER, action INTEGER, correct INTEGER, confidence INTEGER,
    comment TEXT, seconds REAL, detail TEXT, at REAL NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (participant, step)) STRICT;
"""
ABOUT = ("content", "design", "format", "subject")
COLUMNS = {
    "participants": ("number", "secret", "token", "condition", "began", *PlatformIds._fields),
    "answers": ("participant", "step", *KEPT, "at"),
}
"""What the digest of a row is of."""
SECRET = re.compile(r"[A-Za-z0-9_-]{16,40}")
"""A participant's name in a link, and the token of a page that was agreed to."""

MAX_PARTICIPANTS = 100_000
MAX_STEPS = 1000
"""More than any design has."""
MAX_VALUE = 50_000_000
"""Bytes of one value in the file."""
MAX_BYTES = 500_000_000
"""Of the whole file."""
MAX_SECONDS = 8.0
"""What reading from the file may take; a file that takes longer was made to."""
WAIT = 3.0
"""Seconds to wait for another program that writes to the file."""


class Damaged(InvalidFile):
    """A row of a study is not as it was written."""


class Busy(InvalidFile):
    """Another program writes to the study for too long; try again."""


class Full(InvalidParameter):
    """The study has all its participants."""


class Records:
    """The open file of a study, checked as a whole when it is opened.

    read_only: nothing is written, neither to the file nor beside it. found: participants and
    answers at that moment.
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False):
        self.path = Path(path)
        self._lock, self._reading, self._deadline = threading.Lock(), threading.Lock(), math.inf
        with self._told():
            if not self.path.exists():
                raise InvalidFile(f"{shown_path(path)}: there is no such study; make it by init")
            require_strict_tables(shown_path(path))
            if self.path.stat().st_size > MAX_BYTES:
                raise InvalidFile(f"{shown_path(path)}: must have at most {MAX_BYTES} bytes")
        self._check()
        with self._told():
            self._database = self._opened("ro" if read_only else "rw")
            if not read_only:
                self._database.execute("PRAGMA journal_mode=WAL")
                self._database.execute("PRAGMA synchronous=FULL")
                # What is committed is copied into the file at once: a damaged log loses nothing.
                self._database.execute("PRAGMA wal_autocheckpoint=1")
                self._database.execute("PRAGMA secure_delete=ON")
                self._reader = self._opened("ro")
            else:
                self._reader = self._database

    def _check(self) -> None:
        """Read and check everything, before anything may be written.

        A file at rest is read without locks, so that nothing is written beside it. Where another
        program has begun to use it meanwhile, it is read again with them.
        """
        while True:
            before = self._used()
            try:
                with self._told(), closing(self._opened("ro")) as database:
                    self._database = database
                    self.design, self.subject_document = self._about()
                    self.found = self.rows()
                return
            except InvalidFile:
                if before is None or before == self._used():
                    raise

    def subject(self) -> Task | Family:
        """The world or the family of the study; it must be the design's."""
        try:
            subject = task_or_family_from_document(self.subject_document)
            require_same(subject, self.design)
        except InvalidInput as error:
            raise InvalidFile(
                f"{shown_path(self.path)}: table about, row 'subject': is damaged: {error}"
            ) from None
        return subject

    def _used(self) -> tuple[int, int] | None:
        """When a file at rest was changed, and its size; None while a program has it open."""
        if not self._is_at_rest():
            return None
        found = self.path.stat()
        return found.st_mtime_ns, found.st_size

    def _opened(self, mode: str) -> sqlite3.Connection:
        """The file with all of SQLite's own precautions; its schema is that of a study."""
        if mode == "ro" and self._is_at_rest():
            mode = "ro&immutable=1"
        database = connect(self.path, mode=mode, any_thread=True)
        try:
            _guard(database)
            if mode != "rw":
                database.execute("PRAGMA query_only=ON")
            database.set_progress_handler(lambda: time.monotonic() > self._deadline, 1000)
            with self._timed():
                if tables_of(database) != tables_made_by(TABLES):
                    raise InvalidFile(
                        f"{shown_path(self.path)}: must be a file of `didact study init`; its "
                        "tables are others, or damaged"
                    )
        except BaseException:
            database.close()
            raise
        return database

    def _is_at_rest(self) -> bool:
        """Whether no program has it open: then it can be read where nothing can be written."""
        return not any(os.path.exists(f"{self.path}-{log}") for log in ("wal", "journal"))

    @staticmethod
    def create(path: str | os.PathLike[str], design: Design, subject: Mapping[str, Any]) -> Records:
        """A new file, which appears whole or not at all; an old one is never written over."""
        place = Path(path)
        if os.path.lexists(place):
            raise InvalidFile(f"{shown_path(path)}: is there already; a study is never overwritten")
        require_strict_tables(shown_path(path))
        about = {
            "format": FORMAT,
            "design": json.dumps(design.document()),
            "subject": json.dumps(subject),
            "content": json.dumps(EMPTY),
        }
        log = bytes([2, 2])  # readers and writers use a log from the start (bytes 18, 19: WAL)
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
            database.executescript(TABLES)
            rows = [(name, text, row_digest("about", (name, text))) for name, text in about.items()]
            database.executemany("INSERT INTO about VALUES (?, ?, ?)", rows)
            content = database.serialize()
        write_bytes(content[:18] + log + content[20:], place, kind=None, new=True)
        return Records(place)

    def _about(self) -> tuple[Design, dict[str, Any]]:
        """The design and the document of its world or family, each of a row that is intact."""
        names = [row[0] for row in self._rows("SELECT name FROM about ORDER BY name LIMIT 9")]
        texts = {name: self._text(name) for name in ABOUT if name in names}
        if tuple(names) != ABOUT or texts["format"] != FORMAT:
            raise InvalidFile(f"{shown_path(self.path)}: must be a file of `didact study init`")
        with self._damaged("table about, row 'design'"):
            design = Design.read(plain_numbers(parse_json(texts["design"])))
        with self._damaged("table about, row 'subject'"):
            subject = parse_json(texts["subject"])
            if not isinstance(subject, dict):
                raise InvalidFile(f"it must be an object; it is {shown(subject)}")
        return design, subject

    def _text(self, name: str) -> str:
        query = "SELECT value, digest FROM about WHERE name = ?"
        ((value, digest),) = self._rows(query, (name,)) or [("", "")]
        with self._damaged(f"table about, row {name!r}"):
            _require_digest("about", (name, value), digest)
        return str(value)

    def _content(self) -> dict[str, Any]:
        """How many have joined, how many rows there are, and the sum of their digests."""
        with self._damaged("table about, row 'content'"):
            found = parse_json(self._text("content"))
            if not isinstance(found, dict) or set(found) != set(EMPTY):
                raise InvalidFile("it must count the rows")
            for name in ("joined", "participants", "answers"):
                if not is_whole(found[name]) or not 0 <= found[name] < 2**62:
                    raise InvalidFile(f"{name} must be a whole number; it is {shown(found[name])}")
            if not (isinstance(found["sum"], str) and re.fullmatch("[0-9a-f]{64}", found["sum"])):
                raise InvalidFile("its sum must be a digest")
        return found

    def _change(self, digests: Sequence[str], *, add: bool, **counts: int) -> None:
        """Write the content after rows were added or taken away, inside of their transaction."""
        content = self._content()
        changed = sum(int(digest, 16) for digest in digests) * (1 if add else -1)
        content["sum"] = f"{(int(content['sum'], 16) + changed) % 2**256:064x}"
        for name, more in counts.items():
            content[name] += more
        text = json.dumps(content)
        self._database.execute(
            "UPDATE about SET value = ?, digest = ? WHERE name = 'content'",
            (text, row_digest("about", ("content", text))),
        )

    def _add(self, table: str, row: Sequence[Any], **counts: int) -> None:
        digest = row_digest(table, row)
        marks = ", ".join("?" * (len(row) + 1))
        self._database.execute(f"INSERT INTO {table} VALUES ({marks})", (*row, digest))
        self._change([digest], add=True, **counts)

    def join(
        self,
        token: str | None = None,
        ids: PlatformIds | None = None,
        *,
        most: int = MAX_PARTICIPANTS,
    ) -> Participant:
        """A new participant in the condition whose turn it is; who joined before is the same.

        token: of the page that was agreed to. ids: of the platform that the person came from; they
        and the token tell who joined before. most: how many participants there may be.
        """
        secret, ids = secrets.token_urlsafe(16), ids or PlatformIds()
        ids.require_sound()
        with self._writing():
            query = (
                "SELECT secret FROM participants WHERE token = ? OR (platform = ? AND person = ?)"
            )
            found = self._rows(query, (token, ids.platform, ids.person))
            if not found:
                content = self._content()
                if content["participants"] >= min(most, MAX_PARTICIPANTS):
                    raise Full("this study has all its participants; thank you")
                number = content["joined"]
                row = (
                    *(number + 1, secret, token or secrets.token_urlsafe(16)),
                    *(self.design.condition_of(number), time.time(), *ids),
                )
                self._add("participants", row, joined=1, participants=1)
                return Participant(number, secret, row[3], person=ids.person)
        person = self.find(found[0][0])
        if person is None:
            raise InvalidFile(f"{shown_path(self.path)}: a participant was deleted meanwhile")
        return person

    def find(self, secret: str) -> Participant | None:
        """The participant of a link, with their answers so far."""
        with self._told(), self._reading:
            query = "SELECT number, condition, person FROM participants WHERE secret = ?"
            rows = self._reader.execute(query, (secret,)).fetchmany(1)
            if not rows:
                return None
            number, condition, person = rows[0]
            kept = self._kept(self._reader, number)
        return Participant(number - 1, secret, condition, kept, person)

    def _kept(self, database: sqlite3.Connection, number: int) -> tuple[Kept, ...]:
        """What a participant answered, step by step; `number` counts from 1, as the file does."""
        names = ", ".join(Kept._fields)
        query = f"SELECT {names} FROM answers WHERE participant = ? ORDER BY step"
        return tuple(Kept(*row) for row in database.execute(query, (number,)).fetchmany(MAX_STEPS))

    def answer(self, participant: Participant, step: int, given: Mapping[str, Any]) -> Participant:
        """Keep the answer to a step, the next one only, and once; the participant afterwards."""
        steps = self.design.steps(participant.number, participant.gates)
        if not 0 <= step < len(steps):
            raise InvalidParameter(f"step must be from 0 to {len(steps) - 1}; it is {shown(step)}")
        number, wanted = participant.number + 1, steps[step]
        given = {"item": steps[: step + 1].count(wanted) - 1, **given}
        values = as_kept(self.design, wanted, given)
        with self._writing():
            if not self._rows("SELECT number FROM participants WHERE number = ?", (number,)):
                raise InvalidParameter("this participant was deleted")
            kept = self._kept(self._database, number)
            # Which step comes next may have changed since the page was drawn.
            now = self.design.steps(participant.number, gates_in(kept))[step : step + 1]
            if step != len(kept) or now != [wanted]:
                return replace(participant, kept=kept)
            self._add("answers", (number, step, *values, time.time()), answers=1)
            return replace(participant, kept=self._kept(self._database, number))

    def delete(self, number: int) -> int:
        """Forget a participant and all their answers; how many answers were there."""
        with self._writing():
            found = [
                [row[0] for row in self._rows(f"SELECT digest FROM {table} WHERE {key} = ?", (n,))]
                for table, key, n in (
                    ("participants", "number", number + 1),
                    ("answers", "participant", number + 1),
                )
            ]
            if not found[0]:
                raise InvalidParameter(f"there is no participant {number} in this study")
            self._database.execute("DELETE FROM answers WHERE participant = ?", (number + 1,))
            self._database.execute("DELETE FROM participants WHERE number = ?", (number + 1,))
            self._change([*found[0], *found[1]], add=False, participants=-1, answers=-len(found[1]))
        with self._told():  # no trace in free pages, nor in the log
            self._database.execute("VACUUM")
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return len(found[1])

    def rows(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """All participants and all answers at one moment; refused where anything was changed."""
        with self._told(), self._timed():
            self._database.execute("BEGIN")
            try:
                intact = self._database.execute("PRAGMA integrity_check(1)").fetchone()[0]
                if intact != "ok":
                    raise sqlite3.DatabaseError("database disk image is malformed")
                content = self._content()
                people = self._checked("participants", "number", content, self._as_participant)
                known = {person["number"]: person for person in people}
                answers = self._checked(
                    *("answers", "participant, step", content),
                    lambda row: self._as_answer(row, known),
                )
                total = sum(int(row.pop("digest"), 16) for row in (*people, *answers)) % 2**256
                if f"{total:064x}" != content["sum"]:
                    raise Damaged(
                        f"{shown_path(self.path)}: is damaged: rows were changed, lost or added "
                        f"together with their digests; {REMEDY}"
                    )
            finally:
                with suppress(sqlite3.Error):
                    self._database.execute("ROLLBACK")
        for person in people:
            person["participant"] = person.pop("number") - 1
        return people, answers

    def _checked(
        self, table: str, order: str, content: Mapping[str, Any], check: Any
    ) -> list[dict[str, Any]]:
        """The rows of a table, each as it was written; there are as many as were counted."""
        names, found = (*COLUMNS[table], "digest"), []
        for i, values in enumerate(
            self._database.execute(f"SELECT {', '.join(names)} FROM {table} ORDER BY {order}")
        ):
            row = dict(zip(names, values, strict=True))
            key = ", ".join(f"{name} {shown(row[name])}" for name in order.split(", "))
            with self._damaged(f"table {table}, row {i + 1} ({key})"):
                _require_digest(table, values[:-1], values[-1])
                check(row)
            found.append(row)
            if len(found) > content[table]:
                break
        if len(found) != content[table]:
            n_found = "more" if len(found) > content[table] else len(found)
            raise Damaged(
                f"{shown_path(self.path)}: table {table}: is damaged: it must have "
                f"{content[table]} rows; it has {n_found}; {REMEDY}"
            )
        return found

    def _as_participant(self, row: dict[str, Any]) -> None:
        number = row["number"]
        _require(is_whole(number) and 1 <= number <= 2**40, "number", number)
        for name in ("secret", "token"):
            is_secret = isinstance(row[name], str) and SECRET.fullmatch(row[name])
            _require(bool(is_secret), name, row[name])
        _require(row["condition"] == self.design.condition_of(number - 1), "condition", row)
        _require_time(row["began"], "began")
        PlatformIds(*(row[name] for name in PlatformIds._fields)).require_sound()
        row.update(steps=0, gates=())

    def _as_answer(self, row: dict[str, Any], people: Mapping[int, dict[str, Any]]) -> None:
        """An answer is what a page can have sent for the next step of its participant."""
        number, step = row["participant"], row["step"]
        _require(number in people, "participant", number)
        person = people[number]
        steps = self.design.steps(number - 1, person["gates"])
        _require(step == person["steps"] and step < len(steps), "step", step)
        wanted = steps[step]
        given = given_in(row, steps[: step + 1].count(wanted) - 1)
        found = tuple(row[name] for name in KEPT)
        for name, value, kept in zip(KEPT, found, as_kept(self.design, wanted, given), strict=True):
            _require(value == kept and type(value) is type(kept), name, value)
        _require_time(row["at"], "at")
        person["steps"] += 1
        if row["kind"] == "gate":
            person["gates"] += (row["correct"],)
        row.update(participant=number - 1, condition=person["condition"])

    def participants(self) -> list[dict[str, Any]]:
        """All participants: number, condition, when they began, how many steps, ids, gates."""
        names = ("participant", "condition", "began", "steps", *PlatformIds._fields, "gates")
        return [{name: row[name] for name in names} for row in self.rows()[0]]

    def answers(self) -> list[dict[str, Any]]:
        """All answers with the conditions of who gave them, in the order of their steps."""
        names = ("participant", "condition", *COLUMNS["answers"][1:])
        return [{name: row[name] for name in names} for row in self.rows()[1]]

    def close(self) -> None:
        """Close the file."""
        self._reader.close()
        self._database.close()

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        return self._database.execute(query, values).fetchmany(100)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction; one at a time, whichever thread it is in."""
        if not self._lock.acquire(timeout=WAIT):
            raise Busy(f"{shown_path(self.path)}: is being written to; try again")
        try:
            with self._told(), transaction(self._database):
                yield
        finally:
            self._lock.release()

    @contextmanager
    def _timed(self) -> Iterator[None]:
        """Stop a query that takes too long."""
        self._deadline = time.monotonic() + MAX_SECONDS
        try:
            yield
        finally:
            self._deadline = math.inf

    @contextmanager
    def _damaged(self, row: str) -> Iterator[None]:
        """Say of a row that is refused which one it is, and what to do."""
        try:
            yield
        except Damaged:
            raise
        except (InvalidInput, ValueError, RecursionError) as error:
            told = str(error) if isinstance(error, InvalidInput) else "it cannot be read"
            raise Damaged(f"{shown_path(self.path)}: {row}: is damaged: {told}; {REMEDY}") from None

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What SQLite complains about, in one line."""
        try:
            yield
        except sqlite3.Error as error:
            place, code = shown_path(self.path), getattr(error, "sqlite_errorcode", None)
            if code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise Busy(f"{place}: another program is writing to it; try again") from None
            if code == sqlite3.SQLITE_INTERRUPT:
                raise InvalidFile(
                    f"{place}: must be read within {MAX_SECONDS:g} seconds; it takes longer"
                ) from None
            raise InvalidFile(f"{place}: {_in_words(error)}") from None
        except OSError as error:
            raise InvalidFile(
                f"{shown_path(self.path)}: cannot be read: {error.strerror}"
            ) from None
        except (UnicodeDecodeError, OverflowError, MemoryError):
            # SQLite's own complaint about a damaged schema quotes its bytes.
            raise InvalidFile(f"{shown_path(self.path)}: is damaged; {REMEDY}") from None


EMPTY = {"joined": 0, "participants": 0, "answers": 0, "sum": "0" * 64}
REMEDY = "go on with a copy from before"


def row_digest(table: str, values: Sequence[Any]) -> str:
    """What a row must hold to be as it was written."""
    return hashlib.sha256(json.dumps([table, *values], allow_nan=False).encode()).hexdigest()


def _require_digest(table: str, values: Sequence[Any], digest: Any) -> None:
    is_text = isinstance(digest, str) and re.fullmatch("[0-9a-f]{64}", digest)
    plain = all(value is None or isinstance(value, int | float | str) for value in values)
    if not plain or not is_text or digest != row_digest(table, values):
        raise InvalidFile("its digest is another")


def _require(is_right: bool, name: str, value: Any) -> None:
    if not is_right:
        raise InvalidFile(f"its {name} cannot be {shown(value)}")


def _require_time(value: Any, name: str) -> None:
    _require(isinstance(value, float) and 0 <= value < 1e11, name, value)


def _guard(database: sqlite3.Connection) -> None:
    """Let SQLite trust nothing that the file says."""
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)
    if hasattr(database, "setconfig"):  # from Python 3.12 on
        database.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE)  # type: ignore[attr-defined]
    for setting in ("cell_size_check=ON", "mmap_size=0"):
        database.execute(f"PRAGMA {setting}")
    database.execute(f"PRAGMA busy_timeout={int(1000 * WAIT)}")


def _in_words(error: sqlite3.Error) -> str:
    """As of any SQLite file, but about a study."""
    text = in_words(error)
    if "damaged" in text:
        return f"is damaged, or no study; {REMEDY}"
    return text.replace("; give an --out that can be written to", "; copy it elsewhere").replace(
        " and run the same command again", ""
    )
