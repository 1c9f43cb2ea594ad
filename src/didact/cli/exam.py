"""`didact exam`: the shortest exam that decides whether an agent wants what a world wants."""

from __future__ import annotations

from typing import Any

import click

from didact.cli import options, printing
from didact.cli.exits import exit_code
from didact.cli.settings import world_settings


@click.command("exam")
@click.argument("world")
@options.parameters
@options.seed("a random world")
@options.members
@options.choice(
    "--ask",
    ("comparisons", "actions", "preferences"),
    "Compare two actions, name the best ones, or compare two trajectories.",
)
@click.option(
    "--closed/--no-closed",
    default=True,
    help="Ask in states that follow too; without them nobody passes.",
)
@options.scope()
@options.arithmetic()
@click.option("--key", is_flag=True, help="Print the right answers too.")
@click.option("--proof", is_flag=True, help="Also run the independent proof checker.")
@options.file("--out", help="Write the exam with its key and proof to this file.")
@options.file("--html", help="Write a sheet to print, and its key beside it (-key.html).")
@options.as_json
def command(
    world: str,
    settings: tuple[str, ...],
    seed: int | None,
    members: int | None,
    closed: bool,
    key: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Make the shortest exam that decides whether an agent holds the same actions best as WORLD.

    WORLD is as for `didact teach`. The exam says what a pass means and when it follows; those
    questions that a misaligned agent is likely to fail come first. Exit code 0: right answers
    decide; 3: they do not, because something cannot be asked.
    """
    from didact.app.exam import exam_source
    from didact.cli.progress import waiting

    parameters = world_settings(world, settings, seed, members)
    with waiting(f"examining {world}"):
        examined = exam_source(world, parameters, closed=closed, **given)
    if as_json:
        printing.print_json(examined.exam.document())
        return exit_code(examined.exam.can_pass)
    from didact.report.words.exams import exam_lines

    for line in exam_lines(examined.exam, key=key):
        printing.print_line(line)
    if examined.verified is not None:
        printing.print_line(f"  {examined.verified}")
    for place in (*([given["out"]] if given["out"] else []), *examined.pages):
        printing.print_line(f"  saved as {place}")
    return exit_code(examined.exam.can_pass)
