"""Files of families: `didact.family/1`. The weights stand once, members inline or as task files.

A member is the object of a task without its format and weights, or the path of a `didact.task/1`
file relative to the family's own, whose weights must be exactly the family's.
"""

from __future__ import annotations

import os
from typing import Any

from didact.errors import InvalidFile, InvalidInput
from didact.files.json import read_json, write_json
from didact.files.reading import shown_path
from didact.inputs import shown
from didact.mdp.family import Family, as_family
from didact.mdp.files import TASK_FORMAT, task_document, task_from_document
from didact.mdp.model import as_weights
from didact.mdp.task import Task

FAMILY_FORMAT = "didact.family/1"
_REQUIRED = ("weights", "members")
_OPTIONAL = ("name", "names")
_SHARED = ("format", "weights")


def load_family(path: str | os.PathLike[str]) -> Family:
    """The family in a `didact.family/1` file, every number exactly as written.

    path: of the file; the files of members are named relative to it.
    """
    document = read_json(path)
    try:
        return family_from_document(document, os.path.dirname(os.fspath(path)))
    except InvalidInput as error:
        raise InvalidFile(f"{shown_path(path)}: {error}") from None


def load_task_or_family(path: str | os.PathLike[str]) -> Task | Family:
    """The task or the family in a file, whichever its format says."""
    document = read_json(path)
    is_family = isinstance(document, dict) and document.get("format") == FAMILY_FORMAT
    try:
        if is_family:
            return family_from_document(document, os.path.dirname(os.fspath(path)))
        return task_from_document(document)
    except InvalidInput as error:
        raise InvalidFile(f"{shown_path(path)}: {error}") from None


def save_family(family: Family, path: str | os.PathLike[str]) -> None:
    """Write a `didact.family/1` file; reading it back gives the same family exactly.

    family: what to write; its members all stand in the one file.
    path: of the file; one that is there is replaced.
    """
    write_json(family_document(as_family(family)), path)


def family_document(family: Family) -> dict[str, Any]:
    """The `didact.family/1` object of a family, members inline: plain JSON values, exact."""
    members = [task_document(task) for task in family]
    return {
        "format": FAMILY_FORMAT,
        "name": family.name,
        "weights": members[0]["weights"],
        "names": list(family.names),
        "members": [
            {key: value for key, value in member.items() if key not in _SHARED}
            for member in members
        ],
    }


def family_from_document(document: Any, folder: str = "") -> Family:
    """The family that a `didact.family/1` object describes; folder: where paths begin."""
    if not isinstance(document, dict) or document.get("format") != FAMILY_FORMAT:
        raise InvalidFile(f"must hold one JSON object with format {FAMILY_FORMAT!r}")
    for name in _REQUIRED:
        if name not in document:
            raise InvalidFile(f"{name} is missing; a family file needs {', '.join(_REQUIRED)}")
    unknown = sorted(set(document) - {"format", *_REQUIRED, *_OPTIONAL})
    if unknown:
        raise InvalidFile(f"{shown(unknown[0])} is not part of {FAMILY_FORMAT}; remove it")
    for name in ("weights", "members", "names"):
        value = document.get(name)
        if not isinstance(value, list) and not (name == "names" and value is None):
            raise InvalidFile(f"{name} must be a list; it is {shown(value)}")
    members = [
        _member(member, document["weights"], folder, f"members[{i}]")
        for i, member in enumerate(document["members"])
    ]
    if not members:
        raise InvalidFile("members must list at least one member; it is empty")
    _require_weights(members[0], document["weights"])
    return Family(members, names=document.get("names"), name=document.get("name", "family"))


def _require_weights(first: Task, given: list[Any]) -> None:
    """The first member's weights must be the family's; the others are compared with the first."""
    shared = as_weights(given, first.mdp.n_features)
    if list(shared.fractions()) != list(first.true_weights.fractions()):
        raise InvalidFile("members[0]: its weights must be exactly the weights of the family")


def _member(member: Any, weights: list[Any], folder: str, place: str) -> Task:
    """The task of a member; what is wrong with it is told with its place."""
    try:
        if isinstance(member, dict):
            repeated = sorted(set(member) & set(_SHARED))
            if repeated:
                raise InvalidFile(f"{repeated[0]} stands once in a family, not here; remove it")
            return task_from_document({**member, "format": TASK_FORMAT, "weights": weights})
        if not isinstance(member, str):
            raise InvalidFile(
                f"a member must be an object or the path of a task file; it is {shown(member)}"
            )
        if os.path.isabs(member):
            raise InvalidFile(
                f"a path must be relative to the family's own file; it is {shown(member)}"
            )
        return task_from_document(read_json(os.path.join(folder, member)))
    except InvalidInput as error:
        raise InvalidFile(f"{place}: {error}") from None
