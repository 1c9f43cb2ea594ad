"""Minari datasets, on this machine only: nothing is ever fetched.

In what didact writes, observations are state numbers, actions action numbers, and the start state
of an episode stands in its `options`; the task, and the lesson where there is one, stand in the
dataset's metadata. Others may observe anything that compares by value. Of a dataset that others
wrote only plain JSON and arrays are read; the environment it names is taken by its id, never by the
entry point that its metadata claim.

Datasets keep each part of an observation in a column of its own, and flatten arrays: observations
are put together as the metadata describe the space. A space is the JSON object that Minari writes
for it; nothing of it is run.

Of simulators (`Episode`), observations and actions may be any numbers, and what is read keeps its
seed, so that a simulator can be led through it once more."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from didact.errors import InvalidFile, InvalidInput
from didact.files.extras import require_package
from didact.files.folders import write_folder
from didact.files.json import read_json, write_bytes
from didact.files.reading import Budget, shown_path
from didact.inputs import is_whole, reason_of, shown
from didact.mdp.demonstrations import Demonstration
from didact.mdp.files import task_document
from didact.mdp.observations import ObservedDemonstration
from didact.mdp.recordings.arrow import read_columns
from didact.mdp.recordings.formats import (
    datasets_root,
    is_minari,
    local_folder,
    metadata_file,
    target_folder,
)
from didact.mdp.recordings.hdf5 import (
    AS_JPEG,
    group_in,
    image_of,
    open_hdf5,
    rows_in,
    whole_number_beside,
)
from didact.mdp.recordings.recording import (
    MAX_PAIRS,
    Environment,
    Episode,
    Recording,
    pairs_of,
    recorded,
    require_size,
    steps_of,
)

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
    found: list[Demonstration | ObservedDemonstration] = []
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
) -> Iterator[tuple[int, Demonstration | ObservedDemonstration]]:
    space = _object(metadata["observation_space"])
    numbers = space["type"] == "Discrete"
    n_pairs = 0
    for number, raw in enumerate(_raw_episodes(data, metadata, place, 2 * MAX_PAIRS)):
        with _told(place):
            n_pairs += len(raw.actions)
            require_size(n_pairs, place)
            rows = raw.observations
            observed = rows if numbers else [put_together(row, space) for row in rows]
            pairs = pairs_of(observed, raw.actions, f"episode {number}", numbers=numbers)
            if isinstance(pairs, Demonstration):
                _require_start(raw.start, pairs)
        if pairs is not None:
            yield number, pairs


@contextmanager
def _told(place: str) -> Iterator[None]:
    """What is wrong with a dataset, in one line that names it."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidFile(f"{place}: {error}") from None
    except Exception as error:  # h5py's own, and whatever a damaged file brings about
        raise InvalidFile(f"{place}: cannot be read: {reason_of(error)}") from None


def _raw_episodes(
    data: Path, metadata: Mapping[str, Any], place: str, most: int
) -> Iterator[Episode]:
    """All episodes of a data folder, which may hold at most so many numbers."""
    kept = metadata.get("data_format", "hdf5")
    if not isinstance(kept, str) or kept not in DATA_FORMATS:
        raise InvalidFile(f"{place}: its data_format must be hdf5, arrow or parquet; {shown(kept)}")
    with _told(place):
        budget = Budget((path for path in data.rglob("*") if path.is_file()), most)
        yield from DATA_FORMATS[kept](data, metadata["total_episodes"], budget)


def _hdf5_episodes(data: Path, n_episodes: int, budget: Budget) -> Iterator[Episode]:
    with open_hdf5(data / HDF5_FILE) as file:
        for number in range(n_episodes):
            group = group_in(file, f"episode_{number}")
            rows = [rows_in(group, name, budget) for name in ("observations", "actions")]
            start, seed = (whole_number_beside(group, n) for n in (f"options/{START}", "seed"))
            yield Episode(seed, rows[0], rows[1], start=start)


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
        about = about if isinstance(about, dict) else {}
        options = about.get("options")
        start = options.get(START) if isinstance(options, dict) else None
        yield Episode(about.get("seed"), states, actions[:-1], start=start)


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
    write_folder(
        path,
        lambda folder: fill(folder / "data", dataset_id),
        replace=replace,
        is_such=is_minari,
    )
    if namespace is not None:  # Minari wants to know it for ids such as mine/lesson-v0
        names = require_package("minari.namespace", "minari", "Minari datasets")
        if namespace not in names.list_local_namespaces():
            names.create_namespace(namespace)


