"""A task from what a person names: a file, a registered world, or a Gymnasium environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from didact.errors import InvalidParameter
from didact.mdp import Task, load_task
from didact.worlds import from_gymnasium, make, worlds


def open_task(source: str, parameters: Mapping[str, Any] | None = None) -> Task:
    """The task that `source` names; parameters go to the world or the environment."""
    given = dict(parameters or {})
    if source in worlds():
        return make(source, **given)
    if source.endswith(".json") or os.path.exists(source):
        if given:
            raise InvalidParameter(
                f"{source} is a file, which takes no parameters; leave {sorted(given)[0]!r} out"
            )
        return load_task(source)
    if _looks_like_gymnasium(source):
        return from_gymnasium(source, **given)
    return make(source, **given)


def _looks_like_gymnasium(source: str) -> bool:
    """Names such as Taxi-v4 or tabular/CliffWalking-v0."""
    return "-v" in source or "/" in source or source[:1].isupper()


def read_parameters(settings: tuple[str, ...]) -> dict[str, Any]:
    """Parameters from texts NAME=VALUE: whole numbers, true/false, pairs 3x4, else text.

    Decimals stay text, so that they keep their exact value.
    """
    parameters: dict[str, Any] = {}
    for setting in settings:
        name, separator, text = setting.partition("=")
        if not separator or not name:
            raise InvalidParameter(f"a parameter must read NAME=VALUE; it is {setting!r:.60}")
        if name in parameters:
            raise InvalidParameter(f"the parameter {name!r} must be given once; it is given twice")
        parameters[name.replace("-", "_")] = _read_value(text)
    return parameters


def _read_value(text: str) -> Any:
    sides = text.split("x")
    if len(sides) == 2 and all(side.isdecimal() for side in sides):
        return tuple(int(side) for side in sides)
    if text.lstrip("-").isdecimal() and len(text) < 30:
        return int(text)
    return {"true": True, "false": False, "none": None}.get(text.lower(), text)
