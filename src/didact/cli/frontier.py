"""`didact frontier`: how many demonstrations keep learners within how much loss."""

from __future__ import annotations

from typing import Any

import click

from didact.cli import options, printing
from didact.errors import Unsupported


@click.command("frontier")
@options.world("a random world")
@options.text(
    "--losses",
    "10%,5%,2%,1%,0.1%",
    "Bounds on the loss, as 10%,1% or 0.5; a complete lesson ends.",
    callback=options.parts,
)
@options.choice("--learner-model", ("both", "half-spaces", "planner"), "Whose loss is bounded.")
@options.choice("--teacher", ("exact", "scot"), "Fewest demonstrations, or greedy ones.")
@options.horizon
@options.cost("attempts")
@options.starts
@click.option("--min-probability", help="Least probability of a demonstration's moves; 0: any.")
@options.scope()
@options.arithmetic()
@options.number(
    "--time-limit",
    default=20.0,
    within=click.FloatRange(0, min_open=True),
    help="Seconds for all bounds; what is not visited then is only tested.",
)
@options.file("--out", help="Write its page (.html), with the mistakes that each lesson leaves.")
@options.output(has_details=False)
def command(
    world: options.NamedWorld,
    out: str | None,
    output: printing.Output,
    **given: Any,
) -> int:
    """Say how many demonstrations of WORLD keep learners within how much loss.

    WORLD is as for `didact teach`. Exit code 0: every bound is kept by all learners that fit; 3:
    some bounds are only tested, or are not kept.
    """
    from didact.files.json import require_writable
    from didact.files.kinds import PAGE
    from didact.mdp import Family
    from didact.report.page.family import NO_PAGE
    from didact.report.words.tasks import describe_frontier
    from didact.teaching import frontier

    with printing.waiting(f"the frontier of {world.name}"):
        if out is not None:
            require_writable(out, PAGE, [world.name])
        task = world.open()
        if out is not None and isinstance(task, Family):
            raise Unsupported(NO_PAGE)
        found = frontier(task, **given)
        if out is not None:
            found.report(out)
    output.show(found.to_dict, describe_frontier(task, found).lines(), [out])
    return printing.exit_code(found.is_certain)
