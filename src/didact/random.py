"""Random streams by name, so that order and the number of workers never change a result."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidParameter
from didact.inputs import is_whole, shown

Seed = int | np.random.Generator | None


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """The generator of the named stream: a function of the seed and the names alone.

    >>> stream(0, "table1", "uvm", 3).integers(100) == stream(0, "table1", "uvm", 3).integers(100)
    True
    """
    digest = _digest(repr(names))
    if not 0 <= seed < 2**32:
        return np.random.default_rng([seed, *digest.tolist()])
    words = np.empty(1 + digest.size, dtype=np.uint32)  # the same, sooner
    words[0], words[1:] = seed, digest
    return np.random.default_rng(words)


@lru_cache(maxsize=1000)
def _digest(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(hashlib.sha256(text.encode()).digest(), dtype="<u4")


def as_generator(seed: Seed, *names: str | int) -> np.random.Generator:
    """A generator from what a caller may give (SPEC 7): None, an int, or a Generator itself."""
    if isinstance(seed, np.random.Generator):
        return seed
    if seed is None:
        return np.random.default_rng()
    return stream(require_seed(seed), *names)


def require_seed(seed: object) -> int:
    """The seed as a plain whole number; anything else is refused."""
    if not is_whole(seed) or not 0 <= seed < 2**64:
        raise InvalidParameter(
            "seed must be None, a whole number from 0 to 2**64 - 1 or a numpy Generator; "
            f"it is {shown(seed)}"
        )
    return int(seed)
