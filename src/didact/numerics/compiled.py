"""Kernels: one plain function, run as it stands on small inputs and compiled on large ones.

Importing the compiler takes longer than a small model takes in plain Python, so nobody with a small
model waits for it. Both ways do the same operations in the same order and give the same bits, as
long as a kernel keeps to flat arrays of float64, int64, uint32 or bool, divides by nothing that can
be 0, and is not given one array twice. (Of uint64 too, where every number that meets one is one.)

Arrays that belong together come as a NamedTuple, which may hold others. A kernel says by its
annotations which ones it reads: then the disk cache notices when their fields change.
"""

from __future__ import annotations

import gc
import hashlib
import logging
import os
import pickle
import secrets
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from time import perf_counter
from types import CodeType, FunctionType
from typing import Any, get_type_hints

import numpy as np

log = logging.getLogger("didact")

_one_at_a_time = threading.RLock()
"""Two threads that made a twin of one kernel each would compile it twice."""

WORTH_COMPILING = 400_000
"""Inner-loop steps from which loading the compiler pays."""

WORTH_LOADING, WORTH_A_TWIN = 0.1, 5.0
"""Seconds of plain kernels that would have paid for the compiler, of one for compiling it."""

_seconds_run_plain = 0.0
"""Of all kernels, in this process."""

OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "_nrt": False,
    "no_cfunc_wrapper": True,
}
"""Kernels allocate nothing, so the references to arrays that they are given need not be counted;
and nobody calls them from C."""


_TO_LOAD = ("_load_overload", "_guard_against_spurious_io_errors")
"""Hooks of Numba's `FunctionCache` that load one overload; a version without them loads as it
always does."""


class Kernel:
    """A function of flat arrays, numbers and tuples of them that can run plain or compiled."""

    def __init__(self, plain: FunctionType, *, inline: bool = False):
        self.plain = plain
        self.inline = inline
        self.__doc__ = plain.__doc__
        self.__name__ = plain.__name__
        self._twins: dict[bool, Any] = {}
        self._at_hand = False
        self._seconds = 0.0

    def __call__(self, *arguments: Any) -> Any:
        """Run the plain function."""
        return self.plain(*arguments)

    @property
    def compiled(self) -> Any:
        """The Numba twin, cached on disk; kernels that it calls are compiled with it."""
        if self._at_hand and False in self._twins:
            return self._twins[False]
        with _one_at_a_time:
            if not self.is_at_hand():
                log.info("compiling %s, once on this machine", self.__name__)
                self._at_hand = True
            return self._dispatcher()

    def compiled_for(self, *arguments: Any) -> Any:
        """The compiled twin for arguments of the types of these, which it no longer looks at.

        For many short calls: looking at named tuples takes longer than a step of a chain.
        """
        twin = self.compiled
        kinds = tuple(twin.typeof_pyval(argument) for argument in arguments)
        twin.compile(kinds)
        return twin.get_overload(kinds)

    def is_at_hand(self) -> bool:
        """Whether the compiled twin is in memory or in the disk cache already."""
        if not self._at_hand:
            self._at_hand = _is_cached(self._dispatcher())
        return self._at_hand

    def run(self, work: int, *arguments: Any) -> Any:
        """Call the kernel the faster way for about `work` inner-loop steps.

        Many small calls are one large one: they run plain until what they did would have paid for
        the compiler. Arrays change in place; read-only arrays are only read.
        """
        if self.pays(work):
            return self.compiled(*arguments)
        began = perf_counter()
        try:
            return self.run_plain(*arguments)
        finally:
            self._count(perf_counter() - began)

    def pays(self, work: int = 0) -> bool:
        """Whether `run` takes the compiled twin for so much work: for none, where it is at hand."""
        return self._at_hand or work >= WORTH_COMPILING or self._is_paid_for()

    def _is_paid_for(self) -> bool:
        """Whether the twin is at hand, or plain kernels took as long as having it would have."""
        if "numba" not in sys.modules and _seconds_run_plain < WORTH_LOADING:
            return False
        return self.is_at_hand() or self._seconds >= WORTH_A_TWIN

    def _count(self, seconds: float) -> None:
        global _seconds_run_plain
        self._seconds += seconds
        _seconds_run_plain += seconds

    def run_plain(self, *arguments: Any) -> Any:
        """Call the plain function on lists, which are quicker there, and copy back what changed."""
        lists = _as_lists(arguments)
        result = self.plain(*lists)
        _copy_back(lists, arguments)
        return result

    def filled(self, **kernels: Kernel) -> Kernel:
        """A kernel of the same code that calls these kernels by names that it uses.

        So a loop is written once, with a kernel that says what stands in the hole. What else its
        file defines is taken as it is now.
        """
        missing = set(kernels) - set(self.plain.__code__.co_names)
        if missing:
            raise AssertionError(f"{self.__name__} calls nothing by the name {missing}")
        twin = self._copied({**self.plain.__globals__, **kernels})
        twin.__annotations__ = self.plain.__annotations__
        twin.__doc__ = self.__doc__
        return Kernel(twin, inline=self.inline)

    def fingerprint(self) -> str:
        """A digest of the kernel's code and of all kernels, constants and named tuples it uses.

        It is part of the name in the disk cache, which by itself would notice a change in the
        kernel's own file, but not in a file that it imports from.
        """
        return self._fingerprint({})

    def _fingerprint(self, seen: dict[Kernel, str]) -> str:
        """The same; seen: those of kernels that were seen already."""
        if self not in seen:
            seen[self] = self._digest(seen)
        return seen[self]

    def _digest(self, seen: dict[Kernel, str]) -> str:
        used = [
            (name, value._fingerprint(seen) if isinstance(value, Kernel) else _written(value))
            for name, value in sorted(self._used().items())
        ]
        hints = get_type_hints(self.plain)
        read = [(name, _written(hint)) for name, hint in hints.items() if _is_named_tuple(hint)]
        known = repr((self.plain.__defaults__, used, read, self.inline, OPTIONS))
        parts = (_written(self.plain.__code__), known)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    def _used(self) -> dict[str, Any]:
        names = self.plain.__globals__
        return {name: names[name] for name in self.plain.__code__.co_names if name in names}

    def _dispatcher(self, *, is_part: bool = False) -> Any:
        """The twin that Python calls, or the one that other twins call (is_part).

        To be called from Python takes longer to compile than most kernels themselves.
        """
        with _one_at_a_time:
            if is_part not in self._twins:
                self._twins[is_part] = self._new_dispatcher(is_part)
            return self._twins[is_part]

    def _new_dispatcher(self, is_part: bool) -> Any:
        njit = _compiler().njit
        twin = self._copied({"__builtins__": __builtins__, "__name__": self.plain.__module__})
        role = "part" if is_part else "whole"
        twin.__qualname__ = f"{self.plain.__qualname__}-{role}-{self.fingerprint()}"
        own = {"inline": "always"} if self.inline else {"no_cpython_wrapper": is_part}
        made = njit(**OPTIONS, **own)(twin)
        try:
            made._cache = _disk_cache()(twin)
            made._cache.before_compiling = partial(self._name_parts, twin)
            is_cached = True
        except (OSError, RuntimeError):  # no folder can be written to: compiled in every process
            is_cached = False
        if is_part or made is twin or not is_cached:  # Numba may be told to compile nothing
            self._name_parts(twin)
        return made

    def _name_parts(self, twin: FunctionType) -> None:
        """Give a twin the twins of the kernels that it calls, which only the compiler looks at."""
        for name, value in self._used().items():
            is_kernel = isinstance(value, Kernel)
            twin.__globals__[name] = value._dispatcher(is_part=True) if is_kernel else value

    def _copied(self, names: dict[str, Any]) -> FunctionType:
        """The plain function over other global names."""
        plain = self.plain
        twin = FunctionType(plain.__code__, names, plain.__name__, plain.__defaults__)
        twin.__module__, twin.__qualname__ = plain.__module__, plain.__qualname__
        return twin


