"""What a page of the studio may ask: one function for each question, JSON in and JSON out.

Every question names its world in one of three ways: as it was painted, by the name of a built-in
world or of an environment of Gymnasium, or as the document of a task or a family. Nothing in a
question is ever a path or a piece of Python. Modules are loaded by the question that needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from didact.mdp import Family, Task

MEADOW: Mapping[str, Any] = {
    "name": "meadow",
    "rows": [
        "aaaaaaaaa",
        "abbbaaaca",
        "abdbaaaca",
        "abbbaaaca",
        "aaaaa##aa",
        "aaaaa#aaa",
        "accca#aea",
        "accca#aaa",
        "aaaaaaaaa",
    ],
    "features": [
        ["grass", "-1", 3],
        ["mud", "-3", 9],
        ["water", "-6", 4],
        ["berries", "4", 2],
        ["home", "10", 5],
    ],
    "ends": [20, 61],
    "starts": [],
    "slip": "0",
    "discount": "0.95",
}
"""The world that opens when none is named."""


def look(question: Any) -> dict[str, Any]:
    """What is optimal in a painted world, in floats: its picture, values and actions by cell."""
    from didact.app.looking import looked_at
    from didact.app.subjects import painting_in

    return looked_at(painting_in(question))


def open_world(question: Any) -> dict[str, Any]:
    """The world that is named, as something to paint where it is a plain grid."""
    from didact.app.subjects import opened, read_subject

    return opened(read_subject(question), question)


def teach_world(question: Any) -> dict[str, Any]:
    """The fewest demonstrations, their proof checked by another program, and how to show them."""
    from didact.app.lessons import taught
    from didact.app.subjects import read_subject

    return taught(read_subject(question), question.get("settings", {}))


QUESTIONS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "look": look,
    "open": open_world,
    "teach": teach_world,
}


def first_world(source: str | None, parameters: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a page opens with: the world that a person named on the command line."""
    if source is None:
        return {"painting": dict(MEADOW)}
    from didact.app.subjects import opened
    from didact.worlds.members import open_task_or_family

    subject: Task | Family = open_task_or_family(source, parameters)
    kept: dict[str, Any] = opened(subject, {"world": source, "parameters": dict(parameters or {})})
    return dict(kept["subject"])
