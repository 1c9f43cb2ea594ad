"""`didact identify`: what can no demonstration teach here, and what would reveal it?"""

from __future__ import annotations

import click

from didact.cli import options, printing


@click.command("identify")
@options.world("a random world")
@click.option(
    "--change",
    "changes",
    multiple=True,
    metavar="KIND=VALUE[:PRICE]",
    help="discount=, wall=, end=, restart= (an end that leads back), start=, slip= or world= that "
    "is offered, of a family as 2/wall=12; may be given again.",
)
@click.option(
    "--goal",
    metavar="I,J|order=I,J|angle=DEGREES",
    help="Two features that are to be told apart, as 3,5, or ordered as the weights order them; "
    "an angle to the weights that no reward that fits is to exceed.",
)
@options.horizon
@options.scope()
@options.file("--out", help="Write a page of it (.html).")
@options.output(has_details=False)
def command(
    world: options.NamedWorld,
    changes: tuple[str, ...],
    out: str | None,
    output: printing.Output,
    **given: object,
) -> int:
    """Say what no demonstration in WORLD can teach, and the cheapest change that reveals it.

    Without --change starts, discounts, single walls and ends, and ends that lead back to the start
    are tried, at the price 1 each. Exit code 0: the goal is reached already, or the changes are
    confirmed; 3: nothing tried reaches it.
    """
    from didact.files.json import require_writable
    from didact.files.kinds import PAGE
    from didact.teaching import identify

    if out is not None:
        require_writable(out, PAGE, [world.name])
    task = world.open()
    with printing.waiting(f"identifying {world.name}"):
        found = identify(task, list(changes) or None, **given)  # type: ignore[arg-type]
    if out is not None:
        found.report(out)
    output.show(found.to_dict, found.lines(), [out])
    return printing.exit_code(found.confirmed)
