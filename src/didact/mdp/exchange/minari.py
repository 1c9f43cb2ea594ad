"""Minari datasets, on this machine only: nothing is ever fetched.

In what didact writes, observations are state numbers, actions action numbers, and the start state
of an episode stands in its `options`; the task, and the lesson where there is one, stand in the
dataset's metadata. Others may observe anything that compares by value. Of a dataset that others
wrote only plain JSON and arrays are read; the environment it names is taken by its id, never by the
entry point that its metadata claim.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from didact.errors import InvalidFile, InvalidInput
from didact.files.extras import require_package
from didact.files.folders import write_folder
from didact.files.json import read_json, write_bytes
from didact.files.reading import Budget, shown_path
from didact.inputs import reason_of, shown
from didact.mdp.demonstrations import Demonstration
from didact.mdp.exchange.arrow import read_columns
from didact.mdp.exchange.hdf5 import (
    group_in,
    image_of,
    open_hdf5,
    rows_in,
    whole_number_beside,
    whole_numbers_in,
)
from didact.mdp.exchange.minari_folders import datasets_root, is_minari, metadata_file
from didact.mdp.exchange.recordings import (
    MOST_PAIRS,
    Environment,
    Recording,
    recorded,
    require_size,
)
from didact.mdp.exchange.spaces import put_together, require_space
from didact.mdp.exchange.steps import pairs_of, steps_of
from didact.mdp.files import task_document
from didact.mdp.observations import Watched

HDF5_FILE = "main_data.hdf5"
START = "start_state"
"""The name of the start state among an episode's options."""


def read_minari(path: Path) -> Recording:
    """The episodes of a Minari dataset in a folder."""
    require_package("minari", "minari", "Minari datasets")
    place = shown_path(path)
    if not is_minari(path):
        raise InvalidFile(f"{place}: is no Minari dataset; it has no metadata")
    metadata = read_json(metadata_file(path))
    _require_spaces(metadata, place)
    found: list[Demonstration | Watched] = []
    episodes: list[int] = []
    for number, demonstration in _episodes(metadata_file(path).parent, metadata, place):
        found.append(demonstration)
        episodes.append(number)
    task = metadata.get("didact_task")
    return recorded(
        found,
        episodes,
        task,
        metadata.get("didact_lesson"),
        place,
        foreign=task is None,
        environment=None if task is not None else _environment(metadata.get("env_spec")),
    )


def _require_spaces(metadata: Any, place: str) -> None:
    """Both spaces must be there, actions as numbers; without them Minari runs code."""
    if not isinstance(metadata, dict):
        raise InvalidFile(f"{place}: its metadata must be one JSON object")
    require_space(_object(metadata.get("observation_space")), f"{place}: its observation_space")
    kind = _object(metadata.get("action_space")).get("type")
    if kind != "Discrete":
        raise InvalidFile(
            f"{place}: its action_space must be Discrete, action numbers; it is {shown(kind)}. "
            "Record the numbers, or convert them"
        )
    for name in ("total_episodes", "total_steps"):
        if type(metadata.get(name)) is not int or metadata[name] < 0:
            raise InvalidFile(f"{place}: its metadata must say {name} as a whole number")
    require_size(metadata["total_steps"], place)


def _object(text: Any) -> Mapping[str, Any]:
    """The JSON object in a text; an empty one where there is none."""
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {}


def _environment(spec: Any) -> Environment | None:
    given = _object(spec)
    name, options = given.get("id"), given.get("kwargs", {})
    if not isinstance(name, str) or not isinstance(options, dict):
        return None
    return Environment(name, {k: v for k, v in options.items() if k != "render_mode"})


def _episodes(
    data: Path, metadata: Mapping[str, Any], place: str
) -> Iterator[tuple[int, Demonstration | Watched]]:
    space = _object(metadata["observation_space"])
    numbers = space["type"] == "Discrete"
    kept = metadata.get("data_format", "hdf5")
    if not isinstance(kept, str) or kept not in DATA_FORMATS:
        raise InvalidFile(f"{place}: its data_format must be hdf5, arrow or parquet; {shown(kept)}")
    n_pairs = 0
    try:
        budget = Budget((path for path in data.rglob("*") if path.is_file()), 2 * MOST_PAIRS)
        read = DATA_FORMATS[kept](data, metadata["total_episodes"], budget)
        for number, (rows, actions, start) in enumerate(read):
            n_pairs += len(actions)
            require_size(n_pairs, place)
            observed = rows if numbers else [put_together(row, space) for row in rows]
            shown_pairs = pairs_of(observed, actions, f"episode {number}", numbers=numbers)
            if isinstance(shown_pairs, Demonstration):
                _require_start(start, shown_pairs)
            if shown_pairs is not None:
                yield number, shown_pairs
    except InvalidInput as error:
        raise InvalidFile(f"{place}: {error}") from None
    except Exception as error:  # h5py's own, and whatever a damaged file brings about
        raise InvalidFile(f"{place}: cannot be read: {reason_of(error)}") from None


Episode = tuple[Any, Any, int | None]
"""Observations, actions, and the start state that the options say."""


def _hdf5_episodes(data: Path, n_episodes: int, budget: Budget) -> Iterator[Episode]:
    with open_hdf5(data / HDF5_FILE) as file:
        for number in range(n_episodes):
            group = group_in(file, f"episode_{number}")
            rows = rows_in(group, "observations", budget)
            actions = whole_numbers_in(group, "actions", budget)
            yield rows, actions, whole_number_beside(group, f"options/{START}")


