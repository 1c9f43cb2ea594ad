"""Select recorded episodes: the use case behind `didact select`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from didact.app.convert import Converted, open_recording, require_task, write_recording
from didact.mdp import Task
from didact.mdp.exchange.recordings import Recording
from didact.teaching.select import Selection, select


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
    recording = open_recording(source, world, parameters, format=read_as)
    task = require_task(recording, source)
    selection = select(task, recording.demonstrations, episodes=recording.episodes, **settings)
    written = None
    if target is not None:
        written = write_recording(_kept(recording, selection), target, None, replace)
    return Selected(task, recording, selection, written)


def _kept(recording: Recording, selection: Selection) -> Recording:
    """The chosen ones by the numbers of their episodes; anew where two are of the same episode."""
    numbers = selection.chosen
    are_whole = len(set(numbers)) == len(numbers)
    return dataclasses.replace(
        recording,
        demonstrations=selection.demonstrations,
        episodes=numbers if are_whole else tuple(range(len(numbers))),
    )