def _id_of(path: Path) -> tuple[str, str | None]:
    """Id and namespace: relative to Minari's datasets if the folder is there, else its name."""
    root = datasets_root()
    if path.is_relative_to(root):
        relative = path.relative_to(root)
        parent = relative.parent.as_posix()
        return relative.as_posix(), None if parent == "." else parent
    return path.name, None


def _fill(data: Path, recording: Recording, dataset_id: str) -> None:
    import gymnasium

    task = recording.task
    assert task is not None
    spaces = (
        gymnasium.spaces.Discrete(task.mdp.n_states),
        gymnasium.spaces.Discrete(task.mdp.n_actions),
    )
    about: dict[str, Any] = {
        "description": f"Demonstrations for {task.name}",
        "didact_task": task_document(task),
    }
    if recording.lesson is not None:
        about["didact_lesson"] = dict(recording.lesson)
    episodes = (steps_of(task, demonstration) for demonstration in recording.demonstrations)
    _fill_dataset(data, dataset_id, spaces, about, episodes)


def _fill_dataset(
    data: Path,
    dataset_id: str,
    spaces: tuple[Any, Any],
    about: Mapping[str, Any],
    episodes: Iterable[Episode],
) -> None:
    """Write the data folder of a dataset; spaces: of observations and actions."""
    minari = require_package("minari", "minari", "Minari datasets")
    storage_class = require_package(
        "minari.dataset.minari_storage", "minari", "Minari datasets"
    ).MinariStorage
    data.mkdir()
    storage = storage_class.new(
        data, observation_space=spaces[0], action_space=spaces[1], data_format="hdf5"
    )
    named = {
        "dataset_id": dataset_id,
        "minari_version": minari.__version__,
        "algorithm_name": "didact",
    }
    storage.update_metadata({**named, **about})
    totals = {"total_steps": 0, "total_episodes": 0}

    def fill(file: Any) -> None:
        for number, episode in enumerate(episodes):
            _write_episode(file.create_group(f"episode_{number}"), number, episode)
            totals["total_steps"] += len(episode.actions)
            totals["total_episodes"] += 1

    write_bytes(image_of(fill), data / HDF5_FILE, kind=None)
    storage.update_metadata({**totals, "dataset_size": storage.get_size()})


def _write_episode(group: Any, number: int, episode: Episode) -> None:
    """One episode as Minari itself keeps it."""
    n = len(episode.actions)
    given = {"id": number, "seed": episode.seed, f"options/{START}": episode.start}
    for name, value in {**given, "total_steps": n}.items():
        if value is not None:
            group.attrs[name] = value
    before = [False] * (n - 1)
    arrays = {
        "observations": np.asarray(episode.observations),
        "actions": np.asarray(episode.actions),
        "rewards": np.asarray(episode.rewards, dtype=np.float64),
        "terminations": np.array([*before, episode.ended]),
        "truncations": np.array([*before, not episode.ended]),
    }
    for name, values in arrays.items():
        shape = (None, *values.shape[1:])
        group.create_dataset(name, data=values, chunks=True, maxshape=shape)
    group.create_group("infos")


WHOLE = ("Box", "Discrete", "MultiBinary", "MultiDiscrete", "Text")
DEEPEST = 8
"""Spaces within spaces."""


def require_space(space: Any, place: str, depth: int = DEEPEST) -> Mapping[str, Any]:
    """A space whose observations can be told apart by value."""
    found: dict[str, Any] = space if isinstance(space, dict) else {}
    kind, parts = found.get("type"), parts_of(found)
    if kind in WHOLE:
        return found
    if parts is None or depth == 0:
        raise InvalidFile(
            f"{place} must be one of {', '.join(WHOLE)}, Dict or Tuple; it is {shown(kind)}"
        )
    for name, part in parts.items():
        require_space(part, f"{place}[{name}]", depth - 1)
    return found


