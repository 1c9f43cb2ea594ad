"""Files: `didact.task/1`, `didact.family/1` and lists of demonstrations; JSON with exact numbers.

The weights of a family stand once. A member is the object of a task without its format and weights,
or the path of a `didact.task/1` file relative to the family's own, whose weights must be exactly
the family's."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from didact.errors import InvalidFile, InvalidInput, InvalidParameter
from didact.files.json import read_json
from didact.files.reading import shown_path
from didact.inputs import shown
from didact.mdp.family import Family
from didact.mdp.model import MDP, as_weights
from didact.mdp.task import Task
from didact.mdp.transitions import Transitions, require_index, require_sizes
from didact.numerics.exact import write_number

Subject = TypeVar("Subject", bound=Task | Family)
TASK_FORMAT = "didact.task/1"
_REQUIRED = ("n_states", "n_actions", "transitions", "features", "weights", "discount")
_OPTIONAL = (
    "name",
    "start",
    "terminal",
    "state_names",
    "action_names",
    "feature_names",
    "layout",
    "observations",
    "first_action",
)


def load_task(path: str | os.PathLike[str]) -> Task:
    """The task in a `didact.task/1` file, every number exactly as written.

    path: of the file.
    """
    return _loaded(path, task_from_document)


def _loaded(path: str | os.PathLike[str], read: Callable[[Any], Subject]) -> Subject:
    """What a reader makes of a file's document; what is wrong with it is told with its path."""
    document = read_json(path)
    try:
        return read(document)
    except InvalidInput as error:
        raise InvalidFile(f"{shown_path(path)}: {error}") from None


def task_from_document(document: Any) -> Task:
    """The task that a `didact.task/1` object describes."""
    _require_fields(document, TASK_FORMAT, _REQUIRED, _OPTIONAL)
    for name in ("transitions", "features", "weights"):
        if not isinstance(document[name], list):
            raise InvalidFile(f"{name} must be a list; it is {shown(document[name])}")
    terminal = _listed(document, "terminal") or []
    _require_claims(document, terminal)
    mdp = MDP(
        Transitions.from_rows(document["transitions"], document["n_states"], document["n_actions"]),
        document["features"],
        document["discount"],
        start=_start(document),
        terminal=terminal,
        state_names=_listed(document, "state_names"),
        action_names=_listed(document, "action_names"),
        feature_names=_listed(document, "feature_names"),
    )
    return Task(
        mdp,
        document["weights"],
        name=document.get("name", "task"),
        layout=document.get("layout"),
        observations=_listed(document, "observations"),
        first_action=document.get("first_action", 0),
    )


def _require_claims(document: dict[str, Any], terminal: list[Any]) -> None:
    """Refuse sizes that the lists in the file do not bear out, before memory is taken for them."""
    n_states, n_actions = require_sizes(document["n_states"], document["n_actions"])
    if len(document["features"]) != n_states:
        raise InvalidFile(
            f"features must have {n_states} rows, one for each state; it has "
            f"{len(document['features'])}"
        )
    ends = {require_index(s, n_states, f"terminal[{i}]") for i, s in enumerate(terminal)}
    n_rows = (n_states - len(ends)) * n_actions
    if len(document["transitions"]) < n_rows:
        raise InvalidFile(
            f"transitions must have at least {n_rows} entries, one for each action in each state "
            f"that is not terminal; it has {len(document['transitions'])}"
        )


def _require_fields(
    document: Any, format: str, required: Sequence[str], optional: Sequence[str]
) -> None:
    """Refuse what is no object of this format with these fields and no others."""
    if not isinstance(document, dict):
        raise InvalidFile(f"must hold one JSON object with format {format!r}")
    if document.get("format") != format:
        raise InvalidFile(
            f"format must be {format!r}, which this didact reads; it is "
            f"{shown(document.get('format'))}"
        )
    kind = format.removeprefix("didact.").partition("/")[0]
    for name in required:
        if name not in document:
            raise InvalidFile(f"{name} is missing; a {kind} file needs {', '.join(required)}")
    unknown = sorted(set(document) - {"format", *required, *optional})
    if unknown:
        raise InvalidFile(f"{shown(unknown[0])} is not part of {format}; remove it")


