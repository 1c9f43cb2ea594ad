"""Workers that are this process: for tests of what a run prints and writes, not of where it ran."""

from concurrent.futures import Future
from typing import Any

from didact.studies.study import Trial
from didact.studies.workers import Attempt, attempt


class Here:
    """In place of `LocalWorkers`; a trial is over when it is submitted."""

    place = "local processes"

    def __init__(self, jobs: int | None = None, most: int | None = None) -> None:
        """Takes what `LocalWorkers` takes; one trial runs at a time."""

    def size(self) -> int:
        return 1

    def slots(self) -> int:
        return 1

    def submit(
        self, trial: Trial, settings: Any, number: int, *, is_alone: bool
    ) -> Future[Attempt]:
        future: Future[Attempt] = Future()
        future.set_result(attempt(trial, settings, number))
        return future

    def is_death(self, error: BaseException | None) -> bool:
        return False

    def was_killed(self, error: BaseException) -> bool:
        return False

    def check(self) -> None:
        """This process is there."""

    def stop(self, *, at_once: bool) -> None:
        """Nothing was started."""