def parts_of(space: Mapping[str, Any]) -> dict[str, Any] | None:
    """The spaces in a Dict or a Tuple by name; None for others."""
    parts = space.get("subspaces")
    if space.get("type") == "Dict" and isinstance(parts, dict):
        return parts
    if space.get("type") == "Tuple" and isinstance(parts, list):
        return {str(i): part for i, part in enumerate(parts)}
    return None


def put_together(row: Any, space: Mapping[str, Any]) -> Any:
    """The observation of one step: a Tuple is a list, a Dict an object, arrays have their shape."""
    parts = parts_of(space)
    if parts is not None:
        if not isinstance(row, dict):
            raise InvalidFile(f"an observation must have the parts {', '.join(parts)}")
        together = {name: put_together(_part(row, name), part) for name, part in parts.items()}
        return list(together.values()) if space["type"] == "Tuple" else together
    shape = space.get("shape") if space["type"] == "Box" else None
    if shape is None:
        return row
    if not isinstance(shape, list) or not all(is_whole(side) and side >= 0 for side in shape):
        raise InvalidFile(f"the shape of a Box must be whole numbers; it is {shown(shape)}")
    try:
        return np.reshape(row, shape)
    except (TypeError, ValueError):
        if np.size(row) > 2 and list(np.ravel(row)[:2]) == [0xFF, 0xD8]:  # how each JPEG begins
            raise InvalidFile(f"observations {AS_JPEG}") from None
        raise InvalidFile(f"an observation must have the shape {shown(shape)}") from None


def _part(row: Mapping[str, Any], name: str) -> Any:
    """The part of that name; parts of a Tuple are also called _index_0, _index_1, ..."""
    for known in (name, f"_index_{name}"):
        if known in row:
            return row[known]
    raise InvalidFile(f"the part {shown(name)} of the observations is missing")


MAX_ENTRIES = 1_000_000_000
"""Numbers in observations and actions of all episodes."""


def read_episodes(source: str | os.PathLike[str]) -> list[Episode]:
    """The episodes of a Minari dataset, by its name or its folder, or of a table (.csv)."""
    if os.fspath(source).endswith(".csv"):
        from didact.mdp.recordings.text import read_steps

        return [Episode(None, *steps) for steps in read_steps(Path(source))]
    require_package("minari", "minari", "Minari datasets")
    if os.path.isfile(source):
        raise InvalidFile(
            f"{shown_path(source)}: is a file; with a simulator name a Minari dataset or a table "
            "(.csv) of observations and actions"
        )
    shown_path(source)
    path = Path(source) if is_minari(Path(source)) else local_folder(os.fspath(source))
    place, data = shown_path(path), metadata_file(path).parent
    metadata = read_json(metadata_file(path))
    n = metadata.get("total_episodes") if isinstance(metadata, dict) else None
    if not is_whole(n) or n < 1:
        raise InvalidFile(f"{place}: its metadata must say total_episodes, a whole number from 1")
    raw = _raw_episodes(data, metadata, place, MAX_ENTRIES)
    with _told(place):
        return [_seeded_episode(number, each) for number, each in enumerate(raw)]


def _seeded_episode(number: int, raw: Episode) -> Episode:
    rows = raw.observations
    if not len(raw.actions) or any(isinstance(row, dict | str) for row in rows[:1]):
        raise InvalidFile(f"episode {number} must have steps whose observations are arrays")
    seed: Any = raw.seed
    return Episode(int(seed) if is_whole(seed) and seed >= 0 else None, rows, raw.actions)


def write_episodes(
    episodes: Sequence[Episode],
    spaces: tuple[Any, Any],
    target: str,
    about: Mapping[str, Any],
    *,
    replace: bool = False,
) -> None:
    """Write episodes as a Minari dataset; spaces: of observations and actions."""
    require_package("minari", "minari", "Minari datasets")
    if not episodes:
        raise InvalidFile(f"{shown_path(target)}: a Minari dataset needs at least one episode")
    described = {"didact_clips": json.dumps(dict(about))}
    write_dataset(
        target_folder(target),
        lambda data, name: _fill_dataset(data, name, spaces, described, episodes),
        replace=replace,
    )