def kernel(function: Callable[..., Any]) -> Kernel:
    """Mark a plain function as a kernel."""
    assert isinstance(function, FunctionType)
    return Kernel(function)


def inlined(function: Callable[..., Any]) -> Kernel:
    """Mark a plain function of a few lines, or of one caller, as a kernel that costs no call there.

    A call costs some nanoseconds, in the innermost loops as much as the work itself, and more where
    it hands on many arrays; and what stands in its caller is not compiled by itself.
    """
    assert isinstance(function, FunctionType)
    return Kernel(function, inline=True)


@cache
def _compiler() -> Any:
    """Numba, whose import makes many objects that all stay.

    Nobody looks for garbage among them meanwhile: that would take a tenth of the time, and more
    where a process holds much already. And where coverage is installed and does not run, Numba
    would take a quarter of the time to import it, for lines of kernels that nobody counts.
    """
    _pass_over_config_file()
    collects, counts_lines = gc.isenabled(), "coverage" in sys.modules
    gc.disable()
    if not counts_lines:
        sys.modules["coverage"] = None  # type: ignore[assignment]
    try:
        import numba
    finally:
        if not counts_lines:
            del sys.modules["coverage"]
        if collects:
            gc.enable()
    return numba


def _pass_over_config_file() -> None:
    """Let no file of the current folder say where compiled kernels lie: their cache holds pickles.

    Numba follows a `.numba_config.yaml` in the current folder, and variables of the environment go
    before it; empty ones stand for Numba's own place.
    """
    is_there = os.path.exists(".numba_config.yaml")
    if "numba" not in sys.modules or is_there:
        for name in ("NUMBA_CACHE_DIR", "NUMBA_CACHE_LOCATOR_CLASSES"):
            os.environ.setdefault(name, "")
    if "numba" in sys.modules and is_there:
        import numba

        numba.config.reload_config()  # type: ignore[no-untyped-call]


