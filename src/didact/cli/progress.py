"""A sign of life on standard error while work goes on, only where a person watches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from didact.cli.printing import printable
from didact.stages import listening


@contextmanager
def waiting(what: str) -> Iterator[Callable[[str], None]]:
    """Show a spinner with the time spent; nothing where standard error is no terminal.

    Its words are followed by the stage of the work. It gives a function that changes them.
    """
    if not sys.stderr.isatty():
        yield lambda words: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(printable(what), total=None)

        def say(words: str) -> None:
            progress.update(task, description=printable(words))

        with listening(lambda words: say(f"{what}: {words}")):
            yield say
