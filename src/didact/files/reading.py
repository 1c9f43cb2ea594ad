"""Texts and bytes from files, and no more of them than there may be.

A path may name anything: /dev/zero, a pipe that nobody writes to, a sparse file of terabytes. What
is no file is refused or read up to a limit, and sizes are compared before memory is taken.

Pipes and devices may be targets, too: what nobody reads is refused, nothing waits for ever.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from typing import IO, BinaryIO

from didact.errors import InvalidFile
from didact.inputs import shown

Name = str | os.PathLike[str]

MAX_BYTES = 400_000_000
"""A text that is taken at once, and a line of one, has at most so many bytes."""
MAX_BYTES_OF_LINES = 1_000_000_000
"""A text that is taken line by line."""
MAX_PIPED = 10_000_000
"""What comes through a pipe, whose size nobody knows before its end."""
PATIENCE = 10
"""Seconds until somebody must have begun to write to a pipe."""
GLANCE = 0.01
"""Seconds between two looks for a reader."""
LONGEST_PATH = 300
"""How many signs of a path are shown."""
CHUNK_BYTES = 2**20
"""Bytes that are read at a time, so that a file without an end is noticed."""


ALWAYS_ALLOWED, ENTRIES_PER_BYTE = 2_000_000, 8
"""How many entries a compressed file may hold whatever its size, and for each byte beyond the first
million. In Python an entry takes up to 200 bytes and a few microseconds, so a file of a megabyte
takes less than a gigabyte and some seconds."""


class Budget:
    """How many entries may still be unpacked from some files, counted before memory is taken.

    A compressed array, a list that is one run, or an array that is linked a thousand times cost
    nothing in the file.
    """

    def __init__(self, files: Iterable[Name], most: int):
        size = sum(map(os.path.getsize, files))
        more = ENTRIES_PER_BYTE * (size - 1_000_000)
        self.most = self.left = min(most, max(ALWAYS_ALLOWED, more))

    def take(self, n: int, what: str) -> None:
        """Count so many entries of something; refused where they are too many."""
        self.require(n, what)
        self.left -= n

    def require(self, n: int, what: str) -> None:
        """Refuse something that has more entries than are left, without counting it."""
        if n > self.left:
            raise InvalidFile(
                f"{what} has {n} entries, and files of this size may hold at most {self.most} in "
                "all; split it into several, or keep it uncompressed"
            )


def shown_path(path: Name) -> str:
    """The path on one line, without its middle where it is very long."""
    try:
        text = os.fspath(path)
    except TypeError:
        raise InvalidFile(f"a path must be a string; it is {shown(path)}") from None
    if not isinstance(text, str):
        raise InvalidFile(f"a path must be a string; it is {shown(path)}")
    text = text if text.isprintable() else repr(text)
    return text if len(text) <= LONGEST_PATH else f"{text[:100]}...{text[103 - LONGEST_PATH :]}"


def system_reason(error: Exception) -> str:
    """What the system says was wrong, without the name of the file."""
    return str(getattr(error, "strerror", None) or error)


def open_file(path: Name, *, pipes: bool = False) -> BinaryIO:
    """A file open for reading; with `pipes` a pipe too. All else is refused, in one line."""
    place = shown_path(path)
    try:
        file = open(path, "rb", opener=without_waiting)  # noqa: SIM115 (the caller closes it)
    except (OSError, ValueError) as error:
        raise InvalidFile(f"{place}: cannot be read: {system_reason(error)}") from None
    try:
        _require_readable(file, place, pipes)
    except BaseException:
        file.close()
        raise
    return file


def without_waiting(path: str, flags: int) -> int:
    """An opener for `open`: it does not wait for somebody at the other end of a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _require_readable(file: BinaryIO, place: str, pipes: bool) -> None:
    if _is_regular(file):
        return
    if not stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
        raise InvalidFile(f"{place}: must be a file; it is a device")
    if not pipes:
        raise InvalidFile(f"{place}: must be a file; it is a pipe")
    import select

    waiting = select.poll()
    waiting.register(file, select.POLLIN)
    if not waiting.poll(PATIENCE * 1000):
        raise InvalidFile(f"{place}: is a pipe that nobody has written to for {PATIENCE} seconds")
    os.set_blocking(file.fileno(), True)


