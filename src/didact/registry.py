"""Things by name: the built-in, the registered, and those that installed packages add.

Worlds, teachers, learners, strategies and studies are all found here, by the same rules. A built-in
may be a text "module:name" that is loaded when it is first asked for, and keeps its name for good.
Packages add things through an entry-point group; they are looked up once, when a name is not known
or all names are asked for, and one that cannot be loaded is warned about and left out. The options
of a thing are the parameters of its function, so that a wrong one is told before it is run.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib import import_module, metadata
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from didact.errors import DidactError, DidactWarning, InvalidParameter
from didact.inputs import FAILURES, in_one_line, nearest_spelling, own_code, reason_of, shown

Thing = TypeVar("Thing")
Function = TypeVar("Function", bound=Callable[..., Any])
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class _Required:
    """Stands where an option has no default."""

    def __repr__(self) -> str:
        return "required"


REQUIRED = _Required()


@dataclass(frozen=True)
class Options:
    """What a function takes by name, with the defaults; `REQUIRED` where there is none.

    open_ended: it takes others too. unnamed: parameters that cannot be given by name.
    """

    defaults: Mapping[str, Any]
    open_ended: bool = False
    unnamed: tuple[str, ...] = ()


def options_of(function: Callable[..., Any], *, after: int = 0) -> Options:
    """The options of a function: its parameters after the first few, which are didact's."""
    try:
        parameters = list(inspect.signature(function).parameters.values())[after:]
    except (TypeError, ValueError):
        return Options(MappingProxyType({}), open_ended=True)
    defaults, unnamed, open_ended = {}, [], False
    for parameter in parameters:
        if parameter.kind in _BY_NAME:
            missing = parameter.default is inspect.Parameter.empty
            defaults[parameter.name] = REQUIRED if missing else parameter.default
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            open_ended = True
        else:
            unnamed.append(parameter.name)
    return Options(MappingProxyType(defaults), open_ended, tuple(unnamed))


def passing_on(other: Callable[..., Any]) -> Callable[[Function], Function]:
    """Decorates a function that hands its `**options` to another: its signature names them all.

    other: a function or class; what it takes by name, in its order, takes the place of `**options`.
    """
    named = [p for p in inspect.signature(other).parameters.values() if p.kind in _BY_NAME]

    def name_them(function: Function) -> Function:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        passed = [p.replace(kind=p.KEYWORD_ONLY) for p in named]
        function.__signature__ = signature.replace(parameters=[*own, *passed])  # type: ignore[attr-defined]
        return function

    return name_them


