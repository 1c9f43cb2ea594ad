"""How many of didact's modules a reader walks through who follows one call from begin to end.

Counted are the source files of which some function runs during the call; it is made once before, so
that what imports and caches do the first time does not count. `-v` names them too.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import didact
from benchmarks.timing import print_table
from didact.cli import main

ROOT = os.path.dirname(didact.__file__) + os.sep


def touched(work: Callable[[], object]) -> list[str]:
    """The files of didact of which a function runs during the second call of `work`."""
    work()
    found: set[str] = set()

    def see(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(ROOT):
            found.add(name.removeprefix(ROOT))

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(before)
    return sorted(found)


def teach_on_the_command_line() -> None:
    """`didact teach random-grid` in this process."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main(["teach", "random-grid"])


def report() -> None:
    task = didact.make("random-grid", size=9, seed=0)
    lesson = didact.teach(task)
    calls: list[tuple[str, Callable[[], object], int]] = [
        ("didact.teach(task)", lambda: didact.teach(task), 30),
        ("didact.learn(task, lesson)", lambda: didact.learn(task, lesson, seed=0), 30),
        ("didact teach random-grid", teach_on_the_command_line, 50),
    ]
    rows = []
    for name, work, wanted in calls:
        files = touched(work)
        rows.append([name, str(len(files)), str(wanted)])
        if "-v" in sys.argv:
            print(name, *files, sep="\n  ")
    print_table("Modules that one call runs through", ["call", "modules", "wanted"], rows)


if __name__ == "__main__":
    report()
