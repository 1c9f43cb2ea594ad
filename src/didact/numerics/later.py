"""Fields of frozen types that are found when they are first asked for."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any, TypeVar

Instance = TypeVar("Instance")


class Later:
    """A field whose value may be given as a function, which is called when it is first asked for.

    Proofs of families are long, and few look at the rank of a class: only who does waits for it.
    """

    def __init__(self, name: str):
        self.place = f"_{name}_or_how"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        value = instance.__dict__[self.place]
        if callable(value):
            value = instance.__dict__[self.place] = value()
        return value

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self.place] = value

    def is_given(self, instance: Any) -> bool:
        """Whether there is a value, or a function that finds it; the function is not called."""
        return instance.__dict__[self.place] is not None


def changed(instance: Instance, **fields: Any) -> Instance:
    """A copy of a frozen instance with other values of some fields.

    `dataclasses.replace` reads every field, so that all that was to be found later is found now;
    here it stays to be found. Cached properties are forgotten: they may depend on the fields.
    """
    other = copy.copy(instance)
    for name in list(vars(other)):
        if isinstance(getattr(type(other), name, None), cached_property):
            del vars(other)[name]
    for name, value in fields.items():
        object.__setattr__(other, name, value)
    return other
