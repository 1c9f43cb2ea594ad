"""What the name of a world means: a registered world, a file, or an environment of Gymnasium.

A registered name comes first. What ends in .json, begins like a path or is a file is a file. Names
with a version, a namespace or a capital letter are environments: MiniGrid's are walked through,
others have a table. Anything else can only be a world that is not there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Literal

from didact.errors import InvalidParameter
from didact.mdp import Task, load_task
from didact.worlds.gym.minigrid import from_minigrid, is_minigrid, require_minigrid
from didact.worlds.gym.tables import from_gymnasium
from didact.worlds.registry import make, worlds

_PAIR = re.compile(r"[0-9]{1,30}x[0-9]{1,30}")

Meaning = Literal["world", "file", "environment"]


def open_task(
    source: str, parameters: Mapping[str, Any] | None = None, *, any_version: bool = False
) -> Task:
    """The task that `source` names; parameters go to the world or the environment.

    any_version: an environment's id may leave out its version, and the newest one is taken.
    """
    given = dict(parameters or {})
    meaning = meaning_of(source)
    if meaning == "world":
        return make(source, **_with_sides(source, given))
    if meaning == "file":
        if given:
            raise InvalidParameter(
                f"{source} is a file, which takes no parameters; leave {sorted(given)[0]!r} out"
            )
        return load_task(source)
    return environment_task(newest_version(source) if any_version else source, given)


def environment_task(id: str, parameters: Mapping[str, Any]) -> Task:
    """The task of an environment: by its table, or by a walk where it is MiniGrid's."""
    return (from_minigrid if is_minigrid(id) else from_gymnasium)(id, **parameters)


def meaning_of(source: str) -> Meaning:
    """What a name stands for; whether there is such a thing is told when it is opened."""
    if source in worlds():
        return "world"
    if source.endswith(".json") or source.startswith((".", "/", "~")) or os.path.isfile(source):
        return "file"
    if "-v" in source or "/" in source or source[:1].isupper():
        return "environment"
    return "file" if os.path.exists(source) else "world"


def takes_seed(source: str) -> bool:
    """Whether this is a world that is drawn at random, by a parameter `seed`."""
    known = worlds().get(source)
    return known is not None and "seed" in known.parameters


def newest_version(name: str) -> str:
    """The newest installed version of an environment, as Taxi-v4 for Taxi; ids stay as they are."""
    import gymnasium

    if is_minigrid(name):
        require_minigrid()
    if _version(name) >= 0:
        return name
    found = [id for id in gymnasium.registry if id.rpartition("-v")[0] == name]
    return max(found, key=_version, default=name)


def _version(id: str) -> int:
    """The version of an id such as Taxi-v4; -1 where it has none."""
    _, sign, version = id.rpartition("-v")
    return int(version) if sign and version.isdecimal() else -1


def _with_sides(world: str, given: dict[str, Any]) -> dict[str, Any]:
    """Sides such as 3x4 as pairs, where the world's own parameter is a whole number."""
    known = worlds().get(world)
    defaults = {} if known is None else known.parameters
    return {
        name: tuple(map(int, value.split("x")))
        if isinstance(defaults.get(name), int) and isinstance(value, str) and _PAIR.fullmatch(value)
        else value
        for name, value in given.items()
    }
