"""Options that several commands share, and how commands print."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from didact.errors import InvalidParameter

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


def with_seed(given: dict[str, Any], seed: int | None) -> dict[str, Any]:
    """The parameters, with the seed among them where one was given."""
    if seed is None:
        return given
    if "seed" in given:
        raise InvalidParameter("the seed must be given once; leave out --seed or -p seed")
    return {**given, "seed": seed}


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


def with_world_seed(world: str, given: dict[str, Any], seed: int | None) -> dict[str, Any]:
    """The parameters, with the seed where the world takes one."""
    from didact.worlds import worlds

    known = worlds().get(world)
    if seed is None or known is None or "seed" not in known.parameters:
        return given
    return with_seed(given, seed)


def as_states(text: str | None) -> list[int] | None:
    """State numbers from '0,3,7'."""
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InvalidParameter(f"--starts must read 0,3,7; it is {text!r:.60}") from None


def as_options(given: dict[str, Any], reserved: Iterable[str]) -> dict[str, Any]:
    """Teacher options; decimals become floats there."""
    for name in given:
        if name in reserved:
            raise InvalidParameter(f"{name!r} is not an option of a teacher; `didact teach` has it")
    return {name: _as_decimal(value) for name, value in given.items()}


def _as_decimal(value: Any) -> Any:
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


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
