"""Several chains at once: each in a thread while compiled kernels run, progress told from here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

from didact.errors import InvalidParameter
from didact.inputs import shown, whole_number
from didact.stages import counting

Progress = Callable[[int, int], object]
Run = Iterator[int]
"""A chain on its way: yields how many steps it has taken since it last did."""

GLANCE = 0.05
"""Seconds between two reports of progress."""
STEPS = "learning: {:,} of {:,} steps"


def run_all(
    phases: Iterable[Sequence[Run]],
    n_steps: int,
    *,
    threads: int,
    progress: Progress | None,
    say: Callable[[], str] | None = None,
) -> None:
    """Exhaust all runs of one phase after the other; the next one is asked for when one has ended.

    progress(done, total) is called from this thread, total = n_steps; where it has a method `say`,
    that is called with what `say` tells after each phase. An interruption, or an error in one of
    them, stops the others at their next block.
    """
    done, count = 0, counting(STEPS)
    speak = getattr(progress, "say", None)

    def tell(taken: int) -> None:
        for listener in (progress, count):
            if listener is not None:
                listener(min(done + taken, n_steps), n_steps)

    for runs in phases:
        words = "" if say is None else say()
        count = counting(STEPS, f"; {words}" if words else "")
        if speak is not None and say is not None:
            speak(words)
        if threads == 1 or len(runs) == 1:
            done += _run_in_turn(runs, tell)
        else:
            done += _run_in_threads(runs, threads, tell)
    if progress is not None:
        progress(n_steps, n_steps)


def _run_in_turn(runs: Sequence[Run], tell: Callable[[int], None]) -> int:
    total = 0
    for run in runs:
        for taken in run:
            total += taken
            tell(total)
    return total


def _run_in_threads(runs: Sequence[Run], threads: int, tell: Callable[[int], None]) -> int:
    taken = [0] * len(runs)
    stop: list[bool] = []

    def exhaust(number: int) -> None:
        for steps in runs[number]:
            taken[number] += steps
            if stop:
                return

    with ThreadPoolExecutor(min(threads, len(runs))) as pool:
        left: set[Future[None]] = {pool.submit(exhaust, number) for number in range(len(runs))}
        try:
            while left:
                finished, left = wait(left, timeout=GLANCE)
                for future in finished:
                    future.result()
                tell(sum(taken))
        except BaseException:
            stop.append(True)
            for future in left:
                future.cancel()
            raise
    return sum(taken)


def as_threads(given: Any, n_chains: int) -> int:
    """How many threads to use: as given, else one for each processor that this process may use."""
    if given is None:
        free = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        return max(1, min(n_chains, free or 1))
    return min(whole_number(given, "threads", 1), n_chains)


class ShownBar:
    """A task of a progress bar: told by numbers, and in words after its name."""

    def __init__(self, bar: Any, what: str):
        self.bar, self.what = bar, what
        self.number = bar.add_task(what, total=None)

    def __call__(self, done: int, total: int) -> None:
        """So much is done of so much."""
        self.bar.update(self.number, completed=done, total=total)

    def say(self, words: str) -> None:
        """Write words after the name."""
        self.bar.update(self.number, description=f"{self.what}: {words}" if words else self.what)


@contextmanager
def told(progress: Any, what: str) -> Iterator[Progress | None]:
    """A function (done, total): the given one, a bar on standard error for True, or none."""
    if progress is None or progress is False:
        yield None
    elif progress is True:
        from rich.console import Console
        from rich.progress import Progress as Bar

        with Bar(console=Console(stderr=True), transient=True) as bar:
            yield ShownBar(bar, what)
    elif callable(progress):
        yield progress
    else:
        raise InvalidParameter(
            f"progress must be None, True or a function (done, total); it is {shown(progress)}"
        )