def _table_episodes(data: Path, n_episodes: int, budget: Budget) -> Iterator[Episode]:
    """Arrow and Parquet: a folder for each episode, with one action more, which means nothing."""
    for number in range(n_episodes):
        folder = data / str(number)
        states: list[Any] = []
        actions: list[Any] = []
        for name in sorted(os.listdir(folder)):
            if not name.startswith(("_", ".")) and name != "metadata.json":
                part = read_columns(folder / name, ("observations", "actions"), budget)
                states, actions = states + part[0], actions + part[1]
        about = read_json(folder / "metadata.json")
        options = about.get("options") if isinstance(about, dict) else None
        start = options.get(START) if isinstance(options, dict) else None
        yield states, actions[:-1], start


DATA_FORMATS = {"hdf5": _hdf5_episodes, "arrow": _table_episodes, "parquet": _table_episodes}


def _require_start(start: Any, shown_pairs: Demonstration) -> None:
    """The start state in the options must be the first one observed."""
    if start is not None and start != shown_pairs[0][0]:
        raise InvalidFile(
            f"the episode must start in the state that its options say, {shown(start)}; it starts "
            f"in {shown_pairs[0][0]}"
        )


def write_minari(recording: Recording, path: Path, *, replace: bool = False) -> None:
    """Write a Minari dataset whose id is the folder's name, or its path among Minari's datasets."""
    require_package("minari", "minari", "Minari datasets")
    task = recording.task
    if task is None:
        raise InvalidFile(f"{shown_path(path)}: a Minari dataset needs the task; name it")
    if not recording.demonstrations:
        raise InvalidFile(f"{shown_path(path)}: a Minari dataset needs at least one episode")
    write_dataset(path, lambda data, name: _fill(data, recording, name), replace=replace)


def write_dataset(path: Path, fill: Callable[[Path, str], None], *, replace: bool) -> None:
    """Write a dataset whole or not at all; fill(data folder, id) writes what is in it."""
    dataset_id, namespace = _id_of(path)
    _require_id(dataset_id)
    write_folder(
        path,
        lambda folder: fill(folder / "data", dataset_id),
        replace=replace,
        is_such=is_minari,
    )
    if namespace is not None:
        _enter_namespace(namespace)


def _id_of(path: Path) -> tuple[str, str | None]:
    """Id and namespace: relative to Minari's datasets if the folder is there, else its name."""
    root = datasets_root()
    if path.is_relative_to(root):
        relative = path.relative_to(root)
        parent = relative.parent.as_posix()
        return relative.as_posix(), None if parent == "." else parent
    return path.name, None


def _require_id(dataset_id: str) -> None:
    parse = require_package(
        "minari.dataset.minari_dataset", "minari", "Minari datasets"
    ).parse_dataset_id
    try:
        parse(dataset_id)
    except (ValueError, TypeError):
        raise InvalidFile(
            f"{shown_path(dataset_id)}: a Minari dataset's name must be letters, digits, '-' and "
            "'_', with a version at its end, as lesson-v0"
        ) from None


def _fill(data: Path, recording: Recording, dataset_id: str) -> None:
    import gymnasium

    minari = require_package("minari", "minari", "Minari datasets")
    storage_class = require_package(
        "minari.dataset.minari_storage", "minari", "Minari datasets"
    ).MinariStorage
    task = recording.task
    assert task is not None
    data.mkdir()
    storage = storage_class.new(
        data,
        observation_space=gymnasium.spaces.Discrete(task.mdp.n_states),
        action_space=gymnasium.spaces.Discrete(task.mdp.n_actions),
        data_format="hdf5",
    )
    about = {
        "dataset_id": dataset_id,
        "minari_version": minari.__version__,
        "algorithm_name": "didact",
        "description": f"Demonstrations for {task.name}",
        "didact_task": task_document(task),
    }
    if recording.lesson is not None:
        about["didact_lesson"] = dict(recording.lesson)
    storage.update_metadata(about)
    write_bytes(image_of(lambda file: _fill_episodes(file, recording)), data / HDF5_FILE, kind=None)
    totals = {"total_steps": recording.n_pairs, "total_episodes": len(recording.demonstrations)}
    storage.update_metadata({**totals, "dataset_size": storage.get_size()})


def _fill_episodes(file: Any, recording: Recording) -> None:
    """The episodes as Minari itself keeps them."""
    assert recording.task is not None
    for number, demonstration in enumerate(recording.demonstrations):
        steps = steps_of(recording.task, demonstration)
        before = [False] * (len(demonstration) - 1)
        group = file.create_group(f"episode_{number}")
        group.attrs["id"] = number
        group.attrs[f"options/{START}"] = int(steps.states[0])
        group.attrs["total_steps"] = len(demonstration)
        arrays = {
            "observations": steps.states,
            "actions": steps.actions,
            "rewards": steps.rewards,
            "terminations": [*before, steps.ends],
            "truncations": [*before, not steps.ends],
        }
        for name, values in arrays.items():
            group.create_dataset(name, data=values, chunks=True, maxshape=(None,))
        group.create_group("infos")


def _enter_namespace(namespace: str) -> None:
    """Make a namespace known to Minari, as it wants for ids such as mine/lesson-v0."""
    names = require_package("minari.namespace", "minari", "Minari datasets")
    if namespace not in names.list_local_namespaces():
        names.create_namespace(namespace)
