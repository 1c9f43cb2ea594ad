"""Stages of long work, in words, for whoever listens, and the time that it may take.

Work that is deep inside tells what it does now, and need not know who asked: a page, a terminal, or
nobody; nobody listens unless `listening` says so. In the same way it asks for the `deadline` that
`within` has set. Other threads are not heard, and have no deadline.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str], object]

_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


class Deadline:
    """When work must be done; by default never."""

    clock = staticmethod(time.monotonic)

    def __init__(self, seconds: float = math.inf):
        self.end = self.clock() + seconds

    @property
    def left(self) -> float:
        """Seconds that are left, below 0 afterwards."""
        return self.end - self.clock()

    @property
    def is_set(self) -> bool:
        """Whether there is one at all."""
        return math.isfinite(self.end)

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return self.is_set and self.left <= 0


_DEADLINE: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def deadline() -> Deadline:
    """By when the work that is done now must end."""
    return _DEADLINE.get() or Deadline()


@contextmanager
def within(seconds: float | None = None, *, share: float = 1.0) -> Iterator[Deadline]:
    """Give the work inside so many seconds, or a share of those that are left, and no more than the
    work around it has.

    >>> with within(60), within(share=0.5) as end:
    ...     29 < end.left <= 30
    True
    """
    before = deadline()
    ends = Deadline(share * before.left if seconds is None else seconds)
    ends.end = min(ends.end, before.end)
    token = _DEADLINE.set(ends)
    try:
        yield ends
    finally:
        _DEADLINE.reset(token)


@contextmanager
def unhurried() -> Iterator[None]:
    """Let the work inside take its time: what a result cannot do without."""
    token = _DEADLINE.set(None)
    try:
        yield
    finally:
        _DEADLINE.reset(token)


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


def listener() -> Listener:
    """Whoever listens now; nobody minds if nobody does."""
    return _LISTENER.get() or (lambda words: None)


def stage(words: str) -> None:
    """Tell what is done now."""
    listener()(words)


class Forecast(str):
    """A stage that says how much work is ahead; seconds: how long it will take."""

    seconds: float

    @classmethod
    def of(cls, words: str, seconds: float) -> Forecast:
        """The words of a forecast with its seconds behind them."""
        found = cls(f"forecast: {words}, {seconds:,.0f} s")
        found.seconds = seconds
        return found


def counting(words: str, after: str = "") -> Callable[[int, int], None] | None:
    """A function of two numbers that tells them in words with two {}; None where nobody listens."""
    if _LISTENER.get() is None:
        return None
    return lambda first, second: stage(words.format(first, second) + after)
