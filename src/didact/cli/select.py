"""`didact select`: which recorded episodes teach a task?"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import click

from didact.cli import options, printing
from didact.cli.convert import (
    no_task,
    open_recording,
    require_other_target,
    require_task,
    write_recording,
)
from didact.errors import Unsupported

if TYPE_CHECKING:
    from didact.mdp import Family, Task
    from didact.teaching import Selection

OBSERVING = ("policy", "features", "weights", "discount", "tolerance")
"""Options that a simulator needs."""


@click.command("select")
@click.argument("dataset")
@click.option("--task", "world", metavar="WORLD", help="The task, where DATASET does not say it.")
@options.parameters
@click.option("--budget", type=options.Whole(1), help="At most so many episodes, or parts of them.")
@options.choice(
    "--method", ("greedy", "exact"), "exact: the fewest that show all that was recorded."
)
@options.cost()
@click.option(
    "--lies",
    type=options.Whole(0),
    default=0,
    help="Keep so many episodes that any so many of them may be forged.",
)
@options.scope()
@options.arithmetic()
@click.option("--format", "read_as", type=options.FORMATS, help="The format of DATASET.")
@click.option(
    "--simulator",
    metavar="ENV",
    help="Where observations are continuous: the "
    "environment that was recorded; then --policy and --features are needed too.",
)
@click.option("--policy", help="With --simulator: who goes on after a step, as for observe.")
@options.trust_pickle
@click.option("--features", help="With --simulator: phi of a step, as for observe.")
@click.option(
    "--weights", callback=options.parts, help="With --simulator: of the features, as 1,0."
)
@click.option("--discount", type=float, help="With --simulator: below 1; 0.99 by default.")
@click.option("--tolerance", type=float, help="With --simulator: return that counts as none.")
@click.option("--out", "target", help="Write the chosen episodes there, as `didact convert` does.")
@click.option("--replace", is_flag=True, help="Replace what is there.")
@options.output()
def command(
    dataset: str,
    world: str | None,
    settings: tuple[str, ...],
    output: printing.Output,
    **given: Any,
) -> int:
    """Say which episodes of DATASET teach most, which are redundant, and what is missing.

    DATASET is a Minari dataset on this machine, a folder that imitation reads, or a file in JSON,
    JSON lines or CSV; JSON and JSON lines may hold comparisons, preferences, rankings and stops
    too, of which few are chosen that imply all of it. In --json episodes have their numbers of the
    file, which Minari's filter_episodes takes. Where an episode has wrong steps, these are listed
    with what they cost, and the right ones before and after them are used alone. Exit
    code 0: what is chosen teaches the task; 3: something stays open.
    """
    observing = {name: given.pop(name) for name in OBSERVING}
    simulator, trust_pickle = given.pop("simulator"), given.pop("trust_pickle")
    if simulator is not None:
        observing["trust_pickle"] = trust_pickle
        return _by_simulator(dataset, simulator, observing, output)
    if trust_pickle:
        raise click.UsageError("--trust-pickle goes with --simulator; name the environment too")
    for name, value in observing.items():
        if value is not None:
            raise click.UsageError(f"--{name} goes with --simulator; name the environment too")
    parameters = options.read_settings(settings)
    with printing.waiting(f"selecting from {dataset}"):
        task, selection, episodes, written = _selected(dataset, world, parameters, **given)
    from didact.report.words.tasks import describe_selection

    said = describe_selection(task, selection, episodes)
    output.show(
        lambda: {**selection.document(), "written": written},
        said.lines(details=output.details),
        [None if written is None else written["path"]],
    )
    return printing.exit_code(selection.teaches)


def _selected(
    source: str,
    world: str | None,
    parameters: dict[str, Any],
    *,
    read_as: str | None,
    target: str | None,
    replace: bool,
    **settings: Any,
) -> tuple[Task | Family, Selection, tuple[int, ...] | None, dict[str, Any] | None]:
    """A task, which episodes or items of a file teach it, their numbers there, what was written.

    settings: those of `didact.select`.
    """
    from didact.mdp import Family
    from didact.mdp.recordings.formats import has_feedback, task_in
    from didact.teaching.select import select
    from didact.worlds.opening import open_task, open_task_or_family

    # Only these may be families; other worlds are opened once, with the recording.
    if world is not None and ("members" in parameters or world.endswith(".json")):
        family = open_task_or_family(world, parameters)
        if isinstance(family, Family):
            if target is not None:
                raise Unsupported("recordings hold no members of a family; leave --out")
            return family, select(family, source, **settings), None, None
    if has_feedback(source):
        if target is not None:
            raise Unsupported(
                "items of other feedback are not written in another format; leave --out"
            )
        task = task_in(source) if world is None else open_task(world, parameters)
        if task is None:
            raise no_task(source)
        return task, select(task, source, **settings), (), None
    if target is not None:
        require_other_target(target, None, source, world)
    recording = open_recording(source, world, parameters, source_format=read_as)
    task = require_task(recording, source)
    selection = select(task, recording.demonstrations, episodes=recording.episodes, **settings)
    if target is None:
        return task, selection, recording.episodes, None
    numbers = selection.chosen
    are_whole = len(set(numbers)) == len(numbers)  # parts of one episode get numbers of their own
    chosen = dataclasses.replace(
        recording,
        demonstrations=selection.demonstrations,
        episodes=numbers if are_whole else tuple(range(len(numbers))),
    )
    written = write_recording(chosen, target, replace=replace)
    return task, selection, recording.episodes, written


def _by_simulator(
    dataset: str, simulator: str, given: dict[str, Any], output: printing.Output
) -> int:
    """Which recorded episodes of a simulator teach, by leading it through them."""
    from didact.cli.observe import observed_lesson
    from didact.report.words.observed import lesson_document, lesson_lines

    settings = {name: value for name, value in given.items() if value is not None}
    with printing.waiting(f"selecting from {dataset}"):
        lesson = observed_lesson(
            simulator, {}, recorded=dataset, demonstrations="rollouts", **settings
        )
    output.show(lambda: lesson_document(lesson), lesson_lines(lesson, details=True))
    return printing.exit_code(not lesson.open_seen and not lesson.is_empty)
