"""`didact reproduce`: the paper's tables and figures."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from didact.cli import options, printing

if TYPE_CHECKING:
    from didact.report.reproduce import Reproduced
    from didact.studies.run import Progress

EVERY = 10.0
"""Seconds between two lines of progress where no terminal shows a bar."""


HOLDS = "holds"
MAX_FAILED = 2
"""Failed trials of a study that are told one by one, unless all are asked for."""


@click.command("reproduce")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--quick", is_flag=True, help="Small settings: a minute or two.")
@click.option("--jobs", type=options.Whole(1), help="Local processes; by default one per core.")
@click.option(
    "--cluster", metavar="ADDRESS", help="Run on a Dask scheduler, as tcp://10.0.0.1:8786."
)
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="The folder for results; by default reproduction, or reproduction-quick.",
)
@click.option("--seed", type=options.Whole(0), help="Another seed than 0.")
@options.texts(
    "-s",
    "--setting",
    "settings",
    help="Another value for a setting, as trials=5; may be given again.",
)
@click.option("--retry", is_flag=True, help="Try trials again that failed three times.")
@options.output()
def command(
    names: tuple[str, ...],
    seed: int | None,
    settings: tuple[str, ...],
    output: printing.Output,
    **given: Any,
) -> int:
    """Run the paper's experiments: NAME is a study, or all of the paper's.

    Studies: example, table1, features, uvm-failure, active, chain, balls; and beyond the paper
    families, exams, frontier. A run that was stopped goes on where it was when the same command is
    given again. Exit code 0: every trial is there; 3: some failed three times and were left out.
    """
    from didact.report.reproduce import reproduce

    if given["cluster"] is not None:
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
    changes = options.with_seed(options.read_settings(settings), seed)
    bar = _Bar()
    try:
        made = reproduce(
            names,
            changes=changes,
            command=_told(names, {**given, "seed": seed}, settings),
            watch=lambda study: bar.show,
            **given,
        )
    except KeyboardInterrupt:
        bar.close()
        printing.print_note(bar.interrupted())
        return printing.INTERRUPTED
    finally:
        bar.close()
    if output.as_json:
        printing.print_json(made.document())
    else:
        _print(made, details=output.details)
    return printing.exit_code(made.is_complete)


def _told(names: tuple[str, ...], given: Mapping[str, Any], settings: tuple[str, ...]) -> str:
    """The command as a reader would type it, without the folder."""
    parts = ["didact", "reproduce", *names, *(["--quick"] if given["quick"] else [])]
    for name in ("jobs", "cluster", "seed"):
        parts += [] if given[name] is None else [f"--{name}", str(given[name])]
    for setting in settings:
        parts += ["-s", setting]
    return " ".join(parts)


def _print(made: Reproduced, *, details: bool) -> None:
    """For each study its trials, and the claims of the paper: how many hold, and which do not."""
    from didact.report.studies import runs_line
    from didact.report.words import Listing

    lines = []
    alone = len(made.reports) == 1
    for report in made.reports:
        held = [found for found in report.findings if found.verdict == HOLDS]
        title = report.study.title or report.study.name
        claims = f"{len(held)} of {len(report.findings)} claims hold; " if report.findings else ""
        trials = f"{len(report.records)} of {report.total} trials; "
        lines += [title, f"  {trials}{claims}{runs_line(report)}"]
        for found in report.findings:
            evidence = f" ({found.evidence})" if details else ""
            if details or alone or found.verdict != HOLDS:
                lines.append(f"  {found.verdict}: {found.claim.words}{evidence}")
        failed = tuple(
            f"  trial {number} failed three times: {reason}"
            for number, reason in sorted(report.failed.items())
        )
        lines += Listing("", failed, MAX_FAILED, "failed trial").shown(all_of_it=details)
    lines += [f"  {note}" for note in (*made.broken, *made.notes)]
    lines += [] if details else ["--details: the evidence for each claim"]
    printing.print_result(lines)
    printing.print_line(f"Tables, figures and records: {made.folder / 'index.html'}")


class _Bar:
    """Progress on standard error: a bar in a terminal, else a line now and then."""

    def __init__(self) -> None:
        self.last: Progress | None = None
        self._spoke = time.monotonic()
        self._shown = ExitStack()
        self._bar: Any = None
        self._task: Any = None

    def show(self, progress: Progress) -> None:
        """Show how far a study is."""
        from didact.studies.run import progress_words

        is_new = self.last is None or self.last.study != progress.study
        self.last = progress
        if sys.stderr.isatty():
            self._draw(progress, progress_words(progress), is_new)
        elif time.monotonic() - self._spoke >= EVERY:
            self._spoke = time.monotonic()
            printing.print_note(progress_words(progress))

    def _draw(self, progress: Progress, words: str, is_new: bool) -> None:
        if self._bar is None:
            columns = printing.progress_bar("Text", "Bar", "TimeElapsed")
            self._bar = self._shown.enter_context(columns)
        if is_new:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task("", total=progress.total)
        done = progress.done + progress.failed
        self._bar.update(self._task, description=printing.printable(words), completed=done)

    def interrupted(self) -> str:
        """How far the study was, and how to go on."""
        last = self.last
        kept = "" if last is None else f": {last.study} has {last.done} of {last.total} trials"
        return f"interrupted{kept}; the same command goes on from there"

    def close(self) -> None:
        """Take the bar away."""
        self._shown.close()
