"""Best time of repeated calls, and a table of them, printed row by row."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence


def best_time(
    work: Callable[[], object], *, at_least: float = 0.3, most: int = 2000, first: bool = False
) -> float:
    """The shortest of several runs, in seconds; the first run counts only where `first` says so."""
    if not first:
        work()
    best, spent, runs = float("inf"), 0.0, 0
    while runs == 0 or (spent < at_least and runs < most):
        began = time.perf_counter()
        work()
        took = time.perf_counter() - began
        best, spent, runs = min(best, took), spent + took, runs + 1
    return best


def readable(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.1e} s"


def print_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    print(f"\n## {title}\n")
    for line in (header, ["---"] * len(header)):
        print("| " + " | ".join(line) + " |")
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
