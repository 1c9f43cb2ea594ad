"""The workers of a Dask scheduler as a place for trials."""

from __future__ import annotations

import math
import time
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from didact import __version__
from didact.errors import DidactError, InvalidParameter
from didact.inputs import in_one_line
from didact.studies.attempts import Attempt, attempt_there
from didact.studies.study import Trial

ANSWER = 10.0
"""Seconds that a scheduler has to answer, and to name a worker."""
OFTEN = 2.0
"""Seconds between two questions to a scheduler for its workers."""
PATIENCE = 60.0
"""Seconds that a run waits for a cluster to have a worker again."""


class ClusterLost(DidactError):
    """The Dask scheduler, or all of its workers, went away."""


class ClusterWorkers:
    """The workers of a Dask scheduler, on this machine or others."""

    def __init__(self, address: str) -> None:
        try:
            import distributed
        except ImportError:
            raise InvalidParameter(
                "--cluster needs Dask, which is not installed: pip install 'didact[dask]'"
            ) from None
        self.place = f"cluster {address}"
        self._address = address
        try:
            connect: Any = distributed.Client
            self._client: Any = connect(address, timeout=ANSWER, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            reason = in_one_line(error) or type(error).__name__
            raise InvalidParameter(
                f"no Dask scheduler answers at {address} ({reason:.100}); start one with "
                "`dask scheduler`, and workers with `dask worker ADDRESS --nthreads 1`"
            ) from None
        try:
            self._require_workers()
        except BaseException:
            self._client.close()
            raise
        self._executor = self._client.get_executor(pure=False, retries=0)
        self._alone_since: float | None = None
        self._size, self._asked = 0, -math.inf

    def _require_workers(self) -> None:
        """There is a worker, and every worker has this version of didact."""
        try:
            self._client.wait_for_workers(1, timeout=ANSWER)
        except TimeoutError:
            raise InvalidParameter(
                f"the scheduler at {self._address} has no workers; start some with "
                f"`dask worker {self._address} --nthreads 1`"
            ) from None
        versions = self._client.run(_version_there, on_error="return")
        for worker, version in sorted(versions.items()):
            if version != __version__:
                raise InvalidParameter(
                    f"the worker at {worker} must have didact {__version__}; it has "
                    f"{in_one_line(version):.100}"
                )

    def size(self) -> int:
        """The threads of all workers, asked for once in a while."""
        if time.monotonic() - self._asked > OFTEN:
            try:
                self._size = sum(self._client.nthreads().values())
            except (OSError, RuntimeError):
                raise ClusterLost(f"the scheduler at {self._address} went away") from None
            self._asked = time.monotonic()
        return self._size

    def slots(self) -> int:
        """One for each thread of a worker, and as many again, so that none waits."""
        return 2 * max(1, self.size())

    def submit(
        self, trial: Trial, settings: Any, number: int, *, is_alone: bool
    ) -> Future[Attempt]:
        """Hand a trial to the scheduler; its workers are there, whether one is needed or all."""
        future: Future[Attempt] = self._executor.submit(
            attempt_there, __version__, trial, settings, number
        )
        return future

    def is_death(self, error: BaseException | None) -> bool:
        """Dask runs a trial again whose worker died, and says so when that was too often."""
        return type(error).__name__ == "KilledWorker"

    def was_killed(self, error: BaseException) -> bool:
        """Nobody can tell from here."""
        return False

    def check(self) -> None:
        """The scheduler answers, and has had a worker within PATIENCE."""
        now = time.monotonic()
        if self._client.status in ("closed", "closing"):
            raise ClusterLost(f"the scheduler at {self._address} went away")
        if self.size():
            self._alone_since = None
        elif self._alone_since is None:
            self._alone_since = now
        elif now - self._alone_since > PATIENCE:
            raise ClusterLost(f"the scheduler at {self._address} has had no worker for a minute")

    def stop(self, *, at_once: bool) -> None:
        """Leave the cluster as it is, without our trials."""
        with suppress(Exception):
            self._executor.shutdown(wait=not at_once)
        with suppress(Exception):
            self._client.close(timeout=5)


def _version_there() -> str:
    from didact import __version__

    return __version__
