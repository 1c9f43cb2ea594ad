"""NumPy's generator PCG64 inside of kernels, from any place of its stream.

Its state is a number of 128 bits that each draw multiplies and adds to (O'Neill 2014), so many
draws that nobody needs are left out by one such step. Numbers come as two words of 64 bits; where
plain whole numbers would grow longer they are cut, which compiled words need not be. Words meet
only words: with other whole numbers compiled ones become floats, so constants are made of FULL.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.numerics.compiled import inlined

Words = NDArray[np.uint64]

_FACTOR = 0x2360ED051FC65DA44385DF649FCCF645
_MODULUS = 2**128
_UNIT = 2.0**-53

FULL = 2**64 - 1
"""All bits of a word; as a constant it is one for Numba too."""


class Stream(NamedTuple):
    """Where a generator is, and steps from there: by one draw, and by a row of them.

    state: high and low word. step, row: the words of what a state is multiplied by, and of what is
    added.
    """

    state: Any
    step: Any
    row: Any


def stream_of(rng: np.random.Generator, row: int) -> Stream | None:
    """The draws of `rng.random` that come next, in rows of so many; None for another generator."""
    bits = _leaping(rng)
    if bits is None:
        return None
    own = bits.state["state"]
    return Stream(_words(own["state"]), _step(1, own["inc"]), _step(row, own["inc"]))


def skipping(rng: np.random.Generator) -> Callable[[int], Any]:
    """What leaves out the next so many draws of `rng.random`, at once where that can be done."""
    bits = _leaping(rng)
    return rng.random if bits is None else bits.advance


def _leaping(rng: np.random.Generator) -> np.random.PCG64 | None:
    """The generator's PCG64, unless it keeps half a draw, which a leap would lose; else None."""
    bits = rng.bit_generator
    if isinstance(bits, np.random.PCG64) and not bits.state["has_uint32"]:
        return bits
    return None


def _step(draws: int, more: int) -> Words:
    """What leaves out so many draws."""
    factor, sums = _powers(draws)
    return _words(factor, more * sums % _MODULUS)


@cache
def _powers(number: int) -> tuple[int, int]:
    """The factor to the power of that number, and the sum of all powers below."""
    power, sums, square, doubled = 1, 0, _FACTOR, 1
    while number:
        if number % 2:
            power, sums = power * square % _MODULUS, (sums * square + doubled) % _MODULUS
        doubled, square = doubled * (square + 1) % _MODULUS, square * square % _MODULUS
        number //= 2
    return power, sums


def _words(*numbers: int) -> Words:
    return np.array([word for n in numbers for word in divmod(n, 2**64)], dtype=np.uint64)


@inlined
def four(words: Any) -> tuple[Any, Any, Any, Any]:
    """The words of a step, which are then not looked up again after whatever is written."""
    return words[0], words[1], words[2], words[3]


@inlined
def after(high: Any, low: Any, step: tuple[Any, Any, Any, Any]) -> tuple[Any, Any]:
    """The state after a step."""
    half = FULL >> 32
    factor_high, factor_low, more_high, more_low = step
    left, right = low >> 32, low & half
    factor_left, factor_right = factor_low >> 32, factor_low & half
    one, other = left * factor_right, right * factor_left
    middle = (right * factor_right >> 32) + (one & half) + (other & half)
    carried = left * factor_left + (one >> 32) + (other >> 32) + (middle >> 32)
    high = (carried + low * factor_high + high * factor_low + more_high) & FULL
    low = (low * factor_low + more_low) & FULL
    if low < more_low:
        high = (high + (FULL >> 63)) & FULL
    return high, low


@inlined
def draw(high: Any, low: Any) -> float:
    """The draw between 0 and 1 that a state stands for."""
    mixed, turn = high ^ low, high >> 58
    back = (FULL - turn + (FULL >> 63)) & (FULL >> 58)
    turned = (mixed >> turn) | ((mixed << back) & FULL)
    return float(turned >> 11) * _UNIT
