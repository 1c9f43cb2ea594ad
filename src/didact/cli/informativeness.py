"""`didact informativeness`: was a demonstrator teaching, or merely doing the task?"""

from __future__ import annotations

import click

from didact.cli import options, printing


@click.command("informativeness")
@options.world("a random world and the draws")
@click.argument("demonstrations")
@options.choice(
    "--rewards", ("true", "unknown"), "Judge by the world's own weights, or as if unknown."
)
@click.option(
    "--confidence", type=float, default=100.0, show_default=True, help="How well doers choose."
)
@options.choice(
    "--starts",
    ("same", "drawn"),
    "Where others might begin: there, or where the world does.",
)
@click.option("--level", type=float, default=0.95, show_default=True, help="Of the interval.")
@click.option(
    "--n-draws", type=options.Whole(10), default=200, show_default=True, help="Per reward."
)
@options.file("--out", help="Write a page of it (.html).")
@options.output(has_details=False)
def command(
    world: options.NamedWorld,
    demonstrations: str,
    rewards: str,
    out: str | None,
    output: printing.Output,
    **given: object,
) -> int:
    """Say whether DEMONSTRATIONS of WORLD were chosen to teach, or come from doing the task.

    Prints the probability of teaching, the trust lambda of BIO-IRL with its interval, what each
    demonstration adds, and whether they are what a teacher or a doer would show at all.
    """
    from didact.files.json import require_writable
    from didact.files.kinds import PAGE
    from didact.learners.chains.informativeness import informativeness

    if out is not None:
        require_writable(out, PAGE, [world.name, demonstrations])
    task = world.open()
    with printing.waiting(f"judging {demonstrations}"):
        found = informativeness(
            *(task, demonstrations),
            rewards=task.weights if rewards == "true" else None,
            seed=world.seed or 0,
            **given,  # type: ignore[arg-type]
        )
    if out is not None:
        found.report(out)
    output.show(found.to_dict, found.lines(), [out])
    return 0
