"""Stages of long work, in words, for whoever listens; nobody does unless `listening` says so.

Work that is deep inside tells what it does now, and need not know who asked: a page, a terminal, or
nobody. Other threads are not heard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str], object]

_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(tell: Listener) -> Iterator[None]:
    """Have every stage told to a function inside.

    >>> with listening(print):
    ...     stage("solving")
    solving
    """
    before = _LISTENER.set(tell)
    try:
        yield
    finally:
        _LISTENER.reset(before)


def stage(words: str) -> None:
    """Tell what is done now."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(words)


def counting(words: str, after: str = "") -> Callable[[int, int], None] | None:
    """A function of two numbers that tells them in words with two {}; None where nobody listens."""
    if _LISTENER.get() is None:
        return None
    return lambda first, second: stage(words.format(first, second) + after)
