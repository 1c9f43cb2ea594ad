"""How commands print and end: all that reaches a terminal passes here, and nothing here obeys it.

Names, words and messages come from files, environments and plug-ins, and may hold signs that move
the cursor, change the window's title, or turn the direction of text. Every sign that is not
printable is shown as a space; in JSON it is escaped. Colours are added afterwards, by Rich alone.
"""

from __future__ import annotations

import io
import json
import logging
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

import click

from didact.stages import listening

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

DONE, NO_OUTPUT, BAD_INPUT, LEFT_OPEN, PROOF_FAILED, INTERRUPTED = 0, 1, 2, 3, 4, 130
"""The exit codes; LEFT_OPEN: not taught, or a task or a trial has no result."""

NARROWEST = 24
"""A narrower terminal wraps lines itself, better than words broken at every second letter."""

_own: TextIO | None = None
"""The command's standard output, while what others print goes to standard error."""

_OBEYED = re.compile(r"[^ -~\n]")


class _Others(io.TextIOBase):
    """Standard output of environments, policies and plug-ins: it goes to standard error."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()

    def fileno(self) -> int:
        return sys.stderr.fileno()


@contextmanager
def own_output() -> Iterator[None]:
    """Keep standard output for the functions of this module.

    An environment that prints, in this process, in C or in a worker, would break the JSON there.
    """
    global _own
    before, _own = (sys.stdout, _own), sys.stdout
    moved = _moved_output()
    _own = moved or _own
    sys.stdout = _Others()
    try:
        yield
        if moved is not None:
            moved.flush()
    finally:
        sys.stdout, _own = before
        if moved is not None:
            os.dup2(moved.fileno(), 1)
            with suppress(OSError):  # it was told when it was written
                moved.close()


def _moved_output() -> TextIO | None:
    """Standard output under another number, which workers do not inherit; 1 is standard error.

    None where it is no file that the system numbers so, as in a notebook.
    """
    try:
        if sys.stdout.fileno() != 1:
            return None
        sys.stdout.flush()
        sys.stderr.flush()
        moved = os.dup(1)
        os.dup2(sys.stderr.fileno(), 1)
    except (OSError, ValueError, AttributeError):
        return None
    out = sys.stdout
    return open(moved, "w", encoding=out.encoding, errors=out.errors)


def _out() -> TextIO:
    """Where the command prints."""
    return _own if _own is not None and isinstance(sys.stdout, _Others) else sys.stdout


def printable(text: str) -> str:
    """The text with a space for every sign that is not printable, line ends among them."""
    # Not by didact.inputs: a mistyped option need not wait for NumPy.
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else " " for sign in text)


def print_line(text: str) -> None:
    """One line on standard output, however long; a terminal wraps it itself."""
    click.echo(_carried(printable(" ".join(text.splitlines()))), _out())


def print_words(text: str) -> None:
    """A sentence on standard output; on a terminal no word is broken at the end of a line."""
    if not _out().isatty():
        return print_line(text)
    from rich.text import Text

    print_drawing(lambda width: Text(text))


def print_lines(text: str) -> None:
    """Lines on standard output, as they stand."""
    click.echo(_carried("\n".join(map(printable, text.split("\n")))), _out())


def print_note(text: object) -> None:
    """A line on standard error that says who speaks."""
    click.echo(f"didact: {printable(' '.join(str(text).split()))}", err=True)


def end_line() -> None:
    """End a line that a person has begun on the terminal."""
    if sys.stderr.isatty():
        click.echo(err=True)


def print_json(document: Any) -> None:
    """One JSON value on standard output."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    if not _can_carry(text):
        text = json.dumps(document, allow_nan=False)
    click.echo(_OBEYED.sub(_escaped, text), _out())


def _escaped(found: re.Match[str]) -> str:
    """A sign in a JSON string; one that a terminal could obey as \\uXXXX."""
    sign = found[0]
    return sign if sign.isprintable() else json.dumps(sign)[1:-1] if sign != "\x7f" else "\\u007f"


def print_drawing(draw: Any) -> None:
    """What `draw(width=...)` gives on standard output, in colours where a terminal shows them."""
    console = _console()
    with console.capture() as captured:
        console.print(Cleaned(draw(width=console.width)), crop=False)
    text = "\n".join(line.rstrip() for line in captured.get().split("\n"))
    click.echo(_carried(text.removesuffix("\n")), _out(), color=console.is_terminal)


