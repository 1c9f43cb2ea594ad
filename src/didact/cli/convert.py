"""`didact convert`: demonstrations from one format into another."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from didact.cli import options, printing
from didact.errors import InvalidFile, InvalidInput, InvalidParameter

if TYPE_CHECKING:
    from didact.mdp import Task
    from didact.mdp.recordings.recording import Recording


@click.command("convert")
@click.argument("source")
@click.argument("target")
@click.option("--task", "world", metavar="WORLD", help="The task, where SOURCE does not say it.")
@options.parameters
@click.option("--source-format", type=options.FORMATS, help="The format of SOURCE.")
@click.option("--target-format", type=options.FORMATS, help="The format of TARGET.")
@click.option(
    "--episodes",
    metavar="N,N,...",
    callback=options.numbers,
    help="These episodes alone, numbered as in the file and in `select --json`.",
)
@click.option("--replace", is_flag=True, help="Replace TARGET if there.")
@options.as_json
def command(
    source: str,
    target: str,
    world: str | None,
    settings: tuple[str, ...],
    source_format: str | None,
    target_format: str | None,
    episodes: list[int] | None,
    replace: bool,
    as_json: bool,
) -> None:
    """Write the demonstrations in SOURCE to TARGET in another format.

    Formats: JSON (.json, a lesson or a list), JSON lines (.jsonl), tables (.csv, with the columns
    episode, step, action, and state or observation), Minari datasets (names such as lesson-v0, on
    this machine), and folders that imitation reads. What didact wrote carries its task and reads
    back equal; tables hold neither a task nor a lesson.
    """
    from didact.inputs import counted

    parameters = options.read_settings(settings)
    with printing.waiting(f"converting {source}"):
        require_other_target(target, target_format, source, world)
        recording = open_recording(source, world, parameters, source_format=source_format)
        if episodes is not None:
            recording = recording.part(episodes)
        written = write_recording(recording, target, target_format, replace=replace)
    if as_json:
        printing.print_json(written)
        return
    what = "a lesson" if written["lesson"] else "demonstrations"
    printing.print_line(
        f"{what} ({counted(written['n_episodes'], 'episode')}, "
        f"{counted(written['n_pairs'], 'step')}) as {written['format']}: {written['path']}"
    )


def require_other_target(
    target: str, target_format: str | None, source: str, world: str | None
) -> None:
    """Refuse to write a recording where it, or its task, is read from; names of datasets too."""
    from didact.files.kinds import require_other
    from didact.mdp.recordings.formats import datasets_root, target_path

    path, _ = target_path(target, target_format)
    names = [os.path.expanduser(name) for name in (source, world) if name is not None]
    require_other(path, [*names, *(datasets_root() / name for name in names)])


def write_recording(
    recording: Recording, target: str, target_format: str | None = None, *, replace: bool
) -> dict[str, Any]:
    """Write a recording and say what was written; its task must be known where a format needs it.

    target_format: by default what the target looks like. replace: give up what is there.
    """
    from didact.files.reading import shown_path
    from didact.mdp.recordings.formats import format_of_name

    chosen = target_format or format_of_name(shown_path(target))
    task = recording.task
    if task is None and chosen in ("minari", "imitation"):
        raise InvalidParameter(
            "the demonstrations do not say which task they belong to; name it with --task"
        )
    path: Path = recording.save(target, format=chosen, replace=replace)
    return {
        "format": chosen,
        "path": str(path),
        "task": None if task is None else task.name,
        "lesson": recording.lesson is not None and chosen != "csv",  # tables hold no lesson
        "n_episodes": len(recording.demonstrations),
        "n_pairs": recording.n_pairs,
    }


def open_recording(
    source: str,
    world: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    *,
    source_format: str | None = None,
) -> Recording:
    """Demonstrations with their task, where the source says it or `world` names it.

    A recording that others made holds observations of its environment; they become states of the
    task that `world` names, or that the dataset says it was recorded in.
    """
    from didact.files.reading import shown_path
    from didact.mdp.recordings.formats import load_recording
    from didact.worlds.opening import open_task, recorded_task

    recording = load_recording(source, format=source_format)
    try:
        if world is not None:
            return recording.of_task(open_task(world, parameters))
        if parameters:
            raise InvalidParameter(
                f"{sorted(parameters)[0]!r} is a parameter of a world; name the world with --task"
            )
        if recording.task is None and recording.environment is not None:
            where = recording.environment
            return recording.of_task(recorded_task(where.id, where.options))
    except InvalidInput as error:
        if world is None:
            _refuse_continuous(recording, source)
        raise type(error)(f"{shown_path(source)}: {error}") from None
    return recording


def require_task(recording: Recording, source: str) -> Task:
    """The task of a recording; refused where it is not known."""
    if recording.task is None:
        _refuse_continuous(recording, source)
        raise no_task(source)
    return recording.task


def no_task(source: str) -> InvalidFile:
    """The refusal of demonstrations whose task is not known."""
    from didact.files.reading import shown_path

    where = shown_path(source)
    return InvalidFile(f"{where}: does not say which task it belongs to; name it with --task")


def _refuse_continuous(recording: Recording, source: str) -> None:
    """Refuse observations with decimals, which no table of states has, and say what is missing."""
    from didact.files.json import parse_json
    from didact.files.reading import shown_path
    from didact.inputs import is_whole

    first = next(iter(recording.demonstrations), None)
    shown = None if first is None else next(iter(first), (None,))[0]
    numbers = parse_json(shown) if isinstance(shown, str) else None
    if isinstance(numbers, list) and any(not is_whole(number) for number in numbers):
        raise InvalidFile(
            f"{shown_path(source)}: observes continuous numbers, so it needs the simulator that "
            "was recorded: give --simulator ENV, --policy and --features to select"
        )
