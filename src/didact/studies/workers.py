"""Where trials run: local processes by default, or the workers of a Dask scheduler.

Both are executors in the sense of `concurrent.futures`. Workers compute and return a plain record
with its seconds, or the reason why there is none; they never write the store.
"""

from __future__ import annotations

import json
import math
import os
import pickle
import re
import sys
import sysconfig
import time
import traceback
import warnings
from collections.abc import Mapping
from concurrent.futures import BrokenExecutor, Future
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from didact import __version__
from didact.errors import DidactError, InvalidParameter, NotMixed
from didact.inputs import FAILURES, in_one_line, reason_of, whole_number
from didact.numerics.threads import (
    ONE_THREAD,
    begin_worker,
    outside_this_folder,
    without_interrupts,
)
from didact.studies.study import Record, Trial


@dataclass(frozen=True)
class Attempt:
    """What a worker brings back: a record and seconds, or a reason why there is none."""

    record: Record | None
    seconds: Mapping[str, float]
    took: float
    reason: str = ""
    details: str = ""


REGISTRIES = (
    "didact.worlds.registry:_worlds",
    "didact.teaching.teachers:_teachers",
    "didact.learners.learn:_learners",
    "didact.active.strategies:_strategies",
)
"""Where trials look for things by name."""


NOTHING = b""


def registered_things() -> bytes:
    """What scripts and notebooks registered in this process, for workers.

    Functions of a script or a notebook travel by value, and so do those of modules that are not
    installed: a worker that was started in another folder could not import them.
    """
    found: list[tuple[str, str, bytes]] = []
    for place in REGISTRIES:
        for name, thing in _registry(place).given().items():
            with suppress(*FAILURES):  # what cannot travel is missed where it is asked for by name
                found.append((place, name, by_value(thing)))
    return pickle.dumps(found) if found else NOTHING


def register_there(things: bytes) -> None:
    """Register in a worker what the process that started it had registered."""
    for place, name, thing in pickle.loads(things) if things else ():
        registry = _registry(place)
        if name not in registry.given():
            registry.register(name, pickle.loads(thing))


def by_value(thing: Any) -> bytes:
    """Something pickled with the code of all modules that are not installed."""
    cloudpickle = import_module(_CLOUDPICKLE)
    own = [module for module in list(sys.modules.values()) if _is_own(module)]
    for module in own:
        cloudpickle.register_pickle_by_value(module)
    try:
        try:
            pickled: bytes = cloudpickle.dumps(thing)
        except FAILURES:  # a lock or an open file among what a module holds: by name, then
            for module in own:
                cloudpickle.unregister_pickle_by_value(module)
            own = []
            pickled = cloudpickle.dumps(thing)
        return pickled
    finally:
        for module in own:
            cloudpickle.unregister_pickle_by_value(module)


def _is_own(module: Any) -> bool:
    """Whether a module is a file of the user: not of Python, of a package, or of didact."""
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and module.__name__ != "__main__" and _is_own_file(file)


@cache  # for each trial thousands of modules are asked about, and a real path takes system calls
def _is_own_file(file: str) -> bool:
    return file.endswith(".py") and not os.path.realpath(file).startswith(_INSTALLED)


_CLOUDPICKLE = "cloudpickle" if find_spec("cloudpickle") else "joblib.externals.cloudpickle"
"""Joblib depends on it from 1.5 on, and brings its own copy before."""

_INSTALLED = tuple(
    os.path.realpath(place) + os.sep
    for place in (
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
        sys.prefix,
        sys.base_prefix,
    )
)


def _registry(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def attempt_with(things: bytes, packed: bytes) -> Attempt:
    """The same where a worker has to be told first what was registered."""
    try:
        register_there(things)
        trial, settings, number = pickle.loads(packed)
    except FAILURES as error:
        return Attempt(None, {}, 0.0, reason_of(error, 300), traceback.format_exc()[-5000:])
    return attempt(trial, settings, number)


def attempt(trial: Trial, settings: Any, number: int) -> Attempt:
    """Run one trial; whatever it raises is told, not raised."""
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotMixed)
            record, seconds = _plain(trial(settings, number))
    except FAILURES as error:
        took = time.perf_counter() - began
        return Attempt(None, {}, took, reason_of(error, 300), traceback.format_exc()[-5000:])
    return Attempt(record, seconds, time.perf_counter() - began)


def attempt_there(version: str, things: bytes, packed: bytes) -> Attempt:
    """The same on a cluster, whose workers may have joined after the run began."""
    if version != __version__:
        reason = f"a worker must have didact {version}; it has {__version__}"
        return Attempt(None, {}, 0.0, reason, reason)
    return attempt_with(things, packed)


def _plain(record: Any) -> tuple[Record, dict[str, float]]:
    """The record as it comes back from the store, and its seconds apart."""
    if not isinstance(record, Mapping):
        raise InvalidParameter(f"a trial must return a record (a dict); it returned {record!r:.60}")
    try:
        read = json.loads(json.dumps(dict(record), allow_nan=False, sort_keys=True))
    except (TypeError, ValueError) as error:
        raise InvalidParameter(
            f"a record must hold plain finite JSON values: {error}. Convert arrays and numbers of "
            "NumPy with tolist(), float() or int(), and leave out what is not known"
        ) from None
    seconds = read.pop("seconds", {})
    if not isinstance(seconds, dict):
        raise InvalidParameter(
            f"a record's seconds must be given by name; they are {seconds!r:.60}"
        )
    return read, {str(name): float(value) for name, value in seconds.items()}


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
        self._things: bytes | None = None

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
        """Hand a trial to the scheduler; its workers are there, whether one is needed or all.

        is_alone: no other runs until it has ended.
        """
        if self._things is None:
            self._things = registered_things()
        packed = by_value((trial, settings, number))
        future: Future[Attempt] = self._executor.submit(
            attempt_there, __version__, self._things, packed
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


IDLE = 3600.0
"""Seconds that a local worker waits for work before it ends."""


class LocalWorkers:
    """Processes on this machine (joblib's loky), each with one thread."""

    place = "local processes"

    def __init__(self, jobs: int | None = None, most: int | None = None) -> None:
        from joblib import cpu_count

        wanted = int(cpu_count()) if jobs is None else whole_number(jobs, "jobs", 1)
        self._jobs = wanted if most is None else min(wanted, most)
        self._started = 0
        self._executor: Any = None
        self._things: bytes | None = None
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
                    future: Future[Attempt] = pool.submit(*self._work(trial, settings, number))
                return future
            except (BrokenExecutor, RuntimeError, OSError):
                self.stop(at_once=True)
        raise DidactError("worker processes cannot be started; try fewer --jobs")

    def _work(self, trial: Trial, settings: Any, number: int) -> tuple[Any, ...]:
        """What a process is asked to do; with what was registered here, where anything was."""
        if self._things is None:
            self._things = registered_things()
        if self._things == NOTHING:
            return attempt, trial, settings, number
        return attempt_with, self._things, by_value((trial, settings, number))

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


Workers = LocalWorkers | ClusterWorkers
"""Where a run puts its trials."""


def workers_of(jobs: int | None, cluster: str | None, most: int | None = None) -> Workers:
    """The workers that a person asked for; most: more local ones would have nothing to do."""
    if cluster is None:
        return LocalWorkers(jobs, most)
    if jobs is not None:
        raise InvalidParameter("--jobs is for local processes; a cluster has its own workers")
    return ClusterWorkers(cluster)
