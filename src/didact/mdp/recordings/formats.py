"""The formats of recordings: which one a path or a name means, and how it is read and written.

Five formats: JSON (`.json`), JSON lines (`.jsonl`), tables (`.csv`), Minari datasets, and the
folder that imitation reads. `given_demonstrations` and `given_items` take what callers have: lists,
lessons, selections, recordings, files and folders.

**Other feedback than demonstrations** stands in JSON or JSON lines, as items with a kind. A JSON
file is a list of items, or an object with `items` such as a lesson of several kinds; of JSON lines
every line is one item, after the first line that recordings may begin with. An item is an object
with `kind`, or a demonstration: a list of [state, action] pairs, or an object with `pairs`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from didact.errors import InvalidFile, InvalidInput, InvalidModel, InvalidParameter
from didact.files.json import parse_json, read_json
from didact.files.reading import read_lines, read_text, shown_path
from didact.inputs import counted, shown
from didact.mdp.demonstrations import Demonstration, as_demonstrations, only_demonstrations
from didact.mdp.family import Family, family_demonstrations
from didact.mdp.files import task_from_document
from didact.mdp.items import Item, as_items, holds_feedback
from didact.mdp.model import MDP
from didact.mdp.recordings.recording import Recording
from didact.mdp.task import Task, as_mdp


@dataclass(frozen=True)
class Format:
    """How one format is known, read and written."""

    name: str
    is_such: Callable[[Path], bool]
    read: Callable[[Path], Recording]
    write: Callable[..., None]


def formats() -> dict[str, Format]:
    """Every format by name, in the order in which a path is tried.

    Their modules are imported here, when a file is first asked for: most commands read none.
    """
    from didact.mdp.recordings import imitation, minari, text

    known = (
        Format("jsonl", _ends(".jsonl"), text.read_jsonlines, text.write_jsonlines),
        Format("json", _ends(".json"), text.read_json_recording, text.write_json_recording),
        Format("csv", _ends(".csv"), text.read_csv, text.write_csv),
        Format("minari", is_minari, minari.read_minari, minari.write_minari),
        Format(
            "imitation", imitation.is_imitation, imitation.read_imitation, imitation.write_imitation
        ),
    )
    return {format.name: format for format in known}


def _ends(suffix: str) -> Callable[[Path], bool]:
    return lambda path: path.suffix == suffix and not os.path.isdir(path)


def load_recording(source: str | os.PathLike[str], *, format: str | None = None) -> Recording:
    """The demonstrations in a file, a folder, or the Minari dataset of that name on this machine.

    source: a path or a name. Nothing is ever fetched from elsewhere.
    format: 'json', 'jsonl', 'csv', 'minari' or 'imitation'; by default what the source looks like.
    """
    place = shown_path(source)
    known, path = formats(), Path(os.path.expanduser(source))
    if format is not None:
        chosen = _format(format)
        is_id = format == "minari" and not os.path.exists(path)
        return chosen.read(local_folder(str(source)) if is_id else path)
    exists = os.path.exists(path)
    if not exists and VERSIONED.fullmatch(place) and not place.startswith((".", "/", "~")):
        return known["minari"].read(local_folder(place))
    if not exists:
        raise InvalidFile(f"{place}: cannot be read: No such file or directory")
    name = format_of_file(path)
    if name is not None:
        return known[name].read(path)
    raise InvalidFile(
        f"{place}: is neither JSON (.json), JSON lines (.jsonl), a table (.csv), a Minari dataset "
        "nor a folder that imitation reads; say which with the format"
    )


def format_of_file(path: Path) -> str | None:
    """The format that a file or folder looks like; None where it looks like no format."""
    return next((name for name, known in formats().items() if known.is_such(path)), None)


def target_path(target: str | os.PathLike[str], format: str | None) -> tuple[Path, Format]:
    """Where a recording goes that is written to this target, and in which format."""
    place = shown_path(target)
    chosen = _format(format or format_of_name(place))
    return (
        target_folder(place) if chosen.name == "minari" else Path(os.path.expanduser(place)),
        chosen,
    )


def format_of_name(name: str) -> str:
    """The format that a target's name asks for."""
    suffix = Path(name).suffix
    if suffix in (".json", ".jsonl", ".csv"):
        return suffix[1:]
    return "minari" if VERSIONED.fullmatch(name) else "imitation"


