"""The formats of recordings: which one a path or a name means, and how it is read and written.

Five formats: JSON (`.json`), JSON lines (`.jsonl`), tables (`.csv`), Minari datasets, and the
folder that imitation reads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from didact.errors import InvalidFile, InvalidParameter
from didact.files.reading import shown_path
from didact.inputs import shown
from didact.mdp.exchange.minari_folders import VERSIONED, is_minari, local_folder, target_folder
from didact.mdp.exchange.recordings import Recording


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
    from didact.mdp.exchange import csv, imitation, json, jsonlines, minari

    known = (
        Format("jsonl", _ends(".jsonl"), jsonlines.read_jsonlines, jsonlines.write_jsonlines),
        Format("json", _ends(".json"), json.read_json_recording, json.write_json_recording),
        Format("csv", _ends(".csv"), csv.read_csv, csv.write_csv),
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


def save_recording(
    recording: Recording,
    target: str | os.PathLike[str],
    *,
    format: str | None = None,
    replace: bool = False,
) -> Path:
    """Write demonstrations, whole or not at all; the path they have then.

    recording: what to write.
    target: a path or a name. A Minari dataset goes where Minari keeps its datasets, unless the
        target begins with '.', '/' or '~'.
    format: by default JSON for names in .json, JSON lines for .jsonl, a table for .csv, a Minari
        dataset for names such as lesson-v0, else a folder for imitation.
    replace: give up what is there.
    """
    path, chosen = target_path(target, format)
    chosen.write(recording, path, replace=replace)
    return path


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
