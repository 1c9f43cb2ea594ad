"""Kernels: plain functions of arrays and numbers that Numba compiles, with a cache on disk.

Nothing here is compiled or imported before a kernel runs. To import Numba takes longer than a small
model takes in plain Python, so `Kernel.run` calls the plain function while all work so far is
small; both ways do the same operations in the same order. A kernel keeps to arrays of numbers,
allocates nothing, raises nothing, and divides by nothing that can be 0.

Arrays that belong together come as a NamedTuple, which may hold others. A kernel says by its
annotations which ones it reads: they are part of its fingerprint.

The cache is Numba's own, with two guards. Numba notices changes in a kernel's own file only, so the
name in the cache carries a digest of everything that the kernel uses from other files. And it
raises what reading or writing a file raises; then the kernel's files are removed, and it is
compiled for this process alone.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from glob import escape, glob
from types import CodeType, FunctionType
from typing import Any, get_type_hints

import numpy as np

log = logging.getLogger("didact")

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}

WORTH_COMPILING = 200_000
"""Inner-loop steps of all kernels in a process from which importing Numba pays."""

_steps_run_plain = 0
_one_at_a_time = threading.RLock()
"""Two threads that asked for one kernel at once would compile it twice."""
_compiling: set[str] = set()
"""Kernels that the disk cache had no file of, until their first call has returned."""


class Kernel:
    """A function of arrays, numbers and tuples of them; `run` and `compiled` compile it."""

    def __init__(self, plain: FunctionType):
        self.plain = plain
        self.__doc__ = plain.__doc__
        self.__name__ = plain.__name__
        self._dispatchers: dict[bool, Any] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Run the plain function."""
        return self.plain(*arguments)

    def run(self, work: int, *arguments: Any) -> Any:
        """Call the kernel for about `work` inner-loop steps: plain while that is little."""
        global _steps_run_plain
        if "numba" in sys.modules or _steps_run_plain + work >= WORTH_COMPILING:
            return self.compiled(*arguments)
        _steps_run_plain += work  # many small calls are one large one
        with np.errstate(all="ignore"):  # compiled floats overflow without a warning, too
            return self.plain(*arguments)

    def compiled(self, *arguments: Any) -> Any:
        """Call the compiled kernel; kernels that it calls are compiled with it."""
        if _compiler().config.DISABLE_JIT:
            return self.plain(*arguments)
        dispatcher = self._dispatcher(cached=True)
        try:
            return dispatcher(*arguments)
        except Exception:  # of a damaged file, or a full disk: nothing of the kernel has run yet
            for path in _cache_files(dispatcher):
                with suppress(OSError):
                    os.unlink(path)
            self._dispatchers[True] = dispatcher = self._dispatcher(cached=False)
            return dispatcher(*arguments)
        finally:  # also where the user interrupts it: nothing is compiled then
            _compiling.discard(self.__name__)

    def fingerprint(self) -> str:
        """A digest of the kernel's code and of all kernels, constants and named tuples it uses."""
        return _digest(self, {})

    def used(self) -> dict[str, Any]:
        """What the names in the kernel's code stand for in its file."""
        names = self.plain.__globals__
        return {name: names[name] for name in self.plain.__code__.co_names if name in names}

    def _dispatcher(self, *, cached: bool) -> Any:
        """Numba's dispatcher; kernels that others call need no cache of their own."""
        with _one_at_a_time:
            if cached not in self._dispatchers:
                self._dispatchers[cached] = self._new_dispatcher(cached)
            return self._dispatchers[cached]

    def _new_dispatcher(self, cached: bool) -> Any:
        numba = _compiler()
        plain, names = self.plain, {"__builtins__": __builtins__, "__name__": self.plain.__module__}
        for name, value in self.used().items():
            is_kernel = isinstance(value, Kernel)
            names[name] = value._dispatcher(cached=False) if is_kernel else value
        twin = FunctionType(plain.__code__, names, plain.__name__, plain.__defaults__)
        twin.__module__, twin.__qualname__ = plain.__module__, plain.__qualname__
        if not cached:
            return numba.njit(twin, **OPTIONS)
        twin.__qualname__ += f"-{self.fingerprint()}"
        try:
            made = numba.njit(twin, cache=True, **OPTIONS)
        except (OSError, RuntimeError):  # no folder can be written to
            return self._dispatcher(cached=False)
        if not _cache_files(made):
            _compiling.add(self.__name__)
            log.info("compiling %s, once on this machine", self.__name__)
        return made


def kernel(function: Callable[..., Any]) -> Kernel:
    """Mark a plain function as a kernel."""
    assert isinstance(function, FunctionType)
    return Kernel(function)


def is_compiling() -> bool:
    """Whether a kernel is compiled now, in any thread; it may take half a minute."""
    return bool(_compiling)


@cache
def _compiler() -> Any:
    """Numba, which must not read its cache where a file of the current folder says: it unpickles.

    It follows a `.numba_config.yaml` there, and variables of the environment go before it; empty
    ones stand for Numba's own place, beside the source files or in the user's cache folder.
    """
    is_loaded = "numba" in sys.modules
    if not is_loaded or os.path.exists(".numba_config.yaml"):
        for name in ("NUMBA_CACHE_DIR", "NUMBA_CACHE_LOCATOR_CLASSES"):
            os.environ.setdefault(name, "")
    import numba

    if is_loaded and os.path.exists(".numba_config.yaml"):
        numba.config.reload_config()  # type: ignore[no-untyped-call]
    return numba


def _cache_files(dispatcher: Any) -> list[str]:
    """A kernel's files in the disk cache."""
    folder, fingerprint = dispatcher.stats.cache_path, dispatcher.py_func.__qualname__[-16:]
    return [] if folder is None else glob(os.path.join(escape(folder), f"*-{fingerprint}-*.nb[ic]"))


def _digest(value: Any, seen: dict[Kernel, str]) -> str:
    """What of a kernel, a constant, a named tuple or a piece of code can change a result, as text.

    seen: of kernels that were met before.
    """
    if isinstance(value, Kernel):
        if value not in seen:
            plain = value.plain
            kinds = [hint for hint in get_type_hints(plain).values() if _is_named_tuple(hint)]
            used = [(name, _digest(other, seen)) for name, other in sorted(value.used().items())]
            read = [_digest(hint, seen) for hint in kinds]
            known = (_digest(plain.__code__, seen), plain.__defaults__, used, read)
            text = repr((*known, OPTIONS))
            seen[value] = hashlib.sha256(text.encode()).hexdigest()[:16]
        return seen[value]
    if isinstance(value, CodeType):
        constants = [_digest(constant, seen) for constant in value.co_consts]
        return repr((value.co_code, value.co_names, constants))
    if _is_named_tuple(value):
        hints = get_type_hints(value)
        fields = [(name, _digest(hints.get(name), seen)) for name in value._fields]
        return repr((value.__name__, fields))
    if isinstance(value, int | float | str | tuple | np.generic):
        return repr(value)
    return str(getattr(value, "__name__", type(value).__name__))


def _is_named_tuple(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields")
