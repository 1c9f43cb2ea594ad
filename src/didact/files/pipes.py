"""Pipes and devices as targets: what nobody reads is refused, nothing waits for ever."""

from __future__ import annotations

import errno
import os
import stat
import time
from typing import IO

from didact.errors import InvalidFile
from didact.files.reading import PATIENCE, Name, shown_path, without_waiting

GLANCE = 0.01
"""Seconds between two looks for a reader."""


def write_to_pipe(content: bytes, path: Name) -> None:
    """Write to what is no file: a pipe that somebody reads, a device.

    A pipe is refused when nobody has begun to read it, or takes anything, for a while.
    """
    with _opened(path) as file:
        if stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
            _feed(content, file.fileno(), path)
        else:
            os.set_blocking(file.fileno(), True)
            _write_all(content, file.fileno())


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


def _feed(content: bytes, pipe: int, path: Name) -> None:
    """Write as its reader takes it."""
    import select

    waiting = select.poll()
    waiting.register(pipe, select.POLLOUT)
    left = memoryview(content)
    while left:
        if not waiting.poll(PATIENCE * 1000):
            raise InvalidFile(
                f"{shown_path(path)}: cannot be written: it is a pipe whose reader has taken "
                f"nothing for {PATIENCE} seconds"
            )
        left = left[os.write(pipe, left) :]


def _write_all(content: bytes, device: int) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(device, left) :]
