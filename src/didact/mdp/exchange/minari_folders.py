"""Where Minari keeps its datasets, and how a folder of one is known."""

from __future__ import annotations

import os
import re
from pathlib import Path

from didact.errors import InvalidFile
from didact.files.reading import shown_path

VERSIONED = re.compile(r".*-v[0-9]+")
"""How the name of a dataset ends."""


def is_minari(path: Path) -> bool:
    """Whether a folder is a Minari dataset, or the data folder of one."""
    return os.path.isfile(metadata_file(path))


def metadata_file(path: Path) -> Path:
    """The metadata of a dataset, given its folder or the data folder in it."""
    inner = path / "data" / "metadata.json"
    return inner if os.path.isfile(inner) else path / "metadata.json"


def datasets_root() -> Path:
    """Where Minari keeps its datasets: MINARI_DATASETS_PATH, or a folder in the home."""
    given = os.environ.get("MINARI_DATASETS_PATH")
    return Path(given) if given else Path.home() / ".minari" / "datasets"


def local_folder(dataset_id: str) -> Path:
    """The folder of a dataset on this machine; refused where there is none."""
    path = datasets_root() / dataset_id
    if ".." in path.parts or not is_minari(path):
        raise InvalidFile(
            f"{shown_path(dataset_id)}: is neither a file nor a Minari dataset in "
            f"{shown_path(datasets_root())}; nothing is fetched from elsewhere"
        )
    return path


def target_folder(name: str) -> Path:
    """Where a dataset of this name is written: a path if it looks so, else among Minari's."""
    if not VERSIONED.fullmatch(name):
        raise InvalidFile(
            f"{shown_path(name)}: a Minari dataset's name must end in a version, as {name}-v0"
        )
    if name.startswith((".", "/", "~")):
        return Path(os.path.expanduser(name))
    if ".." in Path(name).parts:
        raise InvalidFile(f"{shown_path(name)}: a dataset's name must not hold '..'")
    return datasets_root() / name
