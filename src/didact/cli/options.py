"""Options that several commands share, and how commands print."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import RenderableType

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
parameters = click.option(
    "-p",
    "--parameter",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the world, as size=9; may be given again. `didact worlds` lists them.",
)
seed = click.option(
    "--seed", type=click.IntRange(0), help="The seed of a random world; the same as -p seed=N."
)

NARROWEST = 24
"""A narrower terminal wraps lines itself, better than words broken at every second letter."""


def print_json(document: Any) -> None:
    """One JSON value on standard output."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    click.echo(text if _can_carry(text) else json.dumps(document, allow_nan=False))


def print_drawing(draw: Any) -> None:
    """What `draw(width)` gives on standard output, in colours where a terminal shows them."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    console.width = max(console.width, NARROWEST)
    drawn: RenderableType = draw(console.width)
    with console.capture() as captured:
        console.print(drawn, crop=False)
    text = "\n".join(line.rstrip() for line in captured.get().splitlines())
    click.echo(_carried(text), color=console.is_terminal)


def print_line(text: str) -> None:
    """One line on standard output, however long; a terminal wraps it itself."""
    click.echo(_carried(" ".join(text.splitlines())))


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


def play(task: Any, demonstrations: Any) -> None:
    """Show the first demonstrations step by step, where a person watches a terminal."""
    if not sys.stdout.isatty() or task.layout is None:
        return
    import time

    from rich.console import Console
    from rich.live import Live

    from didact.report.terminal.lessons import frames

    console = Console(highlight=False, markup=False, emoji=False)
    moving = [d for d in demonstrations if len(d) > 1][:3]
    for demonstration in moving:
        with Live(console=console, transient=True, auto_refresh=False) as live:
            for frame in frames(task, demonstration, console.width):
                live.update(frame, refresh=True)
                time.sleep(min(0.25, 3.0 / len(demonstration)))
