"""Rows of probabilities: repeats added up, sums checked, and rows divided by their exact sums.

Rows lie one after another in one array, row r from offsets[r] to offsets[r + 1].
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidModel
from didact.numerics.exact import Exact, Floats, Numbers

SUM_TOLERANCE = 1e-9
"""How far from 1 the sum of a distribution may be; it is then divided by its sum."""

HALF_ULP = 2.0**-53
"""The relative error of one rounding; a row off by more than one for each entry is divided."""


def add_repeats(key: NDArray[np.int64], numbers: Numbers) -> tuple[NDArray[np.int64], Numbers]:
    """Each sorted key once, with the exact sum of the numbers that stood there."""
    starts = np.flatnonzero(np.concatenate(([True], np.diff(key) > 0)))
    if numbers.given_exactly:
        palette, codes = _exact_sums(numbers, starts)
        sums = (palette[code] for code in codes.tolist())
        return key[starts], Numbers.of_fractions(sums, codes.shape, "a probability")
    floats = numbers.floats[starts]
    ends = np.append(starts[1:], key.size)
    for i in np.flatnonzero(ends - starts > 1).tolist():
        floats[i] = math.fsum(numbers.floats[starts[i] : ends[i]])
    return key[starts], Numbers(floats, source=partial(_exact_sums, numbers, starts))


def _exact_sums(numbers: Numbers, starts: NDArray[np.int64]) -> Exact:
    """The exact sums of the stretches that begin at `starts`."""
    palette, codes = numbers.exact()
    code_of = {value: code for code, value in enumerate(palette)}
    sums = codes[starts]
    ends = np.append(starts[1:], codes.size)
    for i in np.flatnonzero(ends - starts > 1).tolist():
        total = _sum_of(codes[starts[i] : ends[i]].tolist(), palette)
        sums[i] = code_of.setdefault(total, len(code_of))
    return list(code_of), sums


def _sum_of(codes: Iterable[int], palette: list[Fraction]) -> Fraction:
    return sum((palette[code] * n for code, n in Counter(codes).items()), Fraction(0))


def as_distributions(numbers: Numbers, offsets: NDArray[np.int64], n_actions: int) -> Numbers:
    """Floats that sum to 1 within rounding in each row that is not empty; row s*A + a."""
    totals = row_sums(numbers.floats, offsets)
    lengths = np.diff(offsets)
    wrong = (np.abs(totals - 1.0) > SUM_TOLERANCE) & (lengths > 0)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        state, action = divmod(row, n_actions)
        raise InvalidModel(
            f"transitions[{state}, {action}] must be a distribution over next states; "
            f"it sums to {totals[row]:.12g}"
        )
    if numbers.given_exactly:
        return divide_by_sums(numbers, offsets)
    loose = (np.abs(totals - 1.0) > HALF_ULP * lengths) & (lengths > 0)
    if not loose.any():
        return numbers
    divisors = np.where(loose, totals, 1.0)
    return Numbers(numbers.floats / np.repeat(divisors, lengths), source=numbers.exact)


def row_sums(values: Floats, offsets: NDArray[np.int64]) -> Floats:
    """The sum of each row; 0.0 where a row is empty."""
    sums = np.zeros(offsets.size - 1)
    filled = np.diff(offsets) > 0
    if filled.any():
        with np.errstate(over="ignore"):
            sums[filled] = np.add.reduceat(values, offsets[:-1][filled])
    return sums


def divide_by_sums(numbers: Numbers, offsets: NDArray[np.int64]) -> Numbers:
    """The exact numbers, each row divided by its exact sum where that is not 1 already."""
    palette, codes = numbers.exact()
    flat = codes.ravel().tolist()
    bounds = offsets.tolist()
    sum_of: dict[tuple[int, ...], Fraction] = {}
    values: list[Fraction] = []
    changed = False
    for low, high in pairwise(bounds):
        row = tuple(flat[low:high])
        total = sum_of.get(row)
        if total is None:
            total = sum_of[row] = _sum_of(row, palette)
        if total == 1 or total == 0:
            values.extend(palette[c] for c in row)
        else:
            changed = True
            values.extend(palette[c] / total for c in row)
    return Numbers.of_fractions(values, (len(values),), "a probability") if changed else numbers
