"""Threads and signals of worker processes, which they take over when they are started."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

ONE_THREAD = {
    name: "1"
    for name in (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "BLIS_NUM_THREADS",
        "NUMBA_NUM_THREADS",
    )
}
"""Variables for a process that uses one thread: as many run at once as there are workers, and sums
of floats do not depend on the machine's load. Libraries read them when they are loaded."""


@contextmanager
def without_interrupts(*, by_loky: bool = False) -> Iterator[None]:
    """Start worker processes that a Ctrl-C in the terminal never reaches, also not at first.

    A signal that is blocked stays so in a new process. Here it comes as soon as the workers are
    started, and the one line that says so is printed once. by_loky: joblib starts them, and
    not multiprocessing. Resource trackers are started first: starting one unblocks the signal.
    They import nothing from the current folder before they know what this process may import.
    """
    with outside_this_folder(), _interrupts_blocked(by_loky):
        yield


@contextmanager
def outside_this_folder() -> Iterator[None]:
    """Python looks for modules in the current folder first where it is started by -c or -m.

    Workers are, and so a joblib.py in a folder from a stranger would run in them. They take over
    the path of this process, which has that folder only where a person named a module.
    """
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("PYTHONSAFEPATH", None)
        else:
            os.environ["PYTHONSAFEPATH"] = before


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Let a Ctrl-C interrupt only after a block: modules that are loaded in it may swallow it.

    Those that Cython made catch a KeyboardInterrupt while they register types, and a server that
    began so would never end.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda *_: came.append(1))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def _interrupts_blocked(by_loky: bool) -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()
    if by_loky:
        from joblib.externals.loky.backend import resource_tracker as of_loky

        of_loky.ensure_running()
    # Another thread may take the signal, which would then interrupt the start of a worker here.
    with interrupts_held_back():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def begin_worker(parent: int) -> None:
    """A worker leaves interrupts to the process that started it, and ends when that is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
