"""Pipes and devices as targets: what nobody reads is refused, nothing waits for ever."""

from __future__ import annotations

import errno
import os
import stat

from didact.errors import InvalidFile
from didact.files.reading import PATIENCE, Name, shown_path, without_waiting


def write_to_pipe(content: bytes, path: Name) -> None:
    """Write to what is no file: a pipe that somebody reads, a device.

    A pipe without a reader is refused at once, and one whose reader takes nothing after a while.
    """
    try:
        file = open(path, "wb", buffering=0, opener=without_waiting)  # noqa: SIM115
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise InvalidFile(
            f"{shown_path(path)}: cannot be written: it is a pipe that nobody reads; start its "
            "reader first"
        ) from None
    with file:
        if stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
            _feed(content, file.fileno(), path)
        else:
            os.set_blocking(file.fileno(), True)
            _write_all(content, file.fileno())


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
