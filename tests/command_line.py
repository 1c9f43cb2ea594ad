"""Running the command line from tests, in this process, in its own, and at a terminal.

In this process, which is quickest, it is the fixture `didact` of `tests/conftest.py`.
"""

import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import termios
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn

from tests.forked import Forked, is_quicker

MODULE = ("-m", "didact")

PATIENCE = 300
"""Seconds without a sign of life after which a command counts as stuck, on a busy machine too."""


EVIDENCE = ("Proof verified", "Decided in floats, not proved")
"""How the line after a verdict begins that says what it rests on."""


@dataclass(frozen=True)
class Answer:
    """Exit code, standard output and standard error of one command."""

    code: int
    out: str
    err: str

    @property
    def verdict(self) -> str:
        """The first line, with what follows where it was broken, and the evidence below it."""
        lines = self.out.splitlines()
        n = next((i for i, line in enumerate(lines, 1) if line.endswith((".", ":"))), 1)
        below = lines[n].strip() if n < len(lines) else ""
        evidence = [f"{words}." for words in EVIDENCE if below.startswith(words)]
        return " ".join(" ".join([*lines[:n], *evidence]).split())

    @property
    def told(self) -> str:
        """All of it, as if no line had been broken."""
        return " ".join(self.out.split())


def refused(answer: Answer, *words: str, code: int = 2, out: str = "") -> None:
    """A command was refused in one line that has all the words, after it had printed `out`."""
    assert (answer.code, answer.out) == (code, out), answer
    assert answer.err.startswith("didact: "), answer.err
    assert (answer.err.count("\n"), answer.err[-1]) == (1, "\n"), answer.err
    for word in words:
        assert word in answer.err, answer.err
    assert "Traceback" not in answer.err


def in_own_process(
    *arguments: object,
    python: tuple[str, str] = MODULE,
    out: IO[str] | int = subprocess.PIPE,
    environment: dict[str, str] | None = None,
    anew: bool | None = None,
) -> Answer:
    """`python -m didact` with the arguments, 80 signs wide; or of ("-c", code).

    anew: whether Python is started for it. Every day `python -m didact` is forked from a process
    that has loaded it, and so is code for which `anew` is False.
    """
    if _may_be_forked(python, anew):
        settings = {"COLUMNS": "80", **(environment or {})}
        return _forked(arguments, python, out, settings)
    done = subprocess.run(
        [sys.executable, *python, *map(str, arguments)],
        stdout=out,
        stderr=subprocess.PIPE,
        env=_environment({"COLUMNS": "80", **(environment or {})}),
        encoding="utf-8",
    )
    return Answer(done.returncode, done.stdout or "", done.stderr)


def _may_be_forked(python: tuple[str, str], anew: bool | None) -> bool:
    return is_quicker() and not (python is not MODULE if anew is None else anew)


def _code(python: tuple[str, str]) -> str | None:
    return None if python is MODULE else python[1]


def _forked(
    arguments: tuple, python: tuple[str, str], out: IO[str] | int, settings: dict[str, str]
) -> Answer:
    """The same, quicker."""
    written = None if isinstance(out, int) else out.fileno()
    with tempfile.TemporaryFile() as errors, open(os.devnull) as nothing:
        started = Forked(
            *arguments,
            streams=(nothing.fileno(), written, errors.fileno()),
            environment=_environment(settings),
            code=_code(python),
        )
        said = b""
        if started.stdout is not None:
            with started.stdout as file:
                said = file.read()
        code = started.wait()
        errors.seek(0)
        return Answer(code, said.decode("utf-8"), errors.read().decode("utf-8"))


def _environment(settings: dict[str, str]) -> dict[str, str]:
    """This process's, without what would force colours, and with the settings."""
    plain = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "TTY_COMPATIBLE")}
    return {**plain, "PYTHONIOENCODING": "utf-8", **settings}


class Terminal:
    """A command in a terminal of its own, 100 signs wide, with what it showed so far.

    piped: standard output is no terminal but a pipe, and stands in `out` after the end. anew: as
    of `in_own_process`.
    """

    def __init__(
        self,
        *arguments: object,
        python: tuple[str, str] = MODULE,
        folder: Path | None = None,
        piped: bool = False,
        anew: bool | None = None,
    ):
        self._inner, outer = pty.openpty()
        self.shown = b""
        self._read_to = 0
        environment = _environment({"TERM": "xterm-256color", "COLUMNS": "100"})
        self.process: subprocess.Popen[bytes] | Forked
        if _may_be_forked(python, anew):
            self.process = Forked(
                *arguments,
                streams=(outer, None if piped else outer, outer),
                environment=environment,
                folder=folder,
                terminal=True,
                code=_code(python),
            )
        else:
            self.process = subprocess.Popen(
                [sys.executable, *python, *map(str, arguments)],
                stdin=outer,
                stdout=subprocess.PIPE if piped else outer,
                stderr=outer,
                cwd=folder,
                env=environment,
                start_new_session=True,
                preexec_fn=_own_terminal,
            )
        os.close(outer)
        self.out = ""

    @property
    def text(self) -> str:
        """All that was shown, without colours and movements."""
        return re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", self.shown).decode("utf-8", "replace")

    def until(self, wanted: str) -> str:
        """Read on until the text appears after the last one waited for; what came up to its end."""
        while (at := self.text.find(wanted, self._read_to)) < 0:
            if not self._read_more():
                self._fail(f"{wanted!r} does not come")
        came = self.text[self._read_to : at + len(wanted)]
        self._read_to = at + len(wanted)
        return came

    def press(self, keys: str) -> None:
        """Type keys as soon as the command reads them one by one; earlier ones would be dropped."""
        self._wait_for_raw_keys()
        os.write(self._inner, keys.encode())

    def end(self) -> int:
        """Read to the end; the exit code."""
        while self._read_more():
            pass
        if self.process.stdout is not None:
            self.out = self.process.stdout.read().decode("utf-8")
            self.process.stdout.close()
        code = self.process.wait(PATIENCE)
        os.close(self._inner)
        return code

    def _read_more(self) -> bool:
        """Whether anything more came before the command closed its side."""
        ready, _, _ = select.select([self._inner], [], [], PATIENCE)
        if not ready:
            self._fail("nothing comes any more")
        try:
            part = os.read(self._inner, 65536)
        except OSError:
            return False
        self.shown += part
        return bool(part)

    def _fail(self, what: str) -> NoReturn:
        self.process.kill()
        raise AssertionError(f"{what}; so far {self.text!r}")

    def _wait_for_raw_keys(self) -> None:
        last = time.monotonic() + PATIENCE
        while termios.tcgetattr(self._inner)[3] & termios.ICANON:
            if self.process.poll() is not None or time.monotonic() > last:
                self._fail("no key is asked for")
            time.sleep(0.005)


def _own_terminal() -> None:
    """Make standard input the terminal whose keys send signals."""
    import fcntl

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
