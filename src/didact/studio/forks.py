"""Worker processes and how they are started: forked from one that has loaded what they need.

The process they are forked from begins to load (`warmed`) as soon as the command is given, before
the server itself is loaded: this module imports nothing that takes time. A new worker is then ready
in milliseconds.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from typing import Any

from didact.numerics.threads import ONE_THREAD, without_interrupts

LOAD = "load"
"""Asked by the pool: to load what lessons need."""
READY, BEGUN = b"0", b"1"
"""Says that a worker takes questions; that one has come and is worked on."""
STAGE = b"3"
"""Begins what a worker says before its reply: the stage that the work is at, in words."""
DONE, REFUSED, FAILED = b"2", b"4", b"5"
"""The first byte of a reply; what follows is JSON."""


def warm_up() -> None:
    """Start the process that workers are forked from; it loads what they need by itself."""
    from multiprocessing import forkserver

    os.environ.update(ONE_THREAD)
    multiprocessing.get_context("forkserver").set_forkserver_preload(["didact.studio.warmed"])
    with without_interrupts():
        forkserver.ensure_running()


class Worker:
    """A worker process and the connection to it.

    loads: whether it loads what lessons need before it is ready; else when it is asked to `LOAD`,
    or for a lesson.
    """

    def __init__(self, memory: int, *, loads: bool = False):
        warm_up()
        context = multiprocessing.get_context("forkserver")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, memory, loads), daemon=True)
        self._process.start()
        theirs.close()
        self._killed = False

    @property
    def process_id(self) -> int:
        """Of the process."""
        return self._process.pid or 0

    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return not self._killed and self._process.is_alive()

    def get_ready(self) -> None:
        """Wait until it takes questions; EOFError or OSError where it dies before that."""
        self._connection.recv_bytes()

    def exchange(self, kind: str, body: bytes, tell: Callable[[str], None]) -> bytes:
        """Ask and wait for the reply; EOFError or OSError where the worker dies over it.

        BrokenPipeError where it had died before it began. tell: called with each stage.
        """
        try:
            self._connection.send_bytes(kind.encode())
            self._connection.send_bytes(body)
            self._connection.recv_bytes()
        except (EOFError, OSError) as error:
            raise BrokenPipeError from error
        tell("reading the world")
        reply: bytes = self._connection.recv_bytes()
        while reply[:1] == STAGE:
            tell(reply[1:].decode())
            reply = self._connection.recv_bytes()
        return reply

    def kill(self) -> None:
        """End the process at once."""
        self._killed = True
        self._process.kill()


def _work(connection: Any, memory: int, loads: bool) -> None:
    from didact.studio.worker import work

    work(connection, os.getppid(), memory, loads=loads)