def _format(name: str) -> Format:
    known = formats()
    if name not in known:
        raise InvalidParameter(
            f"format must be one of {', '.join(sorted(known))}; it is {shown(name)}"
        )
    return known[name]


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


PROOF_OF_A_TASK = "didact.proof/1"


def given_demonstrations(given: Any, where: MDP | Task) -> tuple[Demonstration, ...]:
    """The demonstrations of this model that are given.

    given: lists of (state, action) or (observation, action) pairs; a lesson, a selection or a
        recording; or the path of a file or folder that `load_recording` reads.
    where: an MDP, or a task, which knows what its environment's observations mean.
    """
    if isinstance(given, str | os.PathLike):
        return load_demonstrations(given, where)
    if isinstance(given, Recording):
        require_same_states(given.lesson, where)
        return as_demonstrations(given.read_by(where), where)
    if getattr(given, "bec", given) is None:  # a lesson from a file, which has its proof at hand
        require_same_states({"proof": getattr(given, "proof", None)}, where)
    return as_demonstrations(only_demonstrations(given), where)


def given_episodes(given: Any, where: MDP | Task) -> tuple[tuple[Demonstration, ...], list[int]]:
    """The demonstrations of this model that are given, and the numbers that their file has."""
    recording = read_file(given) if isinstance(given, str | os.PathLike) else given
    if not isinstance(recording, Recording):
        shown_ones = given_demonstrations(given, where)
        return shown_ones, list(range(len(shown_ones)))
    if recording is given:
        return given_demonstrations(given, where), list(recording.episodes)
    return demonstrations_in(recording, where, given), list(recording.episodes)


def require_same_states(lesson: Any, where: MDP | Task) -> None:
    """Refuse a lesson of a task with another number of states, which its proof tells.

    lesson: fields by name, or None. Its state numbers would mean other states here.
    """
    proof = lesson.get("proof") if isinstance(lesson, Mapping) else None
    optimal = proof.get("optimal") if isinstance(proof, Mapping) else None
    if not isinstance(optimal, list | tuple) or len(optimal) == as_mdp(where).n_states:
        return
    if isinstance(proof, Mapping) and proof.get("format") != PROOF_OF_A_TASK:
        return
    n = as_mdp(where).n_states
    raise InvalidModel(
        f"it is a lesson for a task of {counted(len(optimal), 'state')}, and this one has {n}; "
        "give the task that it was made for, or make a lesson for this one with `didact teach`"
    )


def load_demonstrations(
    path: str | os.PathLike[str], where: MDP | Task
) -> tuple[Demonstration, ...]:
    """The demonstrations of this model in a file or folder."""
    return demonstrations_in(read_file(path), where, path)


def read_file(path: str | os.PathLike[str]) -> Recording:
    """What a file or folder holds; a file whose name says no format is JSON."""
    is_plain = os.path.isfile(path) and format_of_file(Path(path)) is None
    return load_recording(path, format="json" if is_plain else None)


def demonstrations_in(
    recording: Recording, where: MDP | Task, path: str | os.PathLike[str]
) -> tuple[Demonstration, ...]:
    """What a recording that was read from a path, named in errors, shows of a model."""
    try:
        require_same_states(recording.lesson, where)
        return as_demonstrations(recording.read_by(where), where)
    except InvalidInput as error:
        raise InvalidFile(f"{shown_path(path)}: {error}") from None


def given_items(given: Any, where: MDP | Task) -> tuple[Item, ...]:
    """The items of this model that are given: demonstrations, and other feedback among them.

    given: a list of items, a lesson of several kinds, the path of a file, or demonstrations in any
        form that `given_demonstrations` takes.
    """
    found = given_feedback(given, where)
    return given_demonstrations(given, where) if found is None else found


