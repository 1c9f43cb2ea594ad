"""`didact select`: which recorded episodes teach a task?"""

from __future__ import annotations

from typing import Any

import click

from didact.cli import options, printing
from didact.cli.exits import exit_code
from didact.cli.settings import read_settings


@click.command("select")
@click.argument("dataset")
@click.option("--task", "world", metavar="WORLD", help="The task, where DATASET does not say it.")
@options.parameters
@click.option(
    "--budget", type=click.IntRange(1), help="At most so many episodes, or parts of them."
)
@options.choice(
    "--method", ("greedy", "exact"), "exact: the fewest that show all that was recorded."
)
@options.cost()
@options.scope()
@options.arithmetic()
@click.option("--format", "read_as", type=options.FORMATS, help="The format of DATASET.")
@click.option("--out", "target", help="Write the chosen episodes there, as `didact convert` does.")
@click.option("--replace", is_flag=True, help="Replace what is there.")
@options.as_json
def command(dataset: str, settings: tuple[str, ...], as_json: bool, **given: Any) -> int:
    """Say which episodes of DATASET teach most, which are redundant, and what is missing.

    DATASET is a Minari dataset on this machine, a folder that imitation reads, or a file in JSON,
    JSON lines or CSV; JSON and JSON lines may hold comparisons, preferences, rankings and stops
    too, of which few are chosen that imply all of it. In --json episodes have their numbers of the
    file, which Minari's filter_episodes takes. Where an episode has wrong steps, these are listed
    with what they cost, and the right ones before and after them are used alone. Exit
    code 0: what is chosen teaches the task; 3: something stays open.
    """
    from didact.app.select import select_source
    from didact.cli.progress import waiting

    with waiting(f"selecting from {dataset}"):
        selected = select_source(dataset, parameters=read_settings(settings), **given)
    if as_json:
        printing.print_json(selected.document())
        return exit_code(selected.selection.teaches)
    from didact.report.terminal.selection import mixed_lines, selection_lines
    from didact.teaching.select import Selection

    found = selected.selection
    if isinstance(found, Selection):
        lines = selection_lines(selected.task, found, selected.recording.episodes)
    else:
        lines = mixed_lines(selected.task, found)
    for line in lines:
        printing.print_line(line)
    if selected.written is not None:
        printing.print_line(f"  saved as {selected.written.path}")
    return exit_code(selected.selection.teaches)