class Registry(Generic[Thing]):
    """The things of one kind by name.

    kind: what one is called in messages, as "teacher". group: the entry points of packages.
    built_in: things, or texts "module:name", by name. accept(name, given): what is kept of a thing,
    or a refusal; by default any function as it is. options(thing): what it takes by name; by
    default all parameters but two. option: what one of them is called. also: names that stand for
    several things, for messages. shared: options of the verb, which every thing of the kind takes.
    """

    def __init__(
        self,
        kind: str,
        group: str,
        built_in: Mapping[str, Any],
        *,
        accept: Callable[[str, Any], Thing] | None = None,
        options: Callable[[Any], Options] | None = None,
        option: str = "option",
        also: Sequence[str] = (),
        shared: Sequence[str] = (),
    ):
        self.kind, self.group, self.option = kind, group, option
        self.built_in = dict(built_in)
        self.also, self.shared = also, tuple(shared)
        self._accept = accept or self._as_function
        self._options = options or partial(options_of, after=2)
        self._loaded: dict[str, Thing] = {}
        self._added: dict[str, Thing] = {}
        self._given: dict[str, Any] = {}
        self._packages_seen = False
        self._known_options: dict[str, Options] = {}

    def decorator(self, name: str) -> Callable[[Function], Function]:
        """What registers a function under a name, and gives it back as it is."""
        self.require_free(name)

        def register(function: Function) -> Function:
            self.register(name, function)
            return function

        return register

    def register(self, name: str, given: Any) -> None:
        """Keep a thing under a name; the same name again replaces it, a built-in one is refused."""
        self.require_free(name)
        self._added[name] = self._accept(name, given)
        self._given[name] = given
        self._known_options.pop(name, None)

    def require_free(self, name: str) -> None:
        """Refuse what is no name, or the name of a built-in thing."""
        if not isinstance(name, str) or not name:
            raise InvalidParameter(f"a {self.kind}'s name must be text; it is {shown(name)}")
        if name in self.built_in:
            raise InvalidParameter(f"the {self.kind} {name!r} is built in; choose another name")

    def given(self) -> dict[str, Any]:
        """What was registered in this process, by name, as it was given."""
        return dict(self._given)

    def registered(self, name: str) -> Thing | None:
        """What was added under a name so far; None where nothing was."""
        return self._added.get(name)

    def find(self, name: str, given: Iterable[str] | None = None) -> Thing:
        """The thing of that name, loaded; an unknown name is told with its nearest spelling.

        given: the names of the options for it, where they are to be checked.
        """
        name = self.name_of(name)
        found = self._added[name] if name in self._added else self._load(name)
        if given is not None:
            self._require_options(name, self._options_of(name, found), tuple(given))
        return found

    def name_of(self, name: str) -> str:
        """The name as it is registered: 'BIO_IRL' is 'bio-irl'; refused where there is none."""
        if not self._has(name):
            self._see_packages()
        if self._has(name):
            return name
        known = (*self.names(), *self.also)
        if isinstance(name, str):
            plain = name.casefold().replace("_", "-").replace(" ", "-")
            same = [other for other in self.names() if other.casefold() == plain]
            if len(same) == 1:
                return same[0]
        raise InvalidParameter(
            f"no {self.kind} is called {shown(name)}{nearest_spelling(name, known)}; "
            f"there are {', '.join(known)}"
        )

    def names(self) -> tuple[str, ...]:
        """Every name: the built-in ones in their order, then the others as they were added."""
        self._see_packages()
        return (*self.built_in, *self._added)

    def everything(self) -> Mapping[str, Thing]:
        """Every thing by name, loaded."""
        return MappingProxyType({name: self.find(name) for name in self.names()})

    def options(self, name: str) -> Options:
        """What the thing of that name takes by name."""
        return self._options_of(name, self.find(name))

    def running(self, name: str) -> AbstractContextManager[None]:
        """Tell the failure of a thing in one line; that of a built-in one is a bug and stays."""
        return nullcontext() if name in self.built_in else own_code(f"{self.kind} {name!r}")

    def _options_of(self, name: str, found: Thing) -> Options:
        """What a thing takes, looked at once: reading a signature takes longer than many calls."""
        if name not in self._known_options:
            self._known_options[name] = self._options(found)
        return self._known_options[name]

    def _has(self, name: Any) -> bool:
        return isinstance(name, str) and (name in self._added or name in self.built_in)

    def _require_options(self, name: str, options: Options, given: tuple[str, ...]) -> None:
        """Refuse options that the thing of that name does not take, or the lack of one it needs."""
        for option in given:
            if option not in options.defaults and not options.open_ended:
                raise InvalidParameter(
                    f"{self.kind} {name!r} has no {self.option} {shown(option)}"
                    f"{nearest_spelling(option, (*options.defaults, *self.shared))}; "
                    f"it takes {', '.join(options.defaults) or 'none'}"
                )
        for option, default in options.defaults.items():
            if default is REQUIRED and option not in given:
                raise InvalidParameter(
                    f"{self.kind} {name!r} needs the {self.option} {option!r}; give it"
                )

    def _load(self, name: str) -> Thing:
        if name not in self._loaded:
            found = self.built_in[name]
            if isinstance(found, str):
                module, _, thing = found.partition(":")
                found = getattr(import_module(module), thing)
            self._loaded[name] = self._accept(name, found)
        return self._loaded[name]

    def _see_packages(self) -> None:
        """Add what installed packages offer, once; names that are taken stay what they are."""
        if self._packages_seen:
            return
        self._packages_seen = True
        for entry in metadata.entry_points(group=self.group):
            if self._has(entry.name):
                continue
            try:
                self.register(entry.name, entry.load())
            except FAILURES as error:
                own = isinstance(error, DidactError)
                warnings.warn(
                    f"the {self.kind} {entry.name!r} of {entry.value!r} is left out, because it "
                    f"cannot be loaded: {in_one_line(error) if own else reason_of(error)}",
                    DidactWarning,
                    stacklevel=4,
                )

    def _as_function(self, name: str, given: Any) -> Any:
        if not callable(given):
            raise InvalidParameter(
                f"the {self.kind} {name!r} must be a function; it is {shown(given)}"
            )
        return given