class Cleaned:
    """A drawing without the signs that a terminal obeys; what Rich adds for colours stays."""

    def __init__(self, drawn: RenderableType):
        self.drawn = drawn

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Its parts, cleaned."""
        from rich.segment import Segment

        for text, style, control in console.render(self.drawn, options):
            if control is None:
                yield Segment("\n".join(map(printable, text.split("\n"))), style)


def _console() -> Console:
    from rich.console import Console

    # Rich would ask standard error for its width, which may be elsewhere.
    return Console(file=_out(), width=_width(), highlight=False, markup=False, emoji=False)


def _width() -> int:
    """The columns of the terminal; 80 where there is none."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return max(int(columns), NARROWEST)
    with suppress(OSError, ValueError):
        return max(os.get_terminal_size(_out().fileno()).columns or 80, NARROWEST)
    return 80


def _carried(text: str) -> str:
    """The text in signs that standard output can carry."""
    if _can_carry(text):
        return text
    from didact.report.terminal.worlds import ASCII

    encoding = _out().encoding
    return text.translate(ASCII).encode(encoding, "replace").decode(encoding)


def _can_carry(text: str) -> bool:
    try:
        text.encode(_out().encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


class OneLine(logging.Formatter):
    """Log records as lines on standard error."""

    def format(self, record: logging.LogRecord) -> str:
        """'didact: what it says'."""
        return f"didact: {printable(' '.join(record.getMessage().split()))}"


def exit_code(done: bool) -> int:
    """0 where all that was asked for is done, 3 where something stays open."""
    return DONE if done else LEFT_OPEN


@dataclass(frozen=True)
class Output:
    """How a result is printed: as JSON for machines, or for people, in short or all of it."""

    as_json: bool
    details: bool = False

    def show(
        self, document: Callable[[], Any], lines: Iterable[str], saved: Iterable[str | None] = ()
    ) -> None:
        """A document for machines, or lines, and where files were written."""
        if self.as_json:
            print_json(document())
        else:
            print_result(lines, saved)

    def draw(
        self, document: Callable[[], Any], draw: Any, saved: Iterable[str | None] = ()
    ) -> None:
        """The same with what `draw(width=...)` gives."""
        if not self.as_json:
            print_drawing(draw)
        self.show(document, (), saved)


def print_result(lines: Iterable[str], saved: Iterable[str | None] = ()) -> None:
    """Lines on standard output, none broken inside a word, and where files were written.

    saved: places; None where one was not wanted. They are never broken, to be copied.
    """
    from didact.report.terminal import wrapped_lines

    width = _width()
    for line in wrapped_lines(
        map(printable, (" ".join(line.splitlines()) for line in lines)), width
    ):
        print_line(line)
    for place in saved:
        if place is not None:
            print_line(f"  saved as {place}")


@contextmanager
def progress_bar(*columns: str) -> Iterator[Any]:
    """Rich's progress on standard error, by the names of its columns; None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress as rich
    from rich.console import Console

    words = rich.TextColumn("{task.description}", markup=False)
    made = [words if name == "Text" else getattr(rich, f"{name}Column")() for name in columns]
    with rich.Progress(*made, console=Console(stderr=True), transient=True) as bar:
        yield bar


@contextmanager
def waiting(what: str) -> Iterator[Callable[[str], None]]:
    """Show a spinner with the time spent; nothing where standard error is no terminal.

    Its words are followed by the stage of the work. It gives a function that changes them.
    """
    with progress_bar("Spinner", "Text", "TimeElapsed") as bar:
        if bar is None:
            yield lambda words: None
            return
        task = bar.add_task(printable(what), total=None)

        def say(words: str) -> None:
            bar.update(task, description=printable(words))

        with listening(lambda words: say(f"{what}: {words}")):
            yield say


def play(task: Any, demonstrations: Any) -> None:
    """Show the first demonstrations step by step, where a person watches a terminal."""
    if not _out().isatty():
        return
    import time

    from rich.live import Live

    from didact.mdp.task import is_grid
    from didact.report.terminal.worlds import frames

    console = _console()
    moving = [d for d in demonstrations if len(d) > 1][: 3 if is_grid(task) else 0]
    for demonstration in moving:
        with Live(console=console, transient=True, auto_refresh=False) as live:
            for frame in frames(task, demonstration, console.width):
                live.update(Cleaned(frame), refresh=True)
                time.sleep(min(0.25, 3.0 / len(demonstration)))
