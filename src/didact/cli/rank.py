"""`didact rank`: how hard are tasks to teach?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from didact.cli import options, printing
from didact.cli.exits import exit_code


@click.command("rank")
@click.argument("names", nargs=-1)
@click.option(
    "--exact/--no-exact",
    default=True,
    show_default=True,
    help="Search the smallest lessons; else SCOT's and their bounds.",
)
@options.arithmetic()
@options.seed("what is drawn; 0 by default")
@options.number(
    "--time-limit",
    default=20.0,
    within=click.FloatRange(0, min_open=True),
    help="Seconds for each search of a smallest lesson; bounds after it.",
)
@options.file("--svg", help="Write the bars as a picture.")
@options.file("--out", help="Write the rows as JSON.")
@options.as_json
def command(
    names: tuple[str, ...],
    seed: int | None,
    svg: str | None,
    out: str | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Rank tasks by how hard they are to teach, the hardest first.

    NAMES are worlds, Gymnasium environments (Taxi means its newest version), and files of tasks or
    of families; without names the built-in list is ranked. Exit code 3: some could not be ranked.
    """
    from didact.app.rank import RANK_FORMAT, rank_sources
    from didact.files.json import require_writable, write_json, write_text
    from didact.files.kinds import SVG, json_kind
    from didact.report.page.family import rank_svg
    from didact.report.terminal.tables import draw_rank

    for path, kind in ((out, json_kind(RANK_FORMAT)), (svg, SVG)):
        if path is not None:
            require_writable(path, kind, names)
    with _progress() as tell:
        ranked = rank_sources(names, seed=seed or 0, progress=tell, **given)
    if out is not None:
        write_json(ranked.document(), out)
    if svg is not None:
        write_text(rank_svg(ranked.rows), svg, kind=SVG)
    if as_json:
        printing.print_json(ranked.document())
        return exit_code(ranked.is_complete)
    printing.print_drawing(lambda width: draw_rank(ranked.rows, width=width))
    for path in (out, svg):
        if path is not None:
            printing.print_line(f"  saved as {path}")
    return exit_code(ranked.is_complete)


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None] | None]:
    """A bar with the task at work on standard error, where a person watches."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns: tuple[Any, ...] = (
        BarColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("ranking", total=None)

        def tell(name: str, number: int, total: int) -> None:
            progress.update(
                bar, total=total, completed=number, description=printing.printable(name)
            )

        yield tell
