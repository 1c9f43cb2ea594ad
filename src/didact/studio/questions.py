"""What a page of the studio may ask: one function for each question, JSON in and JSON out.

Every question names its world in one of three ways: as it was painted, by the name of a built-in
world or of an environment of Gymnasium, or as the document of a task or a family. Nothing in a
question is ever a path or a piece of Python. Modules are loaded by the first question that needs
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
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


def _painted(
    button: str, name: str, rows: list[str], features: list[Any], ends: list[int], **more: Any
) -> tuple[str, dict[str, Any]]:
    """The words of a button, and a small painted world as a question names it."""
    world = {"name": name, "rows": rows, "features": features, "ends": ends}
    return button, {"painting": {**world, "starts": [], "slip": "0", "discount": "0.95", **more}}


PRESETS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    _painted(
        "Shortcut",
        "shortcut",
        ["aaaaa", "abbba", "abbba", "aaaac"],
        [["path", "-1", 0], ["mud", "-3", 9], ["home", "10", 3]],
        [19],
    ),
    _painted(
        "Cliff",
        "cliff",
        ["aaaaaa", "aaaaaa", "abbbbc"],
        [["path", "-1", 0], ["cliff", "-20", 2], ["goal", "10", 3]],
        [13, 14, 15, 16, 17],
        starts=[12],
    ),
    _painted(
        "Two ends",
        "harbour",
        ["aaaab", "a##aa", "aaaac"],
        [["water", "-1", 4], ["snack", "4", 5], ["dock", "10", 3]],
        [4, 14],
    ),
    _painted(
        "Ice",
        "ice",
        ["aaaa", "abab", "aaab", "baac"],
        [["ice", "-1", 4], ["hole", "-10", 1], ["goal", "10", 3]],
        [5, 7, 11, 12, 15],
        starts=[0],
        slip="0.2",
    ),
    ("Frozen lake", {"world": "FrozenLake-v1", "parameters": {}}),
    ("Taxi", {"world": "Taxi-v4", "parameters": {}}),
)
"""Worlds to begin with, each with the words of its button."""


def _of_subject(module: str, name: str) -> Callable[[Any], dict[str, Any]]:
    """A question about a world that `name` of a module of this room answers."""

    def answer(question: Any) -> dict[str, Any]:
        from didact.studio.worlds import read_subject

        subject = read_subject(question)
        asked = getattr(import_module(f"didact.studio.{module}"), name)
        told: dict[str, Any] = asked(subject, question)
        return told

    return answer


def look(question: Any) -> dict[str, Any]:
    """What is optimal in a painted world, in floats: its picture, values and actions by cell."""
    from didact.studio.worlds import looked_at, painting_in, read_subject

    painting = painting_in(question)
    task: Any = read_subject(question)
    return looked_at(painting, task)


QUESTIONS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "look": look,
    "view": _of_subject("boards", "viewed"),
    "member": _of_subject("boards", "member_of"),
    "open": _of_subject("worlds", "opened"),
    "teach": _of_subject("lessons", "taught"),
    "frontier": _of_subject("lessons", "frontier_of"),
    "fit": _of_subject("lessons", "fitted"),
    "roll": _of_subject("lessons", "rolled"),
    "quiz": _of_subject("playing", "quiz"),
    "score": _of_subject("playing", "score"),
    "next": _of_subject("playing", "next_asked"),
    "exam": _of_subject("playing", "asked_exam"),
    "grade": _of_subject("playing", "graded_exam"),
    "audit": _of_subject("playing", "audited_policy"),
    "export": _of_subject("lessons", "exported"),
}
"""Every question by name."""


def first_world(source: str | None, parameters: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a page opens with: the world that a person named on the command line."""
    if source is None:
        return {"painting": dict(MEADOW)}
    from didact.studio.worlds import opened
    from didact.worlds.opening import open_task_or_family

    subject: Task | Family = open_task_or_family(source, parameters)
    kept: dict[str, Any] = opened(subject, {"world": source, "parameters": dict(parameters or {})})
    return dict(kept["subject"])
