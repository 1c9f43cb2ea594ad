"""One SQLite file for a study with people: every answer is on the disk before it is acknowledged.

A participant is a secret name in a link and a number; nothing else is known of them. A step is
answered once: sending it again changes nothing, so that a browser may repeat what it is not sure
of.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from didact.errors import InvalidFile, InvalidParameter
from didact.files.reading import shown_path
from didact.inputs import shown
from didact.studies.databases import connect, in_words, transaction
from didact.studies.people.design import Design

FORMAT = "didact.people/1"
TABLES = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE participants (number INTEGER PRIMARY KEY AUTOINCREMENT, secret TEXT UNIQUE NOT NULL,
    condition TEXT NOT NULL, began REAL NOT NULL);
CREATE TABLE answers (participant INTEGER NOT NULL, step INTEGER NOT NULL, kind TEXT NOT NULL,
    member INTEGER, state INTEGER, action INTEGER, correct INTEGER, confidence INTEGER,
    comment TEXT, at REAL NOT NULL, PRIMARY KEY (participant, step));
"""


@dataclass(frozen=True)
class Participant:
    """Somebody who takes part: number from 0, secret, condition, and how many steps are done."""

    number: int
    secret: str
    condition: str
    n_done: int


class Records:
    """The open file of a study."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        with self._told():
            if not self.path.exists():
                raise InvalidFile(f"{shown_path(path)}: there is no such study; make it by init")
            self._database = connect(self.path)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=FULL")
            self._database.execute("PRAGMA busy_timeout=20000")
            if self._about("format") != FORMAT:
                raise InvalidFile(f"{shown_path(path)}: must be a file of `didact study init`")
        self.design = Design.read(json.loads(self._about("design")))
        self.subject_document: dict[str, Any] = json.loads(self._about("subject"))

    @staticmethod
    def create(path: str | os.PathLike[str], design: Design, subject: Mapping[str, Any]) -> Records:
        """A new file; an old one is never written over."""
        place = Path(path)
        if place.exists():
            raise InvalidFile(f"{shown_path(path)}: is there already; a study is never overwritten")
        about = {
            "format": FORMAT,
            "design": json.dumps(design.document()),
            "subject": json.dumps(subject),
        }
        try:
            with connect(place) as database:
                database.executescript(TABLES)
                database.executemany("INSERT INTO about VALUES (?, ?)", about.items())
            database.close()
        except sqlite3.Error as error:
            raise InvalidFile(f"{shown_path(path)}: cannot be written: {in_words(error)}") from None
        return Records(place)

    def _about(self, name: str) -> str:
        row = self._database.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return "" if row is None else str(row[0])

    def join(self) -> Participant:
        """A new participant, in the condition whose turn it is."""
        secret = secrets.token_urlsafe(16)
        with self._told(), transaction(self._database):
            found = self._database.execute(
                "INSERT INTO participants (secret, condition, began) VALUES (?, '', ?)",
                (secret, time.time()),
            )
            number = int(found.lastrowid or 1) - 1
            condition = self.design.condition_of(number)
            self._database.execute(
                "UPDATE participants SET condition = ? WHERE secret = ?", (condition, secret)
            )
        return Participant(number, secret, condition, 0)

    def find(self, secret: str) -> Participant | None:
        """The participant of a link, with how far they came."""
        with self._told():
            row = self._database.execute(
                "SELECT number, condition, (SELECT COUNT(*) FROM answers WHERE"
                " participant = number) FROM participants WHERE secret = ?",
                (secret,),
            ).fetchone()
        return None if row is None else Participant(row[0] - 1, secret, row[1], row[2])

    def answer(self, participant: Participant, step: int, given: Mapping[str, Any]) -> int:
        """Keep the answer to a step; how many steps are done now. The next step only, and once."""
        steps = self.design.order_of(participant.number)
        if not 0 <= step < len(steps):
            raise InvalidParameter(f"step must be from 0 to {len(steps) - 1}; it is {shown(step)}")
        kind, place = steps[step]
        action = given.get("action")
        asks = kind in ("practice", "test")
        correct = int(action in self.design.right[place]) if asks else None
        row = (
            *(
                participant.number + 1,
                step,
                kind,
                *(place if asks else (None, None)),
                action if asks else None,
            ),
            *(correct, given.get("confidence"), given.get("comment"), time.time()),
        )
        with self._told(), transaction(self._database):
            done = self._n_done(participant)
            if step == done:
                marks = ", ".join("?" * len(row))
                self._database.execute(f"INSERT INTO answers VALUES ({marks})", row)
            return self._n_done(participant)

    def _n_done(self, participant: Participant) -> int:
        found = self._database.execute(
            "SELECT COUNT(*) FROM answers WHERE participant = ?", (participant.number + 1,)
        )
        return int(found.fetchone()[0])

    def delete(self, number: int) -> int:
        """Forget a participant and all their answers; how many answers were there."""
        with self._told():
            with transaction(self._database):
                gone = self._database.execute(
                    "DELETE FROM answers WHERE participant = ?", (number + 1,)
                ).rowcount
                there = self._database.execute(
                    "DELETE FROM participants WHERE number = ?", (number + 1,)
                ).rowcount
            if not there:
                raise InvalidParameter(f"there is no participant {number} in this study")
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._database.execute("VACUUM")
        return gone

    def participants(self) -> list[dict[str, Any]]:
        """All participants: number, condition, when they began, how many steps they did."""
        with self._told():
            rows = self._database.execute(
                "SELECT number - 1, condition, began, (SELECT COUNT(*) FROM answers WHERE"
                " participant = number) FROM participants ORDER BY number"
            ).fetchall()
        names = ("participant", "condition", "began", "steps")
        return [dict(zip(names, row, strict=True)) for row in rows]

    def answers(self) -> list[dict[str, Any]]:
        """All answers with the conditions of who gave them, in the order of their steps."""
        names = (
            *("participant", "condition", "step", "kind", "member", "state", "action"),
            *("correct", "confidence", "comment", "at"),
        )
        with self._told():
            rows = self._database.execute(
                "SELECT number - 1, condition, step, kind, member, state, action, correct,"
                " confidence, comment, at FROM answers JOIN participants ON participant = number"
                " ORDER BY number, step"
            ).fetchall()
        return [dict(zip(names, row, strict=True)) for row in rows]

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise InvalidFile(f"{shown_path(self.path)}: {in_words(error)}") from None
