"""SQLite files that one process writes: opened, locked, and complained about in one line."""

from __future__ import annotations

import os
import sqlite3
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from didact.errors import InvalidFile
from didact.files.reading import open_file, shown_path, without_waiting
from didact.inputs import in_one_line

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