def given_of_family(given: Any, family: Family) -> tuple[Demonstration, ...]:
    """The demonstrations of a family that are given, each of a member by its number.

    given: anything that `family_demonstrations` takes, or the path of a JSON file: a lesson of the
        family, or a list of [member, pairs].
    """
    if not isinstance(given, str | os.PathLike):
        return family_demonstrations(given, family)
    document = read_json(given)
    is_lesson = isinstance(document, dict) and "demonstrations" in document
    try:
        return family_demonstrations(document["demonstrations"] if is_lesson else document, family)
    except InvalidInput as error:
        raise InvalidFile(f"{shown_path(given)}: {error}") from None


def given_feedback(given: Any, where: MDP | Task | Family) -> tuple[Item, ...] | None:
    """The items that are given, where other feedback than demonstrations is among them; else None.

    given: anything, as for `given_items`.
    """
    if isinstance(given, str | os.PathLike):
        return feedback_in(given, where)
    listed = getattr(given, "items", given)
    return as_items(listed, where) if holds_feedback(listed) else None


def task_in(path: str | os.PathLike[str]) -> Task | None:
    """The task that a file of items says it is of; None where it says none."""
    named = os.fspath(path)
    try:
        if named.endswith(".jsonl"):
            begins = parse_json(next(iter(read_lines(named)), "null"))
        else:
            begins = read_json(named)
    except (InvalidInput, ValueError, RecursionError):
        return None
    task = begins.get("task") if isinstance(begins, dict) else None
    return task_from_document(task) if isinstance(task, dict) else None


def has_feedback(path: str | os.PathLike[str]) -> bool:
    """Whether a file holds other feedback than demonstrations."""
    listed, is_mixed = _listed(os.fspath(path))
    return is_mixed or holds_feedback(listed)


def feedback_in(
    path: str | os.PathLike[str], where: MDP | Task | Family
) -> tuple[Item, ...] | None:
    """The items in a file, checked; None where it holds demonstrations only, or is of no such kind.

    What cannot be read is left to the readers of demonstrations, who say what is wrong.
    """
    listed, is_mixed = _listed(os.fspath(path))
    if not is_mixed and not holds_feedback(listed):
        return None
    try:
        return as_items(listed, where)
    except InvalidInput as error:
        raise InvalidFile(f"{shown_path(path)}: {error}") from None


def _listed(path: str) -> tuple[Any, bool]:
    """What a file lists, and whether it says itself that these are items."""
    if not os.path.isfile(path) or not path.endswith((".json", ".jsonl")):
        return None, False
    try:
        if not _names_kinds(path):
            return None, False
        if path.endswith(".jsonl"):
            return _lines(path), False
        document = read_json(path)
    except (InvalidInput, ValueError, RecursionError):
        return None, False
    if not isinstance(document, dict):
        return document, False
    items = document.get("items")
    return items, isinstance(items, list)


def _names_kinds(path: str) -> bool:
    """Whether a file's text can name items; else only the readers of demonstrations parse it.

    Without this, long recordings would be parsed twice. An escaped sign could spell any name.
    """
    if path.endswith(".jsonl"):
        lines = (line for i, line in enumerate(read_lines(path)) if i or '"format"' not in line)
        return any('"kind"' in line or "\\" in line for line in lines)
    text = read_text(path)
    name = '"items"' if text.lstrip()[:1] == "{" else '"kind"'
    return name in text or "\\" in text


def _lines(path: str) -> list[Any]:
    """The items of JSON lines, without a first line that says format and task."""
    listed = [parse_json(line) for line in read_lines(path) if line.strip()]
    if listed and isinstance(listed[0], Mapping) and "format" in listed[0]:
        del listed[0]
    return [_without_number(entry) for entry in listed]


def _without_number(entry: Any) -> Any:
    """An item without the number of its episode; of an episode its pairs."""
    if not isinstance(entry, Mapping):
        return entry
    if "kind" not in entry and "pairs" in entry:
        return entry["pairs"]
    return {name: value for name, value in entry.items() if name != "episode"}
