"""Fields of frozen types that are found when they are first asked for."""

from __future__ import annotations

from typing import Any


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
