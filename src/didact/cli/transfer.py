"""`didact transfer`: what does a lesson say about worlds that it was not made for?"""

from __future__ import annotations

from typing import Any

import click

from didact.cli import options, printing


@click.command("transfer")
@click.argument("lesson")
@options.world("random worlds")
@options.file("--of", help="What the lesson was made for, a file: adds the curve over its members.")
@click.option(
    "--drawn/--no-drawn",
    default=True,
    help="Whether the worlds are random draws; no intervals where they are not.",
)
@options.arithmetic()
@options.file("--out", help="Write the result as JSON.")
@options.output()
def command(
    lesson: str,
    world: options.NamedWorld,
    of: str | None,
    out: str | None,
    output: printing.Output,
    **given: Any,
) -> int:
    """Say what LESSON, a file, determines in unseen worlds with the same reward.

    WORLD is a file (.json) of a family or a task, or what `didact teach` takes. For each world that
    is not determined completely there is a reward that fits the lesson and is wrong there, with
    what it may lose. Exit code 0: all are determined; 3: some are open.
    """
    from didact.files.json import require_writable, write_json
    from didact.files.kinds import json_kind
    from didact.report.words.tasks import describe_transfer
    from didact.teaching import load_lesson, transfer
    from didact.teaching.transfer import TRANSFER_FORMAT
    from didact.worlds.opening import open_task_or_family

    with printing.waiting(f"trying {world.name}"):
        if out is not None:
            require_writable(out, json_kind(TRANSFER_FORMAT), [lesson, world.name, of])
        given_lesson = load_lesson(lesson)
        made_for = None if of is None else open_task_or_family(of)
        found = transfer(given_lesson, world.open(), of=made_for, **given)
        if out is not None:
            write_json(found.to_dict(), out)
    output.show(found.to_dict, describe_transfer(found).lines(details=output.details), [out])
    return printing.exit_code(found.share == 1)
