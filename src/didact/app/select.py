"""Select recorded episodes: the use case behind `didact select`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from didact.app.convert import (
    Converted,
    open_recording,
    require_other_target,
    require_task,
    write_recording,
)
from didact.errors import Unsupported
from didact.mdp import Task
from didact.mdp.recordings.formats import has_feedback, task_in
from didact.mdp.recordings.recording import Recording
from didact.teaching.select import Selection, select
from didact.worlds.opening import open_task


@dataclass(frozen=True, eq=False)
class Selected:
    """A recording, its task, which episodes teach it, and where they were written, if at all."""

    task: Task
    recording: Recording
    selection: Selection
    written: Converted | None

    def document(self) -> dict[str, Any]:
        """The same for machines."""
        written = None if self.written is None else self.written.document()
        return {**self.selection.document(), "written": written}


def select_source(
    source: str,
    world: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    *,
    read_as: str | None = None,
    target: str | None = None,
    replace: bool = False,
    **settings: Any,
) -> Selected:
    """Which episodes of a recording teach its task; settings go to `select`.

    target: write the chosen episodes there, in the format that its name asks for.
    """
    if has_feedback(source):
        return _of_items(source, world, parameters, target, settings)
    if target is not None:
        require_other_target(target, None, source, world)
    recording = open_recording(source, world, parameters, format=read_as)
    task = require_task(recording, source)
    selection = select(task, recording.demonstrations, episodes=recording.episodes, **settings)
    written = None
    if target is not None:
        written = write_recording(_kept(recording, selection), target, None, replace)
    return Selected(task, recording, selection, written)


def _of_items(
    source: str,
    world: str | None,
    parameters: Mapping[str, Any] | None,
    target: str | None,
    settings: Mapping[str, Any],
) -> Selected:
    """The same of a file with other feedback, whose chosen items are not written elsewhere."""
    if target is not None:
        raise Unsupported("items of other feedback are not written in another format; leave --out")
    task = task_in(source) if world is None else open_task(world, parameters)
    if task is None:
        task = require_task(Recording(()), source)
    return Selected(task, Recording(()), select(task, source, **settings), None)


def _kept(recording: Recording, selection: Selection) -> Recording:
    """The chosen ones by the numbers of their episodes; anew where two are of the same episode."""
    numbers = selection.chosen
    are_whole = len(set(numbers)) == len(numbers)
    return dataclasses.replace(
        recording,
        demonstrations=selection.demonstrations,
        episodes=numbers if are_whole else tuple(range(len(numbers))),
    )
