"""`didact transfer`: what does a lesson say about worlds that it was not made for?"""

from __future__ import annotations

from typing import Any

import click

from didact.cli import options, printing
from didact.cli.exits import exit_code
from didact.cli.settings import world_settings


@click.command("transfer")
@click.argument("lesson")
@click.argument("world")
@options.parameters
@options.seed("random worlds")
@options.members
@options.file("--of", help="What the lesson was made for, a file: adds the curve over its members.")
@click.option(
    "--drawn/--no-drawn",
    default=True,
    help="Whether the worlds are random draws; no intervals where they are not.",
)
@options.arithmetic()
@options.file("--out", help="Write the result as JSON.")
@options.as_json
def command(
    lesson: str,
    world: str,
    settings: tuple[str, ...],
    seed: int | None,
    members: int | None,
    out: str | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Say what LESSON, a file, determines in unseen worlds with the same reward.

    WORLD is a file (.json) of a family or a task, or what `didact teach` takes. For each world that
    is not determined completely there is a reward that fits the lesson and is wrong there, with
    what it may lose. Exit code 0: all are determined; 3: some are open.
    """
    from didact.app.transfer import transfer_source
    from didact.cli.progress import waiting
    from didact.report.words.lessons import transfer_lines

    parameters = world_settings(world, settings, seed, members)
    with waiting(f"trying {world}"):
        found = transfer_source(lesson, world, parameters, out=out, **given)
    if as_json:
        printing.print_json(found.to_dict())
        return exit_code(found.share == 1)
    for line in transfer_lines(found):
        printing.print_line(line)
    if out is not None:
        printing.print_line(f"  saved as {out}")
    return exit_code(found.share == 1)
