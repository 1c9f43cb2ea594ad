"""A worker process: it answers one question after another, within its memory, until it is ended.

What a page sends is parsed here, and only here, so that no text from outside can stop the server.
A refusal is an answer; running out of memory is one too; a bug is told without its traceback, which
goes to the server's standard error.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from didact.errors import DidactError, InvalidInput
from didact.files.json import parse_json
from didact.inputs import in_one_line
from didact.numerics.threads import begin_worker
from didact.stages import listening
from didact.studio.forks import BEGUN, DONE, FAILED, LOAD, READY, REFUSED, STAGE

Questions = Mapping[str, Callable[[Any], Any]]

GLANCE = 0.1
"""Seconds between two messages of one stage."""


def work(connection: Any, parent: int, memory: int, *, loads: bool) -> None:
    """Answer what comes through a connection: a question's name, then its body.

    Messages go back: that it is ready; for each question that it has begun, the stages it is at,
    then the reply. loads: as for a `Worker`.
    """
    from didact.studio.questions import QUESTIONS
    from didact.studio.warmed import load_lessons

    begin_worker(parent)
    with suppress(EOFError, OSError):
        if loads:
            load_lessons()
        connection.send_bytes(READY)
        _limit_memory(memory)
        while True:
            name = connection.recv_bytes().decode()
            body = connection.recv_bytes()
            connection.send_bytes(BEGUN)
            if name == LOAD:
                load_lessons()
                connection.send_bytes(DONE)
                continue
            answered_through(connection, QUESTIONS, name, body)


def answered_through(connection: Any, questions: Questions, name: str, body: bytes) -> None:
    """Send the stages of an answer through a connection, then the answer."""
    with listening(_telling(connection)):
        reply = answer(questions, name, body)
    connection.send_bytes(reply)


def _telling(connection: Any) -> Callable[[str], None]:
    """Sends stages: a new one at once, the same with other numbers only now and then."""
    last, told = "", 0.0

    def tell(words: str) -> None:
        nonlocal last, told
        name, now = words.partition(":")[0], time.monotonic()
        if name == last and now < told + GLANCE:
            return
        last, told = name, now
        with suppress(OSError):  # that nobody is there any more the reply will find
            connection.send_bytes(STAGE + words.encode())

    return tell


def answer(questions: Questions, name: str, body: bytes) -> bytes:
    """The reply to a question, with its kind in front."""
    try:
        reply = questions[name](_parsed(body))
        return DONE + json.dumps(reply, ensure_ascii=False, allow_nan=False).encode()
    except DidactError as error:
        return REFUSED + _told(in_one_line(error))
    except Exception as error:
        if _wants_memory(error):
            return REFUSED + _told("there is not enough memory for this; try a smaller world")
        traceback.print_exc(file=sys.stderr)
        return FAILED + _told("this is a bug: the server's own output has the details")


def _wants_memory(error: Exception) -> bool:
    """Whether memory was wanting; a library that does not fit any more cannot be loaded.

    Who loads it may say so in other words: then the reason is the error before. Compiled code that
    finds no memory may return without an exception, which Python turns into a SystemError.
    """
    return isinstance(error, MemoryError | SystemError) or (
        isinstance(error, ImportError | OSError)
        and any("failed to map segment" in str(each) for each in (error, error.__context__))
    )


def _parsed(body: bytes) -> Any:
    try:
        return parse_json(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput("what is sent must be JSON in UTF-8, not nested deeply") from None


def _told(line: str) -> bytes:
    return json.dumps({"error": line}).encode()


def _limit_memory(most: int) -> None:
    """Let this process take so many bytes more than it has, where the system counts them."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            has = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (has + most, has + most))
