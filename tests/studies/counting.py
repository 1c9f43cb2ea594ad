"""A small study for tests, and a program that runs it: `python -m tests.studies.counting`.

Usage: python -m tests.studies.counting FOLDER JOBS|ADDRESS [NAME=VALUE ...]
"""

import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from didact.random import stream
from didact.studies import register_study, setting

NAME = "counting"
GATE = "COUNTING_GATE"
"""Where this variable names a file, the last trial waits until the file is there."""


@dataclass(frozen=True)
class Counting:
    """Draws numbers; some trials fail, kill their worker, or wait for a file."""

    trials: int = setting(24, source="test")
    seed: int = setting(0, source="test")
    pause: float = setting(0.0, source="test")
    failing: tuple[int, ...] = setting((-1,), source="test")
    deadly: tuple[int, ...] = setting((-1,), source="test")
    killed: tuple[int, ...] = setting((-1,), source="test")
    deadly_once: str = setting("", source="test")
    marks: str = setting("", source="test")


def count(settings: Counting, number: int) -> dict:
    """A record from the seed and the trial alone; with marks, a file for each attempt."""
    if settings.marks:
        place = Path(settings.marks) / f"{number}-{os.getpid()}-{time.monotonic_ns()}"
        place.touch()
    if number in settings.deadly:
        os._exit(3)
    if number in settings.killed:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(settings.pause)
    gate = os.environ.get(GATE)
    while gate and number == settings.trials - 1 and not Path(gate).exists():
        time.sleep(0.01)
    if number in settings.failing:
        raise ValueError(f"trial {number}\nnever works")
    if settings.deadly_once and number == 3 and not Path(settings.deadly_once).exists():
        Path(settings.deadly_once).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    draws = stream(settings.seed, NAME, number).normal(size=3)
    return {
        "draw": float(draws[0]),
        "pair": {"first": float(draws[1]), "even": number % 2 == 0},
        "seconds": {"pause": settings.pause},
    }


STUDY = register_study(NAME, Counting, trial=count)


def main() -> None:
    from didact.cli.options import read_settings
    from didact.report.reproduce import reproduce

    folder, where, *changes = sys.argv[1:]
    local = where.isdigit()
    made = reproduce(
        [NAME],
        out=folder,
        jobs=int(where) if local else None,
        cluster=None if local else where,
        changes=read_settings(changes),
    )
    print(len(made.reports[0].records), sorted(made.reports[0].failed))


if __name__ == "__main__":
    main()
