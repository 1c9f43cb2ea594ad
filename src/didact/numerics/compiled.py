"""Kernels: one plain function, run as it stands on small inputs and compiled on large ones.

Importing the compiler takes longer than a small model takes in plain Python, so nobody with a small
model waits for it. Both ways do the same operations in the same order and give the same bits, as
long as a kernel keeps to flat arrays of float64, int64, uint32 or bool, divides by nothing that can
be 0, and is not given one array twice.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sys
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

import numpy as np

log = logging.getLogger("didact")

WORTH_COMPILING = 400_000
"""Inner-loop steps from which loading the compiler pays."""


class Kernel:
    """A function of flat arrays and numbers that can run plain or compiled."""

    def __init__(self, plain: FunctionType):
        self.plain = plain
        self.__doc__ = plain.__doc__
        self.__name__ = plain.__name__
        self._twin: Any = None
        self._at_hand = False

    def __call__(self, *arguments: Any) -> Any:
        """Run the plain function."""
        return self.plain(*arguments)

    @property
    def compiled(self) -> Any:
        """The Numba twin, cached on disk; kernels that it calls are compiled with it."""
        if not self.is_at_hand():
            log.info("compiling %s, once on this machine", self.__name__)
            self._at_hand = True
        return self._dispatcher()

    def is_at_hand(self) -> bool:
        """Whether the compiled twin is in memory or in the disk cache already."""
        if not self._at_hand:
            self._at_hand = _is_cached(self._dispatcher())
        return self._at_hand

    def run(self, work: int, *arguments: Any) -> Any:
        """Call the kernel the faster way for about `work` inner-loop steps.

        Arrays change in place; read-only arrays are only read.
        """
        if work >= WORTH_COMPILING or ("numba" in sys.modules and self.is_at_hand()):
            return self.compiled(*arguments)
        return self.run_plain(*arguments)

    def run_plain(self, *arguments: Any) -> Any:
        """Call the plain function on lists, which are quicker there, and copy back what changed."""
        lists = [a.tolist() if isinstance(a, np.ndarray) else a for a in arguments]
        result = self.plain(*lists)
        for array, values in zip(arguments, lists, strict=True):
            if isinstance(array, np.ndarray) and array.flags.writeable:
                array[...] = values
        return result

    def fingerprint(self) -> str:
        """A digest of the kernel's code and of all kernels and constants that it uses.

        It is part of the name in the disk cache, which by itself would notice a change in the
        kernel's own file, but not in a file that it imports from.
        """
        used = [
            (name, value.fingerprint() if isinstance(value, Kernel) else _written(value))
            for name, value in sorted(self._used().items())
        ]
        parts = (_written(self.plain.__code__), repr(self.plain.__defaults__), repr(used))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    def _used(self) -> dict[str, Any]:
        names = self.plain.__globals__
        return {name: names[name] for name in self.plain.__code__.co_names if name in names}

    def _dispatcher(self) -> Any:
        if self._twin is None:
            import numba

            names = {
                name: value._dispatcher() if isinstance(value, Kernel) else value
                for name, value in self._used().items()
            }
            twin = FunctionType(
                self.plain.__code__,
                {"__builtins__": __builtins__, "__name__": self.plain.__module__, **names},
                self.plain.__name__,
                self.plain.__defaults__,
            )
            twin.__module__ = self.plain.__module__
            twin.__qualname__ = f"{self.plain.__qualname__}-{self.fingerprint()}"
            self._twin = numba.njit(cache=True, nogil=True, error_model="numpy")(twin)
        return self._twin


def kernel(function: Callable[..., Any]) -> Kernel:
    """Mark a plain function as a kernel."""
    assert isinstance(function, FunctionType)
    return Kernel(function)


def _is_cached(dispatcher: Any) -> bool:
    """Whether some version of the kernel lies in the disk cache already."""
    cache_file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    path = getattr(cache_file, "_index_path", None)
    return path is not None and os.path.exists(path)


def _written(value: Any) -> str:
    """What of a global, a constant or a piece of code can change a result, as text."""
    if isinstance(value, CodeType):
        return repr((value.co_code, value.co_names, [_written(c) for c in value.co_consts]))
    if isinstance(value, int | float | str | tuple | np.generic):
        return repr(value)
    return str(getattr(value, "__name__", type(value).__name__))
