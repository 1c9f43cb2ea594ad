"""NumPy's generator PCG64 inside of kernels, from any place of its stream.

Its state is a number of 128 bits that each draw multiplies and adds to (O'Neill 2014), so many
draws that nobody needs are left out by one such step. Numbers come as words of 64 bits in arrays,
the constants too: so plain whole numbers and compiled words give the same bits.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.numerics.compiled import inlined

Words = NDArray[np.uint64]

_FACTOR = 0x2360ED051FC65DA44385DF649FCCF645
_MODULUS = 2**128
_UNIT = 2.0**-53

FULL, HALF, ONE, WIDTH, HALF_WIDTH, LAST_BIT, TURN, SPARE = range(8)
_CONSTANTS = np.array([2**64 - 1, 2**32 - 1, 1, 64, 32, 63, 58, 11], dtype=np.uint64)
_CONSTANTS.setflags(write=False)


class Stream(NamedTuple):
    """Where a generator is, and steps from there: by one draw, and by a row of them.

    state: high and low word. step, row: the words of what a state is multiplied by, and of what is
    added. constants: those above.
    """

    state: Any
    step: Any
    row: Any
    constants: Any


def stream_of(rng: np.random.Generator, row: int) -> Stream | None:
    """The draws of `rng.random` that come next, in rows of so many; None for another generator."""
    bits = rng.bit_generator
    if not isinstance(bits, np.random.PCG64):
        return None
    own = bits.state
    if own["has_uint32"]:
        return None
    state, more = own["state"]["state"], own["state"]["inc"]
    return Stream(_words(state), _step(1, more), _step(row, more), _CONSTANTS)


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
def after(high: Any, low: Any, step: Any, constants: Any) -> tuple[Any, Any]:
    """The state after a step."""
    full, half, width = constants[FULL], constants[HALF], constants[HALF_WIDTH]
    low_of_low, high_of_low = low & half, low >> width
    low_of_step, high_of_step = step[1] & half, step[1] >> width
    below = low_of_low * low_of_step
    left, right = low_of_low * high_of_step, high_of_low * low_of_step
    middle = (below >> width) + (left & half) + (right & half)
    carried = high_of_low * high_of_step + (left >> width) + (right >> width) + (middle >> width)
    high = (carried + low * step[0] + high * step[1] + step[2]) & full
    low = (low * step[1] + step[3]) & full
    if low < step[3]:
        high = (high + constants[ONE]) & full
    return high, low


@inlined
def draw(high: Any, low: Any, constants: Any) -> float:
    """The draw between 0 and 1 that a state stands for."""
    mixed, turn = high ^ low, high >> constants[TURN]
    back = (constants[WIDTH] - turn) & constants[LAST_BIT]
    turned = (mixed >> turn) | ((mixed << back) & constants[FULL])
    return float(turned >> constants[SPARE]) * _UNIT