class _CacheFile:
    """The compiled overloads of one kernel in one file, with a digest of its content.

    It stands in for Numba's `IndexDataCacheFile`, whose two files have no digest: an empty index
    raises EOFError in every process, a changed byte of machine code is run, and a process that is
    killed between the two files may leave an index that names the code of an older kernel. A file
    that is not whole is removed, and its kernel compiled again.
    """

    def __init__(self, path: str, stamp: Any):
        self._index_path = path
        self._stamp = stamp

    def load(self, key: Any) -> Any:
        """What was saved under a key; None where it was not."""
        packed = self._overloads().get(key)
        return None if packed is None else pickle.loads(packed)

    def save(self, key: Any, data: Any) -> None:
        """Keep data under a key, beside what is there; of two processes at once one may lose."""
        from numba.core.serialize import dumps

        overloads = {**self._overloads(), key: dumps(data)}  # type: ignore[no-untyped-call]
        content: bytes = dumps((self._stamp, overloads))  # type: ignore[no-untyped-call]
        temporary = f"{self._index_path}.tmp.{secrets.token_hex(8)}"
        try:
            with open(temporary, "xb") as file:
                file.write(hashlib.sha256(content).digest() + content)
            os.replace(temporary, self._index_path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise

    def flush(self) -> None:
        """Forget what was saved."""
        with suppress(OSError):
            os.unlink(self._index_path)

    def _overloads(self) -> dict[Any, bytes]:
        try:
            with open(self._index_path, "rb") as file:
                digest, content = file.read(32), file.read()
        except OSError:
            return {}
        if hashlib.sha256(content).digest() != digest:
            self.flush()
            return {}
        stamp, overloads = pickle.loads(content)
        return overloads if stamp == self._stamp else {}


@cache
def _disk_cache() -> Any:
    """Numba's cache of compiled functions, which loads one without what only compiling needs.

    Before it looks into its cache, Numba makes ready all that it knows of compiling, which takes
    longer than to import it and to load what a lesson needs. A kernel in the cache is machine
    code that asks for none of that; where it is not in the cache, `before_compiling` is called, and
    the compiler makes itself ready. What cannot be loaded is compiled, and what cannot be saved, as
    on a full disk, is compiled in the next process again.
    """
    from numba.core.caching import FunctionCache

    is_known = all(hasattr(FunctionCache, name) for name in _TO_LOAD)

    class Loaded(FunctionCache):
        before_compiling: Callable[[], None]
        _cache_file: Any

        def __init__(self, twin: Any):
            super().__init__(twin)  # type: ignore[no-untyped-call]
            name = f"{self._impl.filename_base}.nbi"
            stamp = (_compiler().__version__, self._impl.locator.get_source_stamp())
            self._cache_file = _CacheFile(os.path.join(self._cache_path, name), stamp)

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            try:
                found = self._loaded(sig, target_context)
            except Exception:  # whatever unpickling and linking raise: the code is not to be used
                self._cache_file.flush()
                found = None
            if found is None:
                self.before_compiling()
            return found

        def save_overload(self, sig: Any, data: Any) -> None:
            with suppress(OSError):
                super().save_overload(sig, data)  # type: ignore[no-untyped-call]

        def _loaded(self, sig: Any, target_context: Any) -> Any:
            if not is_known:
                return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]

    return Loaded


def _as_lists(given: Any) -> Any:
    """The same with lists for arrays, also inside of tuples; named ones keep their names."""
    if isinstance(given, np.ndarray):
        return given.tolist()
    if isinstance(given, tuple):
        parts = [_as_lists(part) for part in given]
        return type(given)(*parts) if _is_named_tuple(type(given)) else tuple(parts)
    return given


def _copy_back(lists: Any, given: Any) -> None:
    """Put what the lists hold now into the arrays that may be written to."""
    if isinstance(given, tuple):
        for values, part in zip(lists, given, strict=True):
            _copy_back(values, part)
    elif isinstance(given, np.ndarray) and given.flags.writeable:
        given[...] = lists


def _is_named_tuple(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields")


def _is_cached(dispatcher: Any) -> bool:
    """Whether some version of the kernel lies in the disk cache already."""
    cache_file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    path = getattr(cache_file, "_index_path", None)
    return path is not None and os.path.exists(path)


def _written(value: Any) -> str:
    """What of a global, a constant or a piece of code can change a result, as text."""
    if isinstance(value, CodeType):
        return repr((value.co_code, value.co_names, [_written(c) for c in value.co_consts]))
    if _is_named_tuple(value):
        hints = get_type_hints(value)
        return repr((value.__name__, [(f, _written(hints.get(f))) for f in value._fields]))
    if isinstance(value, int | float | str | tuple | np.generic):
        return repr(value)
    return str(getattr(value, "__name__", type(value).__name__))
