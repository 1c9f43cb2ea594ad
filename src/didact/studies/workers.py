"""Where trials run: local processes by default, or the workers of a Dask scheduler.

Both are executors in the sense of `concurrent.futures`. Workers compute and return; they never
write the store.
"""

from __future__ import annotations

import os
import re
from concurrent.futures import BrokenExecutor, Future
from contextlib import suppress
from typing import Any, Protocol

from didact.errors import DidactError, InvalidParameter
from didact.inputs import whole_number
from didact.numerics.threads import (
    ONE_THREAD,
    begin_worker,
    outside_this_folder,
    without_interrupts,
)
from didact.studies.attempts import Attempt, attempt
from didact.studies.cluster import ClusterWorkers
from didact.studies.study import Trial

IDLE = 3600.0
"""Seconds that a local worker waits for work before it ends."""


class Workers(Protocol):
    """What the engine needs: a place for trials, and how many may run at once."""

    place: str

    def size(self) -> int:
        """How many trials can run at once now."""

    def slots(self) -> int:
        """How many trials may be handed over at once."""

    def submit(
        self, trial: Trial, settings: Any, number: int, *, is_alone: bool
    ) -> Future[Attempt]:
        """Start a trial; what its future raises when a worker dies, is_death knows.

        is_alone: no other runs until it has ended.
        """

    def is_death(self, error: BaseException | None) -> bool:
        """Whether an error says that a worker died."""

    def was_killed(self, error: BaseException) -> bool:
        """Whether a worker died because somebody killed it, and not by what it did."""

    def check(self) -> None:
        """Raise ClusterLost when nothing can come any more."""

    def stop(self, *, at_once: bool) -> None:
        """End the workers; at once: without waiting for what they do."""


class LocalWorkers:
    """Processes on this machine (joblib's loky), each with one thread."""

    place = "local processes"

    def __init__(self, jobs: int | None = None, most: int | None = None) -> None:
        from joblib import cpu_count

        wanted = int(cpu_count()) if jobs is None else whole_number(jobs, "jobs", 1)
        self._jobs = wanted if most is None else min(wanted, most)
        self._started = 0
        self._executor: Any = None
        self._out_of_memory = _n_out_of_memory()

    def size(self) -> int:
        """The number of processes."""
        return self._jobs

    def slots(self) -> int:
        """One trial for each process, so that it is known which ones run."""
        return self._jobs

    def submit(
        self, trial: Trial, settings: Any, number: int, *, is_alone: bool
    ) -> Future[Attempt]:
        """Start a trial; when a process has died, all are replaced first, or one for one alone."""
        for _ in range(3):
            try:
                pool = self._pool(1 if is_alone else self._jobs)
                with without_interrupts(
                    by_loky=True
                ):  # a pool starts its processes with its first trial
                    future: Future[Attempt] = pool.submit(attempt, trial, settings, number)
                return future
            except (BrokenExecutor, RuntimeError, OSError):
                self.stop(at_once=True)
        raise DidactError("worker processes cannot be started; try fewer --jobs")

    def _pool(self, least: int) -> Any:
        """At least so many processes; all of a pool begin with its first trial."""
        if self._started < least:
            self.stop(at_once=False)
        if self._executor is None:
            from joblib.externals.loky import ProcessPoolExecutor

            self._started = least
            with outside_this_folder():  # a pool starts a process that looks after its semaphores
                self._executor = ProcessPoolExecutor(
                    least,
                    timeout=IDLE,
                    initializer=begin_worker,
                    initargs=(os.getpid(),),
                    env=ONE_THREAD,
                )
        return self._executor

    def is_death(self, error: BaseException | None) -> bool:
        """The pool breaks as a whole."""
        return isinstance(error, BrokenExecutor)

    def was_killed(self, error: BaseException) -> bool:
        """All that died got SIGKILL, and not from a system that had run out of memory."""
        before, self._out_of_memory = self._out_of_memory, _n_out_of_memory()
        ends = re.findall(r"\w+\(-?\d+\)", str(error))
        killed = bool(ends) and all(end.startswith("SIGKILL(") for end in ends)
        return killed and self._out_of_memory == before

    def check(self) -> None:
        """Local processes do not go away unnoticed."""

    def stop(self, *, at_once: bool) -> None:
        """End the processes."""
        executor, self._executor = self._executor, None
        self._started = 0
        if executor is not None:
            executor.shutdown(wait=True, kill_workers=at_once)


def _n_out_of_memory() -> int | None:
    """How many processes the system has killed so far for want of memory, where it tells."""
    with suppress(OSError), open("/proc/vmstat", encoding="ascii") as file:
        for line in file:
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return None


def workers_of(jobs: int | None, cluster: str | None, most: int | None = None) -> Workers:
    """The workers that a person asked for; most: more local ones would have nothing to do."""
    if cluster is None:
        return LocalWorkers(jobs, most)
    if jobs is not None:
        raise InvalidParameter("--jobs is for local processes; a cluster has its own workers")
    return ClusterWorkers(cluster)
