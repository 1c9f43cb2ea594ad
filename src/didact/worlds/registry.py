"""The registry of worlds: makers of tasks by name, extendable by a decorator or an entry point.

A maker is a function with named parameters that returns a `Task`. Its signature is the list of
parameters, the first line of its docstring the summary. Packages add worlds through the entry-point
group "didact.worlds": the entry's name is the world's name, its object the maker.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from types import MappingProxyType
from typing import Any, TypeVar

from didact.errors import DidactWarning, InvalidModel, InvalidParameter
from didact.inputs import nearest_spelling, shown
from didact.mdp import Task

ENTRY_POINTS = "didact.worlds"
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)

Maker = TypeVar("Maker", bound=Callable[..., Task])


class _Required:
    """Stands where a parameter has no default."""

    def __repr__(self) -> str:
        return "required"


REQUIRED = _Required()


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


_known: dict[str, WorldInfo] = {}
_packages_seen: list[str] = []


def register_world(name: str) -> Callable[[Maker], Maker]:
    """Make the decorated function the maker of the world `name`; it stays an ordinary function.

    name: by which `make` and the command line know it. A name belongs to one function; defining
        that function again (a notebook cell run twice) replaces it.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidParameter(
            "a world's name must be lower-case words joined by '-', as 'my-grid'; "
            f"it is {shown(name)}"
        )

    def register(maker: Maker) -> Maker:
        earlier = _known.get(name)
        if earlier is not None and _origin(earlier.maker) != _origin(maker):
            raise InvalidParameter(
                f"the world {name!r} is already made by {'.'.join(_origin(earlier.maker))}; "
                "choose another name"
            )
        _known[name] = _describe(name, maker)
        return maker

    return register


def make(name: str, /, **parameters: Any) -> Task:
    """The task that the named world makes from these parameters.

    name: of a built-in world, one that was registered, or one of an installed package;
        `didact worlds` lists them.
    parameters: of that world, as `didact worlds` shows them with their defaults.
    """
    info = _find(name)
    if not info.open_ended:
        for parameter in parameters:
            if parameter not in info.parameters:
                raise InvalidParameter(
                    f"world {name!r} has no parameter {shown(parameter)}"
                    f"{nearest_spelling(parameter, info.parameters)}; "
                    f"it takes {', '.join(info.parameters) or 'none'}"
                )
    for parameter, default in info.parameters.items():
        if default is REQUIRED and parameter not in parameters:
            raise InvalidParameter(f"world {name!r} needs the parameter {parameter!r}; give it")
    task = info.maker(**parameters)
    if not isinstance(task, Task):
        raise InvalidModel(f"world {name!r} must return a Task; it returned {shown(task)}")
    return task


def worlds() -> Mapping[str, WorldInfo]:
    """Every world by name, in alphabetical order: the built-in, the registered, the installed."""
    _see_packages()
    return MappingProxyType(dict(sorted(_known.items())))


def _find(name: str) -> WorldInfo:
    if not isinstance(name, str) or name not in _known:
        _see_packages()
    if not isinstance(name, str) or name not in _known:
        raise InvalidParameter(
            f"no world is called {shown(name)}{nearest_spelling(name, _known)}; "
            f"there are {', '.join(sorted(_known))}"
        )
    return _known[name]


def _see_packages() -> None:
    """Register what installed packages offer, once; one that cannot be loaded is warned about."""
    if _packages_seen:
        return
    _packages_seen.append(ENTRY_POINTS)
    for entry in metadata.entry_points(group=ENTRY_POINTS):
        if entry.name in _known:
            continue
        try:
            register_world(entry.name)(entry.load())
        except Exception as error:
            warnings.warn(
                f"the world {entry.name!r} of {entry.value!r} is left out, because it cannot be "
                f"loaded: {type(error).__name__}: {error}",
                DidactWarning,
                stacklevel=4,
            )


def _origin(maker: Callable[..., Task]) -> tuple[str, str]:
    return getattr(maker, "__module__", "?"), getattr(maker, "__qualname__", repr(maker))


def _describe(name: str, maker: Callable[..., Task]) -> WorldInfo:
    if not callable(maker):
        raise InvalidParameter(f"the maker of {name!r} must be a function; it is {shown(maker)}")
    parameters: dict[str, Any] = {}
    open_ended = False
    for parameter in inspect.signature(maker).parameters.values():
        if parameter.kind in _NAMED:
            missing = parameter.default is inspect.Parameter.empty
            parameters[parameter.name] = REQUIRED if missing else parameter.default
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            open_ended = True
        else:
            raise InvalidParameter(
                f"the maker of {name!r} must take its parameters by name; "
                f"{parameter.name!r} cannot be given so"
            )
    lines = (inspect.getdoc(maker) or name).splitlines()
    return WorldInfo(name, lines[0], MappingProxyType(parameters), maker, open_ended)
