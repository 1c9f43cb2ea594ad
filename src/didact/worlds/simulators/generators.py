"""Random generators that an environment may draw from, watched and seeded.

Own ones are held by the environment object, wherever in its attributes, and copied with it. Shared
ones belong to its classes and modules or are the global ones of `random` and `numpy.random`; all
copies draw from the same. That a generator was drawn from shows in its state, also where the draw
changes nothing most of the time, so chance is found that comparing outcomes would miss.
"""

from __future__ import annotations

import random
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

KINDS = (np.random.Generator, np.random.RandomState, random.Random)
PLAIN = (str, bytes, int, float, complex, bool, type(None), type, types.ModuleType, np.ndarray)
"""Kinds that hold no generator, or that are looked into elsewhere."""
IDLE = ("spec", "metadata")
"""Attributes of environments that only describe them."""
MAX_LOOKED = 20_000
"""Objects that are looked into; a larger environment has generators that nobody sees."""
MAX_ENTRIES = 1_000
"""Entries of one container."""


class Source(NamedTuple):
    """A generator: its state, a way to put a state back, and one to seed it."""

    get: Callable[[], Any]
    put: Callable[[Any], Any]
    seed: Callable[[int], Any]


def source_of(generator: Any) -> Source:
    """Of a generator of NumPy or of Python."""
    if isinstance(generator, np.random.Generator):
        bits = generator.bit_generator

        def put(state: Any) -> None:
            bits.state = state

        def seed(number: int) -> None:
            bits.state = type(bits)(number).state

        return Source(lambda: bits.state, put, seed)
    if isinstance(generator, np.random.RandomState):
        return Source(
            lambda: generator.get_state(legacy=False),
            generator.set_state,
            lambda number: generator.seed(number % 2**32),
        )
    return Source(generator.getstate, generator.setstate, generator.seed)


GLOBAL = (
    Source(random.getstate, random.setstate, random.seed),
    Source(
        lambda: np.random.get_state(legacy=False),  # noqa: NPY002
        np.random.set_state,
        lambda number: np.random.seed(number % 2**32),  # noqa: NPY002
    ),
)


def own_sources(env: Any) -> list[Source]:
    """The generators that an object holds, in the order of its attributes."""
    return [source_of(found) for found in _held(env) if _has_state(found)]


def shared_sources(env: Any) -> list[Source]:
    """The global generators, and those of the object's classes, wrappers and modules."""
    seen = {id(own) for own in _held(env)}
    candidates = _held(env, in_functions=True)  # functions are not copied with what they close over
    for kind in _kinds_of(env):
        module = sys.modules.get(kind.__module__)
        of_module = [] if module is None else list(vars(module).values())
        candidates += [value for value in of_module if isinstance(value, KINDS)]
        candidates += _held([value for name, value in vars(kind).items() if name not in IDLE])
    found = []
    for generator in candidates:
        if id(generator) not in seen and _has_state(generator):
            seen.add(id(generator))
            found.append(source_of(generator))
    return [*GLOBAL, *found]


def marks_of(sources: Sequence[Source]) -> list[Any]:
    """The states of generators, to be compared with later ones."""
    return [_comparable(source.get()) for source in sources]


def states_of(sources: Sequence[Source]) -> list[Any]:
    """The states of generators, to be put back."""
    return [source.get() for source in sources]


def put_states(sources: Sequence[Source], states: Sequence[Any]) -> None:
    """Put generators back into states."""
    for source, state in zip(sources, states, strict=True):
        source.put(state)


@contextmanager
def unchanged(sources: Sequence[Source]) -> Iterator[None]:
    """Leave generators as they are, whatever is drawn meanwhile."""
    before = states_of(sources)
    try:
        yield
    finally:
        put_states(sources, before)


def seed_all(sources: Sequence[Source], number: int) -> None:
    """Seed generators, each with a number of its own."""
    for i, source in enumerate(sources):
        source.seed(int(np.random.SeedSequence([number, i]).generate_state(1)[0]))


def _held(env: Any, *, in_functions: bool = False) -> list[Any]:
    """Generators among an object's attributes and what they hold."""
    found: list[Any] = []
    seen: set[int] = set()
    left = [env]
    while left and len(seen) < MAX_LOOKED:
        here = left.pop()
        if isinstance(here, PLAIN) or id(here) in seen:
            continue
        seen.add(id(here))
        if isinstance(here, KINDS):
            found.append(here)
        elif in_functions or not isinstance(here, types.FunctionType):
            left.extend(_parts(here))
    return found


def _parts(here: Any) -> list[Any]:
    """What an object holds, last first."""
    if isinstance(here, dict):
        parts = list(here.values())
    elif isinstance(here, list | tuple):
        parts = list(here)
    elif isinstance(here, types.FunctionType):
        parts = [cell.cell_contents for cell in here.__closure__ or () if _is_filled(cell)]
    elif isinstance(here, types.MethodType):
        parts = [here.__self__, here.__func__]
    else:
        named = getattr(here, "__dict__", {})
        parts = [part for name, part in named.items() if name not in IDLE]
        kind: Any = type(here)
        parts += [getattr(here, name) for name in _slots(kind) if hasattr(here, name)]
    return parts[:MAX_ENTRIES][::-1]


@lru_cache(maxsize=1000)
def _slots(kind: type) -> list[str]:
    """Names of a class's slots; kept, because every copy of an environment is looked into."""
    given = [each.__dict__.get("__slots__", ()) for each in kind.__mro__]
    names = [name for each in given for name in ((each,) if isinstance(each, str) else each)]
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def _is_filled(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _kinds_of(env: Any) -> Iterator[type]:
    """The classes of an environment and of what it wraps, without those of Gymnasium itself."""
    seen = 0
    while env is not None and seen < 100:
        for kind in type(env).__mro__:
            if kind.__module__ not in ("builtins", "typing") and kind is not object:
                yield kind
        env, seen = vars(env).get("env") if hasattr(env, "__dict__") else None, seen + 1


def _has_state(generator: Any) -> bool:
    """Whether it is a generator with a state; `random.SystemRandom` has none."""
    try:
        source_of(generator).get()
    except NotImplementedError:
        return False
    return True


def _comparable(state: Any) -> Any:
    if isinstance(state, dict):
        return tuple((name, _comparable(value)) for name, value in state.items())
    return state.tobytes() if isinstance(state, np.ndarray) else state
