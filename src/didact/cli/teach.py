"""`didact teach`: the fewest demonstrations for a world."""

from __future__ import annotations

from typing import Any

import click

from didact.cli import options
from didact.cli.exits import exit_code
from didact.cli.settings import read_options, read_states, world_settings


@click.command("teach")
@click.argument("world")
@options.parameters
@click.option("--seed", type=click.IntRange(0), help="The seed of a random world and teacher.")
@click.option(
    "--teacher", default="scot", show_default=True,
    help="scot, scot-redundant, exact, uvm, random, or one of your own.",
)  # fmt: skip
@click.option(
    "--horizon", type=click.IntRange(1), help="Steps of a demonstration; 1: single pairs."
)
@click.option(
    "--cost", type=click.Choice(["demonstrations", "pairs"]), default="demonstrations",
    show_default=True, help="What to keep small.",
)  # fmt: skip
@click.option("--budget", type=click.IntRange(1), help="At most so many demonstrations.")
@click.option("--starts", metavar="S,S,...", help="Start states, instead of the world's.")
@click.option("--rollouts", type=click.IntRange(1), help="Sample so many from each start.")
@click.option(
    "--scope", type=click.Choice(["reachable", "all"]), default="reachable", show_default=True,
    help="Whose behaviour counts: states reachable from the start, or all.",
)  # fmt: skip
@click.option(
    "--arithmetic", type=click.Choice(["auto", "float", "exact"]), default="auto",
    show_default=True, help="How ties are decided.",
)  # fmt: skip
@click.option("--closed", is_flag=True, help="Extend it for learners that plan for themselves.")
@click.option(
    "-t", "--teacher-option", "teacher_settings", multiple=True, metavar="NAME=VALUE",
    help="An option of the teacher, as n_samples=100000 for uvm; may be given again.",
)  # fmt: skip
@click.option("--out", type=click.Path(dir_okay=False), help="Write the lesson to this file.")
@options.as_json
def command(
    world: str,
    settings: tuple[str, ...],
    seed: int | None,
    starts: str | None,
    teacher_settings: tuple[str, ...],
    out: str | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Find the fewest demonstrations that teach WORLD, and prove that they do.

    WORLD is a name that `didact worlds` lists, a task file (.json), or a Gymnasium environment such
    as Taxi-v4. Exit code 0: taught; 3: something stays open; 4: the proof failed.
    """
    from didact.app.teach import teach_source
    from didact.cli.progress import waiting

    parameters = world_settings(world, settings, seed)
    reserved = {*given, "world", "task", "source", "parameters", "known", "starts", "seed"}
    choices = {**given, **read_options(teacher_settings, reserved)}
    with waiting(f"teaching {world}"):
        taught = teach_source(
            world,
            parameters,
            starts=read_states(starts, "--starts"),
            seed=0 if seed is None else seed,
            out=out,
            **choices,
        )
    if as_json:
        options.print_json(taught.lesson.document())
        return exit_code(taught.lesson.is_complete)
    from didact.report.terminal.lessons import draw_lesson

    options.play(taught.task, taught.lesson.demonstrations)
    options.print_drawing(
        lambda width: draw_lesson(taught.task, taught.lesson, taught.verified, width=width)
    )
    if out is not None:
        click.echo(f"  saved as {out}")
    return exit_code(taught.lesson.is_complete)
