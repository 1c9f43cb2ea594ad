"""`didact check`: do these demonstrations teach this world?"""

from __future__ import annotations

from typing import Any, Literal

import click

from didact.cli import options, printing
from didact.cli.exits import exit_code
from didact.cli.settings import world_settings


@click.command("check")
@click.argument("world")
@click.argument("demonstrations")
@options.parameters
@options.seed("a random world")
@options.members
@click.option(
    "--scope",
    type=click.Choice(["reachable", "all"]),
    help="Whose behaviour counts: states reachable from the start, or all; lessons say it.",
)
@options.arithmetic()
@click.option("--proof", is_flag=True, help="Run the independent checker on the proof too.")
@click.option("--loss", is_flag=True, help="Say what learners may still lose after them.")
@options.as_json
def command(
    world: str,
    demonstrations: str,
    settings: tuple[str, ...],
    seed: int | None,
    members: int | None,
    scope: Literal["reachable", "all"] | None,
    arithmetic: str,
    proof: bool,
    loss: bool,
    as_json: bool,
) -> int:
    """Say whether DEMONSTRATIONS teach WORLD.

    They are a lesson, or a recording as `didact convert` reads it: JSON, JSON lines, CSV, a Minari
    dataset on this machine, or a folder that imitation reads; of a family JSON, a list of [member,
    pairs]. Where steps are wrong, they are listed with what they cost, and the verdict is about the
    right steps alone. Exit code 0: all steps are right and they teach it; 3: they do not, or some
    steps are wrong; 4: the proof failed.
    """
    from didact.app.check import check_source
    from didact.cli.progress import waiting

    parameters = world_settings(world, settings, seed, members)
    with waiting(f"checking {demonstrations}"):
        how: dict[str, Any] = {"proof": proof, "loss": loss, "scope": scope}
        how["arithmetic"] = arithmetic
        checked = check_source(world, demonstrations, parameters, **how)
    if as_json:
        printing.print_json(checked.document())
        return exit_code(checked.verdict.teaches)
    from didact.mdp import Family, Task
    from didact.report.words.lessons import (
        cost_lines,
        family_verdict_lines,
        further_line,
        verdict_lines,
    )

    said = (checked.verdict, checked.n_demonstrations, checked.verified)
    for line in (
        family_verdict_lines(checked.task, *said)
        if isinstance(checked.task, Family)
        else verdict_lines(checked.task, *said)
    ):
        printing.print_line(line)
    if checked.verified:  # it says what was proved, and what of the file was not checked
        printing.print_line(f"checker: {checked.verified}")
    if checked.suggested_starts is not None and isinstance(checked.task, Task):
        printing.print_line(further_line(checked.task, checked.suggested_starts))
    names = checked.task.names if isinstance(checked.task, Family) else None
    for line in cost_lines(checked.costs, names):
        printing.print_line(line)
    return exit_code(checked.verdict.teaches)
