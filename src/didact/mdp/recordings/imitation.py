"""The folder that imitation's `serialize.load` reads, written and read with pyarrow alone.

It is a Hugging Face dataset as saved to disk: a stream of Arrow batches, `dataset_info.json` and
`state.json`. A row is an episode with the columns obs (one more than acts), acts, infos (texts, all
"{}"), terminal and rews. The task, and the lesson where there is one, lie beside them as
`didact-task.json` and `didact-lesson.json`. Infos are never decoded.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from didact.errors import InvalidFile, InvalidInput
from didact.files.extras import require_package
from didact.files.folders import write_folder
from didact.files.json import read_json, write_bytes, write_json
from didact.files.reading import Budget, shown_path
from didact.inputs import shown
from didact.mdp.demonstrations import Demonstration
from didact.mdp.files import load_task
from didact.mdp.observations import ObservedDemonstration
from didact.mdp.recordings.arrow import read_lists
from didact.mdp.recordings.recording import (
    MAX_PAIRS,
    Episode,
    Recording,
    lesson_in,
    pairs_of,
    require_size,
    steps_of,
)

DATA, INFO, STATE = "data-00000-of-00001.arrow", "dataset_info.json", "state.json"
TASK, LESSON = "didact-task.json", "didact-lesson.json"
EPISODES_TOGETHER = 1000
"""Episodes in one batch of the stream."""


def is_imitation(path: Path) -> bool:
    """Whether a folder is a dataset as saved to disk."""
    return os.path.isfile(path / STATE) and os.path.isfile(path / INFO)


def read_imitation(path: Path) -> Recording:
    """The episodes of a folder that imitation has written, or that we have."""
    require_package("pyarrow", "imitation", "folders for imitation")
    place = shown_path(path)
    if not is_imitation(path):
        raise InvalidFile(f"{place}: is no folder for imitation; {INFO} or {STATE} is missing")
    found: list[Demonstration | ObservedDemonstration] = []
    episodes: list[int] = []
    for number, demonstration in _episodes(path, place):
        if demonstration is not None:
            found.append(demonstration)
            episodes.append(number)
    task, lesson = path / TASK, path / LESSON
    own = load_task(task) if os.path.isfile(task) else None
    try:
        shown_ones = tuple(found), tuple(episodes)
        document = lesson_in(read_json(lesson)) if os.path.isfile(lesson) else None
        return Recording(*shown_ones, own, document, foreign=own is None)
    except InvalidInput as error:
        raise InvalidFile(f"{place}: {error}") from None


def _episodes(
    path: Path, place: str
) -> Iterator[tuple[int, Demonstration | ObservedDemonstration | None]]:
    number = n_pairs = 0
    names = _data_files(path, place)
    budget = Budget({path / name for name in names}, 2 * MAX_PAIRS)
    for name in names:
        try:
            for states, actions in read_lists(path / name, ("obs", "acts"), budget):
                n_pairs += len(actions)
                require_size(n_pairs, place)
                numbers = not any(isinstance(entry, list | float) for entry in states)
                yield number, pairs_of(states, actions, f"episode {number}", numbers=numbers)
                number += 1
        except InvalidInput as error:
            raise InvalidFile(f"{place}: {name}: {error}") from None


def _data_files(path: Path, place: str) -> list[str]:
    """The names in state.json: plain names of files in the folder."""
    state = read_json(path / STATE)
    listed = state.get("_data_files") if isinstance(state, dict) else None
    entries = listed if isinstance(listed, list) and listed else [None]
    names = [entry.get("filename") if isinstance(entry, dict) else None for entry in entries]
    for name in names:
        if not isinstance(name, str) or Path(name).name != name or not os.path.isfile(path / name):
            raise InvalidFile(
                f"{place}: {STATE} must name data files in this folder; it names {shown(name)}"
            )
    return [str(name) for name in names]


def write_imitation(recording: Recording, path: Path, *, replace: bool = False) -> None:
    """Write the folder, whole or not at all."""
    require_package("pyarrow", "imitation", "folders for imitation")
    if recording.task is None:
        raise InvalidFile(f"{shown_path(path)}: a folder for imitation needs the task; name it")
    write_folder(
        path, lambda folder: _fill(folder, recording), replace=replace, is_such=is_imitation
    )


def _fill(folder: Path, recording: Recording) -> None:
    pyarrow = require_package("pyarrow", "imitation", "folders for imitation")
    assert recording.task is not None
    columns = {
        "obs": ("int64", pyarrow.list_(pyarrow.int64())),
        "acts": ("int64", pyarrow.list_(pyarrow.int64())),
        "infos": ("string", pyarrow.list_(pyarrow.string())),
        "terminal": ("bool", pyarrow.bool_()),
        "rews": ("float64", pyarrow.list_(pyarrow.float64())),
    }
    features = {
        name: {"dtype": kind, "_type": "Value"}
        if name == "terminal"
        # a list as every version of the datasets package reads it
        else {"feature": {"dtype": kind, "_type": "Value"}, "length": -1, "_type": "Sequence"}
        for name, (kind, _) in columns.items()
    }
    about = json.dumps({"info": {"features": features}})
    schema = pyarrow.schema(
        [(name, kind) for name, (_, kind) in columns.items()], metadata={"huggingface": about}
    )
    content = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(content, schema) as writer:
        for rows in _batches(recording):
            writer.write_batch(pyarrow.RecordBatch.from_pylist(rows, schema=schema))
    write_bytes(content.getvalue().to_pybytes(), folder / DATA, kind=None)
    _write_descriptions(folder, features)
    recording.task.save(folder / TASK)
    if recording.lesson is not None:
        write_json(dict(recording.lesson), folder / LESSON)


def _batches(recording: Recording) -> Iterator[list[dict[str, Any]]]:
    assert recording.task is not None
    shown_ones = recording.demonstrations
    for first in range(0, max(len(shown_ones), 1), EPISODES_TOGETHER):
        part = shown_ones[first : first + EPISODES_TOGETHER]
        yield [_row(steps_of(recording.task, demonstration)) for demonstration in part]


def _row(steps: Episode) -> dict[str, Any]:
    return {
        "obs": steps.observations.tolist(),
        "acts": steps.actions.tolist(),
        "infos": ["{}"] * len(steps.actions),
        "terminal": steps.ended,
        "rews": steps.rewards.tolist(),
    }


def _write_descriptions(folder: Path, features: dict[str, Any]) -> None:
    """What the datasets package reads before the data; the fingerprint names the contents."""
    info = {"citation": "", "description": "", "features": features, "homepage": "", "license": ""}
    write_json(info, folder / INFO)
    with open(folder / DATA, "rb") as data:
        digest = hashlib.file_digest(data, "sha256").hexdigest()
    state: dict[str, Any] = {
        "_data_files": [{"filename": DATA}],
        "_fingerprint": digest[:16],
        "_format_columns": None,
        "_format_kwargs": {},
        "_format_type": None,
        "_output_all_columns": False,
        "_split": None,
    }
    write_json(state, folder / STATE)
