"""A task from what a person names: a file, a registered world, or a Gymnasium environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from didact.errors import InvalidParameter
from didact.mdp import Task, load_task
from didact.worlds.gym.minigrid import from_minigrid, is_minigrid
from didact.worlds.gym.tables import from_gymnasium
from didact.worlds.registry import make, worlds

_WHOLE = re.compile(r"-?[0-9]{1,30}")
_PAIR = re.compile(r"[0-9]{1,30}x[0-9]{1,30}")
_LIST = re.compile(r"[-+]?[0-9./]+(e[-+]?[0-9]+)?(,[-+]?[0-9./]+(e[-+]?[0-9]+)?)+")


def open_task(source: str, parameters: Mapping[str, Any] | None = None) -> Task:
    """The task that `source` names; parameters go to the world or the environment."""
    given = dict(parameters or {})
    known = worlds().get(source)
    if known is not None:
        return make(source, **_with_sides(given, known.parameters))
    if source.endswith(".json") or source.startswith((".", "/", "~")) or os.path.exists(source):
        if given:
            raise InvalidParameter(
                f"{source} is a file, which takes no parameters; leave {sorted(given)[0]!r} out"
            )
        return load_task(source)
    if is_minigrid(source):
        return from_minigrid(source, **given)
    if _looks_like_gymnasium(source):
        return from_gymnasium(source, **given)
    return make(source, **given)


def _looks_like_gymnasium(source: str) -> bool:
    """Names such as Taxi-v4 or tabular/CliffWalking-v0."""
    return "-v" in source or "/" in source or source[:1].isupper()


def _with_sides(given: dict[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Sides such as 3x4 as pairs, where the world's own parameter is a whole number."""
    return {
        name: tuple(map(int, value.split("x")))
        if isinstance(defaults.get(name), int) and isinstance(value, str) and _PAIR.fullmatch(value)
        else value
        for name, value in given.items()
    }


def read_parameters(settings: tuple[str, ...]) -> dict[str, Any]:
    """Parameters from texts NAME=VALUE.

    Whole numbers, true, false, none and lists of numbers -1,-10 are read as such; all else stays
    text, decimals too, so that they keep their exact value.
    """
    parameters: dict[str, Any] = {}
    for setting in settings:
        name, separator, text = setting.partition("=")
        name = name.replace("-", "_")
        if not separator or not name:
            raise InvalidParameter(f"a parameter must read NAME=VALUE; it is {setting!r:.60}")
        if name in parameters:
            raise InvalidParameter(f"the parameter {name!r} must be given once; it is given twice")
        parameters[name] = _read_value(text)
    return parameters


def _read_value(text: str) -> Any:
    if _WHOLE.fullmatch(text):
        return int(text)
    if _LIST.fullmatch(text):
        return tuple(text.split(","))
    return {"true": True, "false": False, "none": None}.get(text.lower(), text)
