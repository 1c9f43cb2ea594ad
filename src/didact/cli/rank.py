"""`didact rank`: how hard are tasks to teach?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any

import click

from didact.cli import options, printing

RANK_FORMAT = "didact.rank/1"


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
@options.output()
def command(
    names: tuple[str, ...],
    seed: int | None,
    svg: str | None,
    out: str | None,
    output: printing.Output,
    **given: Any,
) -> int:
    """Rank tasks by how hard they are to teach, the hardest first.

    NAMES are worlds, Gymnasium environments (Taxi means its newest version), and files of tasks or
    of families; without names the built-in list is ranked. Exit code 3: some could not be ranked.
    """
    from didact.files.json import require_writable, write_json, write_text
    from didact.files.kinds import SVG, json_kind
    from didact.report.page.family import rank_svg
    from didact.report.terminal.tables import draw_rank
    from didact.teaching.rank import benchmarks, open_named, rank

    for path, kind in ((out, json_kind(RANK_FORMAT)), (svg, SVG)):
        if path is not None:
            require_writable(path, kind, names)
    listed = names or tuple(benchmark.name for benchmark in benchmarks())
    makers = {name: partial(open_named, name) for name in listed}
    with _progress(len(listed)) as tell:
        rows = tuple(rank(makers, seed=seed or 0, progress=tell, **given))
    document = {"format": RANK_FORMAT, "rows": [row.document() for row in rows]}
    if out is not None:
        write_json(document, out)
    if svg is not None:
        write_text(rank_svg(rows), svg, kind=SVG)
    drawing = partial(draw_rank, rows, details=output.details)
    output.draw(lambda: document, drawing, (out, svg))
    return printing.exit_code(all(row.error is None for row in rows))


@contextmanager
def _progress(total: int) -> Iterator[Callable[[str], None] | None]:
    """A bar with the task at work on standard error, where a person watches."""
    with printing.progress_bar("Bar", "Text", "TimeElapsed") as bar:
        if bar is None:
            yield None
            return
        task, done = bar.add_task("ranking", total=total), count()
        yield lambda name: bar.update(
            task, completed=next(done), description=printing.printable(name)
        )
