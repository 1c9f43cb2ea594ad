"""Episodes of simulators in Minari datasets: observations and actions may be any numbers.

What is read keeps its seed, so that a simulator can be led through it once more.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from didact.errors import InvalidFile, InvalidInput
from didact.files.extras import require_package
from didact.files.json import read_json, write_bytes
from didact.files.reading import Budget, shown_path
from didact.inputs import is_whole, reason_of
from didact.mdp.exchange.arrow import read_columns
from didact.mdp.exchange.hdf5 import group_in, image_of, open_hdf5, rows_in, whole_number_beside
from didact.mdp.exchange.minari import HDF5_FILE, write_dataset
from didact.mdp.exchange.minari_folders import (
    is_minari,
    local_folder,
    metadata_file,
    target_folder,
)

MOST_ENTRIES = 1_000_000_000
"""Numbers in observations and actions of all episodes."""


class Episode(NamedTuple):
    """Observations (T + 1), actions, rewards and ends (T) of an episode, and its seed."""

    seed: int
    observations: Any
    actions: Any
    rewards: Any = ()
    ended: bool = False


def read_episodes(source: str | os.PathLike[str]) -> list[Episode]:
    """The episodes of a dataset, by its name among Minari's or by its folder."""
    require_package("minari", "minari", "Minari datasets")
    shown_path(source)
    path = Path(source) if is_minari(Path(source)) else local_folder(os.fspath(source))
    place, data = shown_path(path), metadata_file(path).parent
    metadata = read_json(metadata_file(path))
    n = metadata.get("total_episodes") if isinstance(metadata, dict) else None
    if not is_whole(n) or n < 1:
        raise InvalidFile(f"{place}: its metadata must say total_episodes, a whole number from 1")
    try:
        budget = Budget((path for path in data.rglob("*") if path.is_file()), MOST_ENTRIES)
        is_hdf5 = metadata.get("data_format", "hdf5") == "hdf5"
        read = _from_hdf5(data, n, budget) if is_hdf5 else _from_tables(data, n, budget)
        return [_episode(i, *parts) for i, parts in enumerate(read)]
    except InvalidInput as error:
        raise InvalidFile(f"{place}: {error}") from None
    except Exception as error:  # h5py's own, and whatever a damaged file brings about
        raise InvalidFile(f"{place}: cannot be read: {reason_of(error)}") from None


def _episode(
    number: int, seed: Any, observations: Sequence[Any], actions: Sequence[Any]
) -> Episode:
    if not is_whole(seed) or seed < 0:
        raise InvalidFile(
            f"episode {number} must have the seed of its reset, without which no simulator can be "
            "led through it; record it with DataCollector and reset(seed=...)"
        )
    if not len(actions) or any(isinstance(row, dict | str) for row in observations[:1]):
        raise InvalidFile(f"episode {number} must have steps whose observations are arrays")
    return Episode(int(seed), list(observations), list(actions))


def _from_hdf5(data: Path, n: int, budget: Budget) -> Iterator[tuple[Any, Any, Any]]:
    with open_hdf5(data / HDF5_FILE) as file:
        for number in range(n):
            group = group_in(file, f"episode_{number}")
            rows = [rows_in(group, name, budget) for name in ("observations", "actions")]
            yield whole_number_beside(group, "seed"), rows[0], rows[1]


def _from_tables(data: Path, n: int, budget: Budget) -> Iterator[tuple[Any, Any, Any]]:
    for number in range(n):
        folder = data / str(number)
        states: list[Any] = []
        actions: list[Any] = []
        for name in sorted(os.listdir(folder)):
            if not name.startswith(("_", ".")) and name != "metadata.json":
                part = read_columns(folder / name, ("observations", "actions"), budget)
                states, actions = states + list(part[0]), actions + list(part[1])
        about = read_json(folder / "metadata.json")
        yield (about.get("seed") if isinstance(about, dict) else None), states, actions[:-1]


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

    def fill(data: Path, dataset_id: str) -> None:
        minari = require_package("minari", "minari", "Minari datasets")
        storage = require_package(
            "minari.dataset.minari_storage", "minari", "Minari datasets"
        ).MinariStorage
        data.mkdir()
        made = storage.new(
            data, observation_space=spaces[0], action_space=spaces[1], data_format="hdf5"
        )
        told = {
            "dataset_id": dataset_id,
            "minari_version": minari.__version__,
            "algorithm_name": "didact",
            "didact_clips": json.dumps(dict(about)),
        }
        made.update_metadata(told)
        write_bytes(image_of(lambda file: _fill_file(file, episodes)), data / HDF5_FILE, kind=None)
        steps = sum(len(episode.actions) for episode in episodes)
        totals = {"total_steps": steps, "total_episodes": len(episodes)}
        made.update_metadata({**totals, "dataset_size": made.get_size()})

    write_dataset(target_folder(target), fill, replace=replace)


def _fill_file(file: Any, episodes: Sequence[Episode]) -> None:
    for number, episode in enumerate(episodes):
        n = len(episode.actions)
        group = file.create_group(f"episode_{number}")
        group.attrs["id"] = number
        group.attrs["seed"] = episode.seed
        group.attrs["total_steps"] = n
        arrays = {
            "observations": np.asarray(episode.observations),
            "actions": np.asarray(episode.actions),
            "rewards": np.asarray(episode.rewards, dtype=np.float64),
            "terminations": np.array([False] * (n - 1) + [episode.ended]),
            "truncations": np.array([False] * (n - 1) + [not episode.ended]),
        }
        for name, values in arrays.items():
            shape = (None, *values.shape[1:])
            group.create_dataset(name, data=values, chunks=True, maxshape=shape)
        group.create_group("infos")
