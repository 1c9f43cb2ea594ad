"""The world that a question is about: painted, named, or given as a document.

Names are those of built-in worlds and of registered environments of Gymnasium, parameters are
numbers: a page can neither name a file nor have a module imported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from didact.app.painting import Painting, painting_of, read_painting
from didact.errors import InvalidParameter
from didact.inputs import shown
from didact.mdp import Family, Task
from didact.mdp.files import (
    FAMILY_FORMAT,
    family_document,
    family_from_document,
    task_document,
    task_from_document,
)
from didact.worlds.gym.environments import installed_id
from didact.worlds.gym.minigrid import is_minigrid
from didact.worlds.opening import open_task_or_family
from didact.worlds.registry import worlds

WAYS = ("painting", "world", "task")
MOST_STATES = 5_000
"""How many states a world may have in all to be opened by a page."""
NAMELESS = {"grid", "gymnasium"}
"""Built-in worlds that are drawn or named by texts; a page paints, or gives the id itself."""
_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,40}(/[\w.-]{1,40})?-v[0-9]{1,3}")
_VALUE = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,12})?(/[0-9]{1,12})?|[0-9]{1,2}x[0-9]{1,2}")


def read_subject(question: Any) -> Task | Family:
    """The task or the family that a question names."""
    way = _way(question)
    if way == "painting":
        return read_painting(question["painting"]).task()
    if way == "task":
        return _small(task_or_family_in(question["task"]))
    return _small(open_task_or_family(*_named(question)))


def painting_in(question: Any) -> Painting:
    """The painting that a question is about."""
    if _way(question) != "painting":
        raise InvalidParameter("this can only be asked about a painted world; paint one")
    return read_painting(question["painting"])


def _way(question: Any) -> str:
    given = [way for way in WAYS if isinstance(question, dict) and way in question]
    if len(given) != 1:
        raise InvalidParameter(
            f"a question must name its world by one of {', '.join(WAYS)}; it is {shown(question)}"
        )
    return given[0]


def task_or_family_in(document: Any) -> Task | Family:
    """The task or the family of a document; members that are files are refused."""
    if not isinstance(document, dict) or document.get("format") != FAMILY_FORMAT:
        return task_from_document(document)
    members = document.get("members")
    if isinstance(members, list) and not all(isinstance(member, dict) for member in members):
        raise InvalidParameter("members must stand in the family's own file; one is a path")
    return family_from_document(document)


def _named(question: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    source, parameters = question["world"], question.get("parameters", {})
    if not isinstance(source, str) or not (_is_built_in(source) or _is_environment(source)):
        raise InvalidParameter(
            "world must be the name of a built-in world or of an environment of Gymnasium; it is "
            f"{shown(source)}"
        )
    if not isinstance(parameters, dict) or len(parameters) > 20:
        raise InvalidParameter(f"parameters must be a table; it is {shown(parameters)}")
    for name in parameters:
        if not name.isidentifier():  # it stands in the code that the page shows to be copied
            raise InvalidParameter(f"the name of a parameter must be a word; it is {shown(name)}")
    return source, {name: _value(value, name) for name, value in parameters.items()}


def _is_built_in(source: str) -> bool:
    return source in worlds() and source not in NAMELESS


def _is_environment(source: str) -> bool:
    if not _ID.fullmatch(source):
        return False
    return installed_id(source) is not None or is_minigrid(source)


def _value(value: Any, name: str) -> Any:
    if isinstance(value, bool) or (isinstance(value, int) and abs(value) < 10**9):
        return value
    if isinstance(value, Decimal) and abs(value) < 10**9:
        return str(value)
    if isinstance(value, str) and _VALUE.fullmatch(value):
        return int(value) if value.isdigit() else value
    raise InvalidParameter(
        f"parameter {shown(name)} must be a number, a fraction or sides such as 4x5; it is "
        f"{shown(value)}"
    )


def _small(found: Task | Family) -> Task | Family:
    members = found.members if isinstance(found, Family) else [found]
    n_states = sum(member.mdp.n_states for member in members)
    if n_states > MOST_STATES:
        raise InvalidParameter(
            f"a world must have at most {MOST_STATES} states here; it has {n_states}. "
            "The command line takes larger ones"
        )
    return found


def opened(found: Task | Family, question: Mapping[str, Any]) -> dict[str, Any]:
    """How a page keeps a world: as a painting where it is one, else by name or document."""
    _small(found)
    painting = None if isinstance(found, Family) else painting_of(found)
    if painting is not None:
        return {"subject": {"painting": painting.document()}, "name": found.name}
    if "world" in question and _can_be_named(question):
        kept = {"world": question["world"], "parameters": _plain(question.get("parameters", {}))}
        return {"subject": kept, "name": found.name}
    document = family_document(found) if isinstance(found, Family) else task_document(found)
    return {"subject": {"task": document}, "name": found.name}


def _can_be_named(question: Mapping[str, Any]) -> bool:
    try:
        _named(question)
    except InvalidParameter:
        return False
    return True


def _plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: str(value) if isinstance(value, Decimal) else value
        for name, value in parameters.items()
    }