def _listed(document: dict[str, Any], name: str) -> list[Any] | None:
    value = document.get(name)
    if value is not None and not isinstance(value, list):
        raise InvalidFile(f"{name} must be a list or null; it is {shown(value)}")
    return value


def _start(document: dict[str, Any]) -> Any:
    start = document.get("start")
    if start is None or start == "uniform":
        return "uniform"
    if not isinstance(start, list) or not all(isinstance(p, list) and len(p) == 2 for p in start):
        raise InvalidFile(
            f"start must be 'uniform' or a list of [state, probability] pairs; it is {shown(start)}"
        )
    return start


def task_document(task: Task) -> dict[str, Any]:
    """The `didact.task/1` object of a task: plain JSON values, exact."""
    mdp = task.mdp
    palette, codes = mdp.transitions.exact()
    written = [write_number(value) for value in palette]
    offsets = mdp.transitions.offsets.tolist()
    successors = mdp.transitions.successors.tolist()
    entry_codes = codes.tolist()
    transitions = [
        [row // mdp.n_actions, row % mdp.n_actions, successors[i], written[entry_codes[i]]]
        for row in range(mdp.n_states * mdp.n_actions)
        for i in range(offsets[row], offsets[row + 1])
    ]
    seen: dict[str, Any] = (
        {} if task.observations is None else {"observations": task.observations.document()}
    )
    seen |= {"first_action": task.first_action} if task.first_action else {}
    return {
        "format": TASK_FORMAT,
        "name": task.name,
        "n_states": mdp.n_states,
        "n_actions": mdp.n_actions,
        "transitions": transitions,
        "features": _nested(mdp.features),
        "weights": [write_number(value) for value in task.true_weights.fractions()],
        "discount": write_number(mdp.exact_discount),
        "start": [
            [state, write_number(share)]
            for state, share in enumerate(mdp.start.fractions())
            if share
        ],
        "terminal": [state for state, ends in enumerate(mdp.terminal.tolist()) if ends],
        **{
            name: list(getattr(mdp, name)) if getattr(mdp, name) else None
            for name in ("state_names", "action_names", "feature_names")
        },
        "layout": None
        if task.layout is None
        else {k: list(v) if isinstance(v, tuple) else v for k, v in task.layout.items()},
        **seen,
    }


def _nested(numbers: Any) -> Any:
    palette, codes = numbers.exact()
    written = [write_number(value) for value in palette]

    def fill(part: Any) -> Any:
        return [fill(p) for p in part] if isinstance(part, list) else written[part]

    return fill(codes.tolist())


FAMILY_FORMAT = "didact.family/1"
_FAMILY_REQUIRED = ("weights", "members")
_FAMILY_OPTIONAL = ("name", "names")
_SHARED = ("format", "weights")


def load_family(path: str | os.PathLike[str]) -> Family:
    """The family in a `didact.family/1` file, every number exactly as written.

    path: of the file; the files of members are named relative to it.
    """
    return _loaded(path, lambda document: family_from_document(document, os.path.dirname(path)))


def load_task_or_family(path: str | os.PathLike[str]) -> Task | Family:
    """The task or the family in a file, whichever its format says."""
    return _loaded(
        path, lambda document: task_or_family_from_document(document, os.path.dirname(path))
    )


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
    _require_fields(document, FAMILY_FORMAT, _FAMILY_REQUIRED, _FAMILY_OPTIONAL)
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


def task_or_family_from_document(document: Any, folder: str | None = None) -> Task | Family:
    """The task or the family of a document.

    folder: where paths of members begin; None refuses members that are files.
    """
    if not isinstance(document, dict) or document.get("format") != FAMILY_FORMAT:
        return task_from_document(document)
    members = document.get("members")
    listed = members if isinstance(members, list) else []
    if folder is None and not all(isinstance(member, dict) for member in listed):
        raise InvalidParameter("members must stand in the family's own file; one is a path")
    return family_from_document(document, folder or "")


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
