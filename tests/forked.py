"""Commands in processes of their own that are forked from one which has loaded didact.

Most of the time of a small command goes into starting Python and loading what it needs. Streams,
terminal, folder, environment and exit are the command's own, and Python ends as it always does.
"""

import atexit
import contextlib
import fcntl
import gc
import io
import json
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import termios
from functools import cache
from pathlib import Path

from tests import effort

LARGEST = 2**16
"""Bytes of a request."""
COMMAND = "from didact.__main__ import run; run()"


def is_quicker() -> bool:
    """Whether commands are forked: every day, where packets can go between processes."""
    return sys.platform == "linux" and not effort.takes_all()


class Forked:
    """A command under way, with what is used of a `subprocess.Popen`.

    streams: file descriptors of its standard input, output and error; None is a pipe, whose end is
    `stdout` or `stderr`. code: what runs instead of the command, as of `python -c`.
    """

    stdout: io.BufferedReader | None = None
    stderr: io.BufferedReader | None = None

    def __init__(
        self,
        *arguments: object,
        streams: tuple[int, int | None, int | None],
        environment: dict[str, str],
        folder: Path | None = None,
        terminal: bool = False,
        code: str | None = None,
    ):
        request = {
            "code": code or COMMAND,
            "arguments": [*map(str, arguments)],
            "environment": environment,
            "folder": str(folder or Path.cwd()),
            "terminal": terminal,
        }
        into, out, errors = streams
        if out is None:
            reader, out = os.pipe()
            self.stdout = os.fdopen(reader, "rb")
        if errors is None:
            reader, errors = os.pipe()
            self.stderr = os.fdopen(reader, "rb")
        self._reports, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
        message = json.dumps(request).encode()
        socket.send_fds(_loaded(), [message], [into, out, errors, theirs.fileno()])
        theirs.close()
        if self.stdout is not None:
            os.close(out)
        if self.stderr is not None:
            os.close(errors)
        self.pid = int(self._reports.recv(LARGEST))
        self._code: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once it has ended; of a signal its number below zero."""
        if self._code is None:
            ready, _, _ = select.select([self._reports], [], [], timeout)
            if not ready:
                raise TimeoutError(f"process {self.pid} has not ended")
            self._code = int(self._reports.recv(LARGEST))
            self._reports.close()
        return self._code

    def poll(self) -> int | None:
        """The exit code, None before the end."""
        with contextlib.suppress(TimeoutError):
            return self.wait(0)
        return None

    def send_signal(self, number: int) -> None:
        """Send it a signal; nothing where it ended just now."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end, if it has not ended."""
        if self.poll() is None:
            self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


@cache
def _loaded() -> socket.socket:
    """The connection to the process that commands are forked from, started when first needed."""
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", "tests.forked", str(theirs.fileno())]
    root = Path(__file__).parents[1]
    nothing = subprocess.DEVNULL
    process = subprocess.Popen(
        command, pass_fds=[theirs.fileno()], cwd=root, stdin=nothing, stdout=nothing
    )
    theirs.close()
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


def _next_command(requests: socket.socket) -> str | None:
    """The code of a command, in its own process; None in the first one, at the end."""
    while True:
        message, streams, _, _ = socket.recv_fds(requests, LARGEST, 4)
        if not message:
            return None
        if os.fork() == 0:
            requests.close()
            request, report = json.loads(message), streams.pop()
            # Before the fork: the end of a child that is killed at once would never be told.
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            if (number := os.fork()) != 0:
                _tell_the_end(number, report)
            os.close(report)
            _become(request, streams)
            return request["code"]
        for each in streams:
            os.close(each)


def _tell_the_end(number: int, report: int) -> None:
    """Report the number of a process and then how it ended; leave."""
    os.write(report, str(number).encode())
    _, status = os.waitpid(number, 0)
    os.write(report, str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _become(request: dict, streams: list[int]) -> None:
    """Take over what a process of its own would have been started with."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    if request["terminal"]:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    encoding = os.environ.get("PYTHONIOENCODING", "utf-8")
    sys.stdin = sys.__stdin__ = os.fdopen(0, encoding=encoding)
    sys.stdout = sys.__stdout__ = _written(1, encoding, line_buffering=os.isatty(1))
    sys.stderr = sys.__stderr__ = _written(
        2, encoding, errors="backslashreplace", line_buffering=True
    )
    sys.argv = ["-c", *request["arguments"]]
    # Last: until the command itself begins, nobody could tell of an interrupt but this file.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _written(number: int, encoding: str, **options) -> io.TextIOWrapper:
    """A standard stream to write to, as Python opens it."""
    return io.TextIOWrapper(os.fdopen(number, "wb"), encoding, **options)


def _load() -> None:
    """Load what a small command needs."""
    from didact.cli import main

    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main(["teach", "six-cell"])
    logging.getLogger().handlers.clear()
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    _load()
    if (code := _next_command(socket.socket(fileno=int(sys.argv[1])))) is not None:
        exec(code, {"__name__": "__main__"})
