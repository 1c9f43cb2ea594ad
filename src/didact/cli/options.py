"""Options that several commands share, and how commands print."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import RenderableType

Option = Callable[[Any], Any]

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
horizon = click.option(
    "--horizon", type=click.IntRange(1), help="Steps of a demonstration; 1: single pairs."
)
FORMATS = click.Choice(["json", "jsonl", "minari", "imitation"])
"""Of recordings."""


def texts(*names: str, help: str) -> Option:
    """An option that takes a text NAME=VALUE, and may be given again."""
    return click.option(*names, multiple=True, metavar="NAME=VALUE", help=help)


parameters = texts(
    "-p",
    "--parameter",
    "settings",
    help="A parameter of the world, as size=9; may be given again. `didact worlds` lists them.",
)


def text(name: str, default: str, help: str, **more: Any) -> Option:
    """An option that takes a text."""
    return click.option(name, default=default, show_default=True, help=help, **more)


def seed(of: str) -> Option:
    """The option --seed; of: what is drawn by it."""
    return click.option("--seed", type=click.IntRange(0), help=f"The seed of {of}.")


def choice(name: str, choices: Sequence[str], help: str) -> Option:
    """An option that takes one of some words, the first by default."""
    return click.option(
        name, type=click.Choice(choices), default=choices[0], show_default=True, help=help
    )


def scope() -> Option:
    """The option --scope."""
    told = "Whose behaviour counts: states reachable from the start, or all."
    return choice("--scope", ("reachable", "all"), told)


def cost() -> Option:
    """The option --cost."""
    return choice("--cost", ("demonstrations", "pairs"), "What to keep small.")


def arithmetic(help: str = "How ties are decided.") -> Option:
    """The option --arithmetic."""
    return choice("--arithmetic", ("auto", "float", "exact"), help)


def settings_of(kind: str, help: str) -> Option:
    """The options -t, -l or -s NAME=VALUE of a teacher, a learner or a strategy."""
    return texts(f"-{kind[0]}", f"--{kind}-option", f"{kind}_settings", help=help)


def file(*names: str, help: str, **more: Any) -> Option:
    """An option that names a file."""
    return click.option(*names, type=click.Path(dir_okay=False), help=help, **more)


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
