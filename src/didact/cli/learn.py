"""`didact learn`: what a learner makes of demonstrations."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from didact.cli import options, printing
from didact.errors import InvalidParameter

WHOLE = options.AnyWhole()


@click.command("learn")
@click.argument("world")
@click.argument("demonstrations")
@options.parameters
@options.seed("a random world and the learner")
@options.text(
    "--learner",
    "birl",
    "birl, bio-irl, ml-irl, policy-matching, max-entropy, or one of your own.",
)
@click.option("--confidence", type=float, help="How strongly the teacher prefers better actions.")
@click.option("--budget", type=WHOLE, help="Likelihoods to compute until the chains have mixed.")
@click.option("--n-steps", type=WHOLE, help="Walk so many steps in each chain instead.")
@click.option("--n-chains", type=WHOLE, help="How many chains.")
@click.option("--step-size", type=float, help="How far a walk steps; by default it adapts.")
@click.option("--prior", help="Where weights lie: l2-sphere, l1-sphere, box, gaussian.")
@click.option("--burn-in", type=WHOLE, help="First steps of each walk that are not kept.")
@options.settings_of(
    "learner", "Another option of the learner, as threads=1 for birl; may be given again."
)
@options.file("--out", help="Write the belief to this file (.npz).")
@options.details
@options.as_json
def command(
    world: str,
    demonstrations: str,
    settings: tuple[str, ...],
    seed: int | None,
    learner: str,
    learner_settings: tuple[str, ...],
    out: str | None,
    details: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Learn what WORLD rewards from DEMONSTRATIONS.

    They are a lesson, or a recording as `didact convert` reads it: JSON, JSON lines, CSV, a Minari
    dataset on this machine, or a folder that imitation reads. JSON and JSON lines may also hold
    comparisons, preferences, corrections, rankings and stops (for birl, ml-irl and max-entropy).
    Prints the likely weights by feature, how far they can be trusted, and how the learned policy
    fares.
    """
    from didact.app.learn import learn_source

    parameters = options.world_settings(world, settings, seed)
    choices = {name: value for name, value in given.items() if value is not None}
    with _told(f"learning from {demonstrations}") as progress:
        learned = learn_source(
            world,
            demonstrations,
            parameters,
            learner=learner,
            out=out,
            progress=progress,
            seed=0 if seed is None else seed,
            options={**choices, **_learner_options(learner_settings, choices)},
        )
    if as_json:
        printing.print_json(learned.document())
        return 0
    from didact.report.terminal.tables import draw_belief

    told = (learned.task, learned.belief, learned.evaluation, learned.fit)
    printing.print_drawing(lambda width: draw_belief(*told, width=width, details=details))
    if out is not None:
        printing.print_line(f"  saved as {out}")
    return 0


def _learner_options(texts: tuple[str, ...], known: dict[str, Any]) -> dict[str, Any]:
    """Options of the learner, decimals as floats; none twice."""
    given = options.read_options(texts)
    for name in given:
        if name in known or name in ("progress", "learner", "seed"):
            raise InvalidParameter(
                f"{name!r} must not be given as an option of the learner; "
                "`didact learn` has an option for it"
            )
    return given


@contextmanager
def _told(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A spinner on standard error, a bar once steps are told; only where a person watches."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    from didact.learners.chains.birl import ShownBar

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield ShownBar(bar, printing.printable(what))
