"""How commands print: all that reaches a terminal passes here, and nothing here obeys it.

Names, words and messages come from files, environments and plug-ins, and may hold signs that move
the cursor, change the window's title, or turn the direction of text. Every sign that is not
printable is shown as a space; in JSON it is escaped. Colours are added afterwards, by Rich alone.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

NARROWEST = 24
"""A narrower terminal wraps lines itself, better than words broken at every second letter."""

_OBEYED = re.compile(r"[^ -~\n]")


def printable(text: str) -> str:
    """The text with a space for every sign that is not printable, line ends among them."""
    # Not by didact.inputs: a mistyped option need not wait for NumPy.
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else " " for sign in text)


def print_line(text: str) -> None:
    """One line on standard output, however long; a terminal wraps it itself."""
    click.echo(_carried(printable(" ".join(text.splitlines()))))


def print_words(text: str) -> None:
    """A sentence on standard output; on a terminal no word is broken at the end of a line."""
    if not sys.stdout.isatty():
        return print_line(text)
    from rich.text import Text

    print_drawing(lambda width: Text(text))


def print_lines(text: str) -> None:
    """Lines on standard output, as they stand."""
    click.echo(_carried("\n".join(map(printable, text.split("\n")))))


def print_note(text: object) -> None:
    """A line on standard error that says who speaks."""
    click.echo(f"didact: {printable(' '.join(str(text).split()))}", err=True)


def print_json(document: Any) -> None:
    """One JSON value on standard output."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    if not _can_carry(text):
        text = json.dumps(document, allow_nan=False)
    click.echo(_OBEYED.sub(_escaped, text))


def _escaped(found: re.Match[str]) -> str:
    """A sign in a JSON string; one that a terminal could obey as \\uXXXX."""
    sign = found[0]
    return sign if sign.isprintable() else json.dumps(sign)[1:-1] if sign != "\x7f" else "\\u007f"


def print_drawing(draw: Any) -> None:
    """What `draw(width)` gives on standard output, in colours where a terminal shows them."""
    console = _console()
    console.width = max(console.width, NARROWEST)
    with console.capture() as captured:
        console.print(Cleaned(draw(console.width)), crop=False)
    text = "\n".join(line.rstrip() for line in captured.get().split("\n"))
    click.echo(_carried(text.removesuffix("\n")), color=console.is_terminal)


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

    return Console(highlight=False, markup=False, emoji=False)


def _carried(text: str) -> str:
    """The text in signs that standard output can carry."""
    if _can_carry(text):
        return text
    from didact.report.terminal.worlds import ASCII

    encoding = sys.stdout.encoding
    return text.translate(ASCII).encode(encoding, "replace").decode(encoding)


def _can_carry(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


class OneLine(logging.Formatter):
    """Log records as lines on standard error."""

    def format(self, record: logging.LogRecord) -> str:
        """'didact: what it says'."""
        return f"didact: {printable(' '.join(record.getMessage().split()))}"


def play(task: Any, demonstrations: Any) -> None:
    """Show the first demonstrations step by step, where a person watches a terminal."""
    if not sys.stdout.isatty() or task.layout is None:
        return
    import time

    from rich.live import Live

    from didact.report.terminal.lessons import frames

    console = _console()
    moving = [d for d in demonstrations if len(d) > 1][:3]
    for demonstration in moving:
        with Live(console=console, transient=True, auto_refresh=False) as live:
            for frame in frames(task, demonstration, console.width):
                live.update(Cleaned(frame), refresh=True)
                time.sleep(min(0.25, 3.0 / len(demonstration)))
