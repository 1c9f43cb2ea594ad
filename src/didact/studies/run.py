"""Run the trials of a study that are not done yet, and write each as it ends.

This process alone writes the store. A trial that raises is tried again, up to three times. When a
worker dies, nobody knows which of the trials in flight killed it: each is suspected and runs again
alone, after all others, where a death counts as its failure. So an innocent one finishes and a
guilty one is found. A worker that somebody killed says little about its trial, and counts little.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from didact.errors import DidactError
from didact.inputs import FAILURES, flag, instance, reason_of
from didact.studies.store import MAX_FAILURES, RunInfo, Store
from didact.studies.study import Record, Study, find_study, with_changes
from didact.studies.summary import Summary
from didact.studies.workers import Attempt, ClusterLost, Workers, workers_of

LOOK = 5.0
"""Seconds after which a wait looks whether the workers are still there."""
KILLS = 7
"""So many times may a trial alone lose its worker to somebody before that counts as a failure."""


@dataclass(frozen=True)
class Progress:
    """How far a run is: trials done and failed of all, seconds gone and about to come."""

    study: str
    done: int
    failed: int
    total: int
    elapsed: float
    left: float | None


Watch = Callable[[Progress], None]

SPEAKS = 10.0
"""Seconds between two lines of progress where standard error is not a terminal."""


@dataclass(frozen=True, eq=False)
class StudyRun:
    """What a study came to.

    study: that was run.
    settings: that it was run with.
    records: of its trials, by number.
    failed: trials that failed three times, with the reason.
    summary: tables, figures and findings; None where no trial succeeded.
    """

    study: Study
    settings: Any
    records: Mapping[int, Record]
    failed: Mapping[int, str]
    summary: Summary | None

    def __repr__(self) -> str:
        total = self.study.n_trials(self.settings)
        return f"StudyRun({self.study.name!r}: {len(self.records)} of {total} trials)"


def run_study(
    study: str | Study,
    *,
    quick: bool = False,
    jobs: int | None = None,
    cluster: str | None = None,
    store: str | os.PathLike[str] | None = None,
    retry: bool = False,
    progress: bool = True,
    **settings: Any,
) -> StudyRun:
    """Run a study and sum it up; `didact reproduce` also writes tables, figures and a page.

    study: its name, as 'table1', or what `register_study` returned.
    quick: the small settings.
    jobs: how many processes run trials; by default one for each processor.
    cluster: the address of a Dask scheduler, instead of processes.
    store: a file (.sqlite) that keeps every trial as it ends; the same call goes on from there. By
        default nothing is kept.
    retry: try again what failed three times.
    progress: tell on standard error how many trials are done; a line that is written anew in a
        terminal, else a line every 10 seconds.
    settings: other values for settings of the study, as `trials=5`.
    """
    found = find_study(study) if isinstance(study, str) else instance(study, Study, "study")
    chosen = with_changes(found.chosen_settings(quick=flag(quick, "quick")), settings)
    again = flag(retry, "retry")
    watch = _Speaker() if flag(progress, "progress") else None
    with TemporaryDirectory(prefix="didact-") as folder:
        path = Path(folder, f"{found.name}.sqlite") if store is None else store
        with Store(path, found, chosen) as kept:
            at_once = True
            workers = workers_of(jobs, cluster, found.n_trials(chosen))
            try:
                run_trials(found, chosen, kept, workers, watch=watch, retry=again)
                at_once = False
            finally:
                workers.stop(at_once=at_once)
                if watch is not None:
                    watch.end()
            records, failed = kept.records(), kept.quarantined()
    summary = summary_of(found, chosen, list(records.values())) if records else None
    return StudyRun(found, chosen, records, failed, summary)


def summary_of(study: Study, settings: Any, records: Sequence[Record]) -> Summary:
    """What records come to; a study that cannot sum them up is told in one line."""
    try:
        summary: Summary = study.summarise(settings, records)
    except FAILURES as error:
        raise DidactError(
            f"{study.name}: {len(records)} trials ended, but cannot be summed up: "
            f"{reason_of(error, 300)}"
        ) from error
    return summary


def progress_words(progress: Progress) -> str:
    """'table1: 5 of 20 trials, 1 failed, about 2:10 left'."""
    failed = f", {progress.failed} failed" if progress.failed else ""
    left = ""
    if progress.left is not None:
        minutes, seconds = divmod(round(progress.left), 60)
        left = f", about {minutes}:{seconds:02} left"
    return f"{progress.study}: {progress.done} of {progress.total} trials{failed}{left}"


class _Speaker:
    """Progress as lines on standard error; in a terminal one line that is written anew."""

    def __init__(self) -> None:
        self._spoke, self._is_open = time.monotonic(), False

    def __call__(self, progress: Progress) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{progress_words(progress)}")
            self._is_open = True
        elif time.monotonic() - self._spoke >= SPEAKS:
            self._spoke = time.monotonic()
            sys.stderr.write(f"{progress_words(progress)}\n")
        sys.stderr.flush()

    def end(self) -> None:
        """Remove the line of a terminal."""
        if self._is_open:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def run_trials(
    study: Study,
    settings: Any,
    store: Store,
    workers: Workers,
    *,
    watch: Watch | None = None,
    retry: bool = False,
) -> None:
    """Run every trial that the store does not have; return when all are done or quarantined.

    retry: give quarantined trials three more attempts.
    """
    if retry:
        store.forgive()
    _Run(study, settings, store, workers, watch).finish()


def _error_of(future: Future[Attempt]) -> BaseException | None:
    """What a future that has ended raises, if anything."""
    return CancelledError() if future.cancelled() else future.exception()


class _Run:
    """A run as it goes: trials that wait, those suspected of killing workers, those in flight."""

    def __init__(
        self, study: Study, settings: Any, store: Store, workers: Workers, watch: Watch | None
    ) -> None:
        self.study, self.settings, self.store = study, settings, store
        self.workers, self.watch = workers, watch
        self.total = study.n_trials(settings)
        done, left_out = store.numbers(), store.quarantined()
        self.n_done, self.n_failed = len(done), len(left_out)
        self.waiting = deque(n for n in range(self.total) if n not in done and n not in left_out)
        self.suspects: deque[int] = deque()
        self.kills: Counter[int] = Counter()
        self.flying: dict[Future[Attempt], int] = {}
        self.is_alone = False
        self.n_finished, self.busy, self.clock = 0, 0.0, time.monotonic()

    def finish(self) -> None:
        """Run until nothing waits and nothing flies."""
        self.tell()
        if not self.waiting:
            return
        began, size = datetime.now(UTC).isoformat(timespec="seconds"), self.workers.size()
        try:
            while self.waiting or self.suspects or self.flying:
                self.launch()
                self.gather()
                size = max(size, self.workers.size())
        except ClusterLost as error:
            raise ClusterLost(
                f"{error}; {self.n_done} of {self.total} trials are kept, and the same command "
                "goes on from there"
            ) from None
        finally:
            wall = time.monotonic() - self.clock
            info = RunInfo(began, size, self.workers.place, self.n_finished, wall, self.busy)
            self.store.add_run(info)

    def launch(self) -> None:
        """Keep the workers busy; suspects come last, and each flies alone."""
        while self.waiting or self.suspects:
            if self.is_alone or (self.flying and not self.waiting):
                return
            if len(self.flying) >= self.workers.slots():
                return
            self.is_alone = not self.waiting
            number = (self.waiting or self.suspects).popleft()
            future = self.workers.submit(
                self.study.trial, self.settings, number, is_alone=self.is_alone
            )
            self.flying[future] = number

    def gather(self) -> None:
        """Take in what has ended; now and then see whether the workers are still there."""
        ended, _ = wait(self.flying, timeout=LOOK, return_when=FIRST_COMPLETED)
        if not ended:
            self.workers.check()
        elif any(isinstance(_error_of(future), BrokenExecutor) for future in ended):
            ended, _ = wait(self.flying)  # the pool is broken, and all end at once
        in_company = len(self.flying) > 1
        for future in ended:
            self.take_in(self.flying.pop(future), future, in_company)
        self.is_alone = self.is_alone and bool(self.flying)
        if ended:
            self.tell()

    def take_in(self, number: int, future: Future[Attempt], in_company: bool) -> None:
        """Write what became of a trial; in company: others were in flight when it ended."""
        error = _error_of(future)
        if isinstance(error, CancelledError):
            raise ClusterLost("the scheduler went away")
        if error is None:
            self.write(number, future.result())
        elif not self.workers.is_death(error):
            self.fail(number, reason_of(error, 300), repr(error), self.waiting)
        elif in_company or self.is_forgiven(number, error):
            self.suspects.append(number)
        else:
            self.fail(number, "its worker died", str(error), self.suspects)

    def is_forgiven(self, number: int, error: BaseException) -> bool:
        """Whether a death is not held against the trial: its worker was killed, not too often."""
        if not self.workers.was_killed(error):
            return False
        self.kills[number] += 1
        return self.kills[number] % KILLS != 0

    def write(self, number: int, found: Attempt) -> None:
        """Write a record, or that there is none."""
        self.busy += found.took
        if found.record is None:
            self.fail(number, found.reason, found.details, self.waiting)
        else:
            self.store.add(number, found.record, found.seconds)
            self.n_done += 1
            self.n_finished += 1

    def fail(self, number: int, reason: str, details: str, queue: deque[int]) -> None:
        """Count a failure; the trial waits in the queue for another attempt, unless it was one
        too many."""
        if self.store.add_failure(number, reason, details) < MAX_FAILURES:
            queue.append(number)
        else:
            self.n_failed += 1

    def tell(self) -> None:
        """Say how far the run is, if somebody watches."""
        if self.watch is None:
            return
        elapsed = time.monotonic() - self.clock
        to_come = self.total - self.n_done - self.n_failed
        left = elapsed / self.n_finished * to_come if self.n_finished else None
        self.watch(Progress(self.study.name, self.n_done, self.n_failed, self.total, elapsed, left))
