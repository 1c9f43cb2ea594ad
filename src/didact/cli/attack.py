"""`didact attack`: how many demonstrations must be dropped or forged to mislead a learner?"""

from __future__ import annotations

import click

from didact.cli import options, printing


@click.command("attack")
@options.world("a random world")
@click.argument("demonstrations")
@click.option("--loss", metavar="LOSS|PERCENT", help="A learner is to lose so much, as 0.5 or 10%.")
@click.option(
    "--drop/--no-drop", default=True, help="Whether they may be dropped; else flips only."
)
@click.option(
    "--flip", is_flag=True, help="They may be flipped, against a learner that trusts the majority."
)
@click.option(
    "--time-limit", type=click.FloatRange(0), default=10.0, show_default=True, help="Seconds."
)
@options.file("--out", help="Write a page of it (.html).")
@options.output(has_details=False)
def command(
    world: options.NamedWorld,
    demonstrations: str,
    out: str | None,
    output: printing.Output,
    **given: object,
) -> int:
    """Find the fewest of DEMONSTRATIONS to drop or flip so that a learner is wrong about WORLD.

    Says also how many forged ones they survive. Exit code 0: no attack needs fewer; 3: the number
    is an upper bound.
    """
    from didact.files.json import require_writable
    from didact.files.kinds import PAGE
    from didact.teaching import attack

    if out is not None:
        require_writable(out, PAGE, [world.name, demonstrations])
    task = world.open()
    with printing.waiting(f"attacking {demonstrations}"):
        found = attack(task, demonstrations, **given)  # type: ignore[arg-type]
    if out is not None:
        found.report(out)
    output.show(found.to_dict, found.lines(), [out])
    return printing.exit_code(found.is_fewest)
