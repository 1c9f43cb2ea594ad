"""The registry of worlds: makers of tasks by name, extendable by a decorator or an entry point.

A maker is a function with named parameters that returns a `Task`. Its signature is the list of
parameters, the first line of its docstring the summary. Packages add worlds through the entry-point
group "didact.worlds": the entry's name is the world's name, its object the maker.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

from didact.errors import InvalidModel, InvalidParameter
from didact.inputs import shown
from didact.mdp import Task
from didact.registry import REQUIRED as REQUIRED
from didact.registry import Options, Registry, options_of

ENTRY_POINTS = "didact.worlds"
BUILT_IN = {
    "ball-sorting": "didact.worlds.examples:ball_sorting",
    "chain": "didact.worlds.examples:chain",
    "garnet": "didact.worlds.garnet:garnet",
    "grid": "didact.worlds.grids:gridworld",
    "gymnasium": "didact.worlds.gym.tables:gymnasium_world",
    "random-grid": "didact.worlds.grids:random_grid",
    "six-cell": "didact.worlds.examples:six_cell",
    "uvm-failure": "didact.worlds.examples:uvm_failure",
}
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

Maker = TypeVar("Maker", bound=Callable[..., Task])


@dataclass(frozen=True)
class WorldInfo:
    """What a world is: its name, one line about it, and its parameters with their defaults.

    A parameter without a default has the value `REQUIRED`; `open_ended` worlds hand further
    parameters on.
    """

    name: str
    summary: str
    parameters: Mapping[str, Any]
    maker: Callable[..., Task] = field(repr=False)
    open_ended: bool = False


def register_world(name: str) -> Callable[[Maker], Maker]:
    """Make the decorated function the maker of the world `name`; it stays an ordinary function.

    name: by which `make` and the command line know it. A name belongs to one function; defining
        that function again (a notebook cell run twice) replaces it.
    """
    _require_name(name)

    def register(maker: Maker) -> Maker:
        earlier = _worlds.registered(name)
        if earlier is not None and _origin(earlier.maker) != _origin(maker):
            raise InvalidParameter(
                f"the world {name!r} is already made by {'.'.join(_origin(earlier.maker))}; "
                "choose another name"
            )
        _worlds.register(name, maker)
        return maker

    return register


def make_registered(name: str, /, **parameters: Any) -> Task:
    """The task that the named world makes from these parameters."""
    info = _worlds.find(name, parameters)
    with _worlds.running(name):
        task = info.maker(**parameters)
    if not isinstance(task, Task):
        raise InvalidModel(f"world {name!r} must return a Task; it returned {shown(task)}")
    return task


def worlds() -> Mapping[str, WorldInfo]:
    """Every world by name, in alphabetical order: the built-in, the registered, the installed."""
    return MappingProxyType(dict(sorted(_worlds.everything().items())))


def _require_name(name: Any) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidParameter(
            "a world's name must be lower-case words joined by '-', as 'my-grid'; "
            f"it is {shown(name)}"
        )


def _origin(maker: Callable[..., Task]) -> tuple[str, str]:
    return getattr(maker, "__module__", "?"), getattr(maker, "__qualname__", repr(maker))


def _described(name: str, maker: Any) -> WorldInfo:
    _require_name(name)
    if not callable(maker):
        raise InvalidParameter(f"the maker of {name!r} must be a function; it is {shown(maker)}")
    options = options_of(maker)
    if options.unnamed:
        raise InvalidParameter(
            f"the maker of {name!r} must take its parameters by name; "
            f"{options.unnamed[0]!r} cannot be given so"
        )
    lines = (inspect.getdoc(maker) or name).splitlines()
    return WorldInfo(name, lines[0], options.defaults, maker, options.open_ended)


def _parameters(info: WorldInfo) -> Options:
    return Options(info.parameters, info.open_ended)


_worlds: Registry[WorldInfo] = Registry(
    "world", ENTRY_POINTS, BUILT_IN, accept=_described, options=_parameters, option="parameter"
)
