"""Run the trials of a study that are not done yet, and write each as it ends.

This process alone writes the store. A trial that raises is tried again, up to three times. When a
worker dies, nobody knows which of the trials in flight killed it: each is suspected and runs again
alone, after all others, where a death counts as its failure. So an innocent one finishes and a
guilty one is found. A worker that somebody killed says little about its trial, and counts little.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from didact.inputs import reason_of
from didact.studies.store import MOST_FAILURES, RunInfo, Store
from didact.studies.study import Study
from didact.studies.workers import Attempt, ClusterLost, Workers

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
    _Run(study, settings, store, workers, watch or _nobody).finish()


def _nobody(progress: Progress) -> None:
    """Nobody watches."""


def _error_of(future: Future[Attempt]) -> BaseException | None:
    """What a future that has ended raises, if anything."""
    return CancelledError() if future.cancelled() else future.exception()


class _Run:
    """A run as it goes: trials that wait, those suspected of killing workers, those in flight."""

    def __init__(
        self, study: Study, settings: Any, store: Store, workers: Workers, watch: Watch
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
        if self.store.add_failure(number, reason, details) < MOST_FAILURES:
            queue.append(number)
        else:
            self.n_failed += 1

    def tell(self) -> None:
        """Say how far the run is."""
        elapsed = time.monotonic() - self.clock
        to_come = self.total - self.n_done - self.n_failed
        left = elapsed / self.n_finished * to_come if self.n_finished else None
        self.watch(Progress(self.study.name, self.n_done, self.n_failed, self.total, elapsed, left))