def read_text(path: Name) -> str:
    """The text of a file or pipe in UTF-8, if it is no longer than it may be."""
    with open_file(path, pipes=True) as file:
        return _decoded(_whole(file, path, _limit(file, path, MAX_BYTES)), path)


def read_lines(path: Name) -> Iterator[str]:
    """The lines of such a text one after the other; the whole may be longer."""
    with open_file(path, pipes=True) as file:
        limit = _limit(file, path, MAX_BYTES_OF_LINES)
        lines: IO[bytes] = file if _is_regular(file) else io.BytesIO(_whole(file, path, limit))
        left, longest = limit, min(limit, MAX_BYTES)
        while line := _next_line(lines, path, longest):
            left -= len(line)
            if left < 0 or len(line) > longest:
                raise _too_long(path, limit)
            yield _decoded(line, path)


def _next_line(lines: IO[bytes], path: Name, longest: int) -> bytearray:
    """The next line with its end; of a longer one enough to see that."""
    line = bytearray()
    while len(line) <= longest and (part := _taken(lines.readline, CHUNK_BYTES, path)):
        line += part
        if part.endswith(b"\n"):
            break
    return line


def _whole(file: BinaryIO, path: Name, limit: int) -> bytearray:
    content = bytearray()
    while len(content) <= limit and (part := _taken(file.read, CHUNK_BYTES, path)):
        content += part
    if len(content) > limit:
        raise _too_long(path, limit)
    return content


def _is_regular(file: BinaryIO) -> bool:
    return stat.S_ISREG(os.fstat(file.fileno()).st_mode)


def _limit(file: BinaryIO, path: Name, most: int) -> int:
    """How many bytes are read; a file that has more is refused before any are."""
    limit = most if _is_regular(file) else min(most, MAX_PIPED)
    if os.fstat(file.fileno()).st_size > limit:
        raise _too_long(path, limit)
    return limit


def _too_long(path: Name, limit: int) -> InvalidFile:
    return InvalidFile(f"{shown_path(path)}: must have at most {limit} bytes; it has more")


def _taken(read: Callable[[int], bytes], n_bytes: int, path: Name) -> bytes:
    """The next bytes; a zero among them ends it at once, however many would follow."""
    try:
        part = read(n_bytes)
    except OSError as error:
        raise InvalidFile(f"{shown_path(path)}: cannot be read: {system_reason(error)}") from None
    if b"\0" in part:
        raise _binary(path)
    return part


def _decoded(content: bytes | bytearray, path: Name) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise _binary(path) from None


def _binary(path: Name) -> InvalidFile:
    return InvalidFile(f"{shown_path(path)}: must be a text file in UTF-8; it is binary")


def write_to_pipe(content: bytes, path: Name) -> None:
    """Write to what is no file: a pipe that somebody reads, a device.

    A pipe is refused when nobody has begun to read it, or takes anything, for a while.
    """
    import select

    with _opened(path) as file:
        left, number, waiting = memoryview(content), file.fileno(), None
        if stat.S_ISFIFO(os.fstat(number).st_mode):
            waiting = select.poll()
            waiting.register(number, select.POLLOUT)
        os.set_blocking(number, waiting is None)
        while left:
            if waiting is not None and not waiting.poll(PATIENCE * 1000):
                raise InvalidFile(
                    f"{shown_path(path)}: cannot be written: it is a pipe whose reader has taken "
                    f"nothing for {PATIENCE} seconds"
                )
            left = left[os.write(number, left) :]


def _opened(path: Name) -> IO[bytes]:
    """The target, open for writing; a reader of a pipe may come a little later."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return open(path, "wb", buffering=0, opener=without_waiting)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            if time.monotonic() >= deadline:
                raise InvalidFile(
                    f"{shown_path(path)}: cannot be written: it is a pipe that nobody reads, for "
                    f"{PATIENCE} seconds; start its reader"
                ) from None
        time.sleep(GLANCE)
