"""Convert demonstrations between formats: the use case behind `didact convert`."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from didact.errors import InvalidFile, InvalidInput, InvalidParameter
from didact.files.json import parse_json
from didact.files.kinds import require_other
from didact.files.reading import shown_path
from didact.inputs import is_whole
from didact.mdp import Task
from didact.mdp.recordings.formats import (
    datasets_root,
    format_of_name,
    load_recording,
    save_recording,
    target_path,
)
from didact.mdp.recordings.recording import Recording
from didact.teaching import Lesson
from didact.worlds.opening import open_task, recorded_task


@dataclass(frozen=True, eq=False)
class Converted:
    """What was written: the recording, its format, and where it is."""

    recording: Recording
    format: str
    path: Path

    def document(self) -> dict[str, Any]:
        """The same for machines."""
        task = self.recording.task
        return {
            "format": self.format,
            "path": str(self.path),
            "task": None if task is None else task.name,
            "lesson": self.recording.lesson is not None,
            "n_episodes": len(self.recording.demonstrations),
            "n_pairs": self.recording.n_pairs,
        }


def convert(
    source: str,
    target: str,
    *,
    world: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    source_format: str | None = None,
    target_format: str | None = None,
    episodes: Iterable[int] | None = None,
    replace: bool = False,
) -> Converted:
    """Write the demonstrations of a source in another format.

    world: the task they belong to, where the source does not say it. source_format, target_format:
    by default what source and target look like. episodes: those alone. replace: give up what is
    there.
    """
    require_other_target(target, target_format, source, world)
    recording = open_recording(source, world, parameters, format=source_format)
    if episodes is not None:
        recording = recording.part(episodes)
    return write_recording(recording, target, target_format, replace)


def require_other_target(
    target: str, target_format: str | None, source: str, world: str | None
) -> None:
    """Refuse to write a recording where it, or its task, is read from; names of datasets too."""
    path, _ = target_path(target, target_format)
    names = [os.path.expanduser(name) for name in (source, world) if name is not None]
    require_other(path, [*names, *(datasets_root() / name for name in names)])


def write_lesson(
    task: Task,
    lesson: Lesson,
    target: str,
    *,
    target_format: str | None = None,
    replace: bool = False,
) -> Converted:
    """Write a lesson for a task; it reads back as the same lesson and task."""
    recording = Recording(lesson.demonstrations, task=task, lesson=lesson.document())
    return write_recording(recording, target, target_format, replace)


def write_recording(
    recording: Recording, target: str, target_format: str | None, replace: bool
) -> Converted:
    """Write a recording; its task must be known where the format needs one."""
    chosen = target_format or format_of_name(shown_path(target))
    if recording.task is None and chosen in ("minari", "imitation"):
        raise InvalidParameter(
            "the demonstrations do not say which task they belong to; name it with --task"
        )
    path = save_recording(recording, target, format=chosen, replace=replace)
    kept = dataclasses.replace(recording, lesson=None) if chosen == "csv" else recording
    return Converted(kept, chosen, path)


def open_recording(
    source: str,
    world: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    *,
    format: str | None = None,
) -> Recording:
    """Demonstrations with their task, where the source says it or `world` names it.

    A recording that others made holds observations of its environment; they become states of the
    task that `world` names, or that the dataset says it was recorded in.
    """
    recording = load_recording(source, format=format)
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
        raise InvalidFile(
            f"{shown_path(source)}: does not say which task it belongs to; name it with --task"
        )
    return recording.task


def _refuse_continuous(recording: Recording, source: str) -> None:
    """Refuse observations with decimals, which no table of states has, and say what is missing."""
    first = next(iter(recording.demonstrations), None)
    shown = None if first is None else next(iter(first), (None,))[0]
    numbers = parse_json(shown) if isinstance(shown, str) else None
    if isinstance(numbers, list) and any(not is_whole(number) for number in numbers):
        raise InvalidFile(
            f"{shown_path(source)}: observes continuous numbers, so it needs the simulator that "
            "was recorded: give --simulator ENV, --policy and --features to select"
        )
