"""Transition probabilities: one sparse representation (CSR), row s*A + a, states as columns.

Rows are distributions or, for terminal states, empty. Entries are sorted by successor, none is
zero, none stands twice. A row that sums to 1 only within rounding is divided by its sum. Repeats
and sums are exact: 0.1 and 0.2 make 3/10. With n entries in a row, a probability's float and its
exact value differ by a relative (2n + 8) * 1.2e-16 at most.

Rows of probabilities lie one after another in one array, row r from offsets[r] to offsets[r + 1].
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidModel
from didact.inputs import is_whole, plain_array, shown, whole_number
from didact.numerics.exact import Exact, Floats, Numbers, read_numbers
from didact.numerics.texts import short_repr

MAX_ROWS = 50_000_000


@dataclass(frozen=True, eq=False)
class Transitions:
    """Sparse rows of next-state probabilities; use the `from_...` constructors.

    n_states: S.
    n_actions: A.
    offsets: (S*A + 1,), where each row s*A + a begins in the arrays below.
    successors: the next states of all rows, one row after another.
    probabilities: the probability of each of them, exactly as given.
    """

    n_states: int
    n_actions: int
    offsets: NDArray[np.int64]
    successors: NDArray[np.uint32]
    probabilities: Numbers
    _exact: list[Numbers] = field(default_factory=list, repr=False)

    __repr__ = short_repr

    @classmethod
    def from_arrays(
        cls,
        n_states: int,
        n_actions: int,
        offsets: NDArray[Any],
        successors: NDArray[Any],
        probabilities: Any,
    ) -> Transitions:
        """Transitions from CSR arrays in any entry order; zeros and repeats are put in order.

        n_states: S.
        n_actions: A.
        offsets: (S*A + 1,), where each row s*A + a begins.
        successors: the next states of all rows.
        probabilities: the probability of each of them.
        """
        n_states, n_actions = require_sizes(n_states, n_actions)
        numbers = Numbers.read(probabilities, "probabilities")
        bounds = _whole_numbers(offsets, "offsets").astype(np.int64)
        targets = _whole_numbers(successors, "successors")
        if bounds.size != n_states * n_actions + 1:
            raise InvalidModel(
                f"transitions need {n_states * n_actions} rows for {n_states} states and "
                f"{n_actions} actions; the row offsets describe {bounds.size - 1}"
            )
        if numbers.floats.shape != targets.shape:
            raise InvalidModel(
                "probabilities must have one entry for each successor; the shapes are "
                f"{numbers.floats.shape} and {targets.shape}"
            )
        lengths: NDArray[np.int64] = np.diff(bounds)
        if bounds[0] != 0 or bounds[-1] != targets.size or (lengths < 0).any():
            raise InvalidModel(
                f"offsets must rise from 0 to the {targets.size} entries; they go from "
                f"{bounds[0]} to {bounds[-1]}" + (" and fall" if (lengths < 0).any() else "")
            )
        rows = np.repeat(np.arange(n_states * n_actions), lengths)
        return _canonical(n_states, n_actions, rows, targets, numbers)

    @classmethod
    def from_dense(cls, array: Any) -> Transitions:
        """Transitions from an array (S, A, S) of probabilities.

        array: array[s, a, t] is the probability of t after a in s.
        """
        numbers = Numbers.read(array, "transitions")
        shape = numbers.floats.shape
        if len(shape) != 3 or shape[0] != shape[2]:
            raise InvalidModel(
                "transitions must have the shape (states, actions, states), or be a sparse matrix "
                f"(states*actions, states); the shape is {shape}"
            )
        n_states, n_actions = require_sizes(shape[0], shape[1])
        rows, successors = np.nonzero(numbers.floats.reshape(n_states * n_actions, n_states))
        kept = _select(numbers, (rows * n_states + successors))
        return _canonical(n_states, n_actions, rows, successors, kept)

    @classmethod
    def from_sparse(cls, matrix: Any) -> Transitions:
        """Transitions from a SciPy sparse matrix (S*A, S), row s*A + a.

        matrix: any SciPy sparse matrix or array.
        """
        shape = matrix.shape
        if len(shape) != 2 or shape[1] == 0 or shape[0] % shape[1]:
            raise InvalidModel(
                "sparse transitions must have the shape (states*actions, states), row s*A + a; "
                f"the shape is {shape}"
            )
        n_states, n_actions = require_sizes(shape[1], shape[0] // shape[1])
        entries = matrix.tocoo()
        numbers = Numbers.read(entries.data, "transitions.data")
        return _canonical(n_states, n_actions, entries.row.astype(np.int64), entries.col, numbers)

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[Any]], n_states: int, n_actions: int) -> Transitions:
        """Transitions from rows [state, action, next state, probability]; repeats add up.

        rows: lists or tuples of four.
        n_states: S.
        n_actions: A.
        """
        n_states, n_actions = require_sizes(n_states, n_actions)
        index, successors, given = [], [], []
        for i, row in enumerate(rows):
            if not isinstance(row, list | tuple) or len(row) != 4:
                raise InvalidModel(
                    f"transitions[{i}] must be [state, action, next state, probability]; "
                    f"it is {shown(row)}"
                )
            try:
                state = require_index(row[0], n_states, "state")
                action = require_index(row[1], n_actions, "action")
                successors.append(require_index(row[2], n_states, "next state"))
            except InvalidModel as error:
                raise InvalidModel(f"transitions[{i}]: {error}") from None
            index.append(state * n_actions + action)
            given.append(row[3])
        values = read_numbers(given, "transitions[{}]: probability".format)
        return _canonical(
            n_states,
            n_actions,
            np.array(index, dtype=np.int64),
            np.array(successors, dtype=np.int64),
            Numbers.of_fractions(values, (len(values),), "a probability"),
        )

    @property
    def n_entries(self) -> int:
        """How many positive probabilities there are."""
        return int(self.successors.size)

    def is_deterministic(self) -> bool:
        """Whether every row has at most one successor."""
        return bool((np.diff(self.offsets) <= 1).all())

    def is_empty(self) -> NDArray[np.bool_]:
        """Shape (S, A): which rows have no successor."""
        return np.asarray(np.diff(self.offsets) == 0).reshape(self.n_states, self.n_actions)

    def matrix(self) -> Any:
        """The same as a SciPy CSR matrix (S*A, S)."""
        from scipy.sparse import csr_array

        return csr_array(
            (self.probabilities.floats, self.successors.astype(np.int64), self.offsets),
            shape=(self.n_states * self.n_actions, self.n_states),
        )

    def exact(self) -> tuple[list[Fraction], NDArray[np.int64]]:
        """Exact probabilities as palette and codes; every row sums to exactly 1."""
        if not self._exact:
            self._exact.append(divide_by_sums(self.probabilities, self.offsets))
        return self._exact[0].exact()


def require_sizes(n_states: Any, n_actions: Any) -> tuple[int, int]:
    """Refuse sizes that make no model, or more memory than any model here may take."""
    states = whole_number(n_states, "n_states", 1, math.inf, error=InvalidModel)
    actions = whole_number(n_actions, "n_actions", 1, math.inf, error=InvalidModel)
    if states * actions > MAX_ROWS:
        raise InvalidModel(
            f"n_states * n_actions must be at most {MAX_ROWS}; "
            f"it is {shown(n_states)} * {shown(n_actions)}"
        )
    return states, actions


def require_index(value: Any, size: int, place: str) -> int:
    """A whole number from 0 to size - 1."""
    if type(value) is int and 0 <= value < size:
        return value
    if not is_whole(value):
        raise InvalidModel(f"{place} must be a whole number; it is {shown(value)}")
    if not 0 <= value < size:
        raise InvalidModel(f"{place} must be from 0 to {size - 1}; it is {shown(value)}")
    return int(value)


def _whole_numbers(given: Any, place: str) -> NDArray[Any]:
    try:
        array = np.asarray(plain_array(given, place))
    except ValueError:
        raise InvalidModel(f"{place} must be one row of whole numbers") from None
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InvalidModel(f"{place} must be one row of whole numbers; it is {shown(given)}")
    return array if array.size else array.astype(np.int64)


def _select(numbers: Numbers, flat: NDArray[np.int64]) -> Numbers:
    """The entries at flat positions, exact where the numbers were given exactly."""
    floats = numbers.floats.ravel()[flat]
    if not numbers.given_exactly:
        return Numbers(floats)
    palette, codes = numbers.exact()
    return Numbers(floats, palette, codes.ravel()[flat])


def _canonical(
    n_states: int,
    n_actions: int,
    rows: NDArray[np.int64],
    successors: NDArray[Any],
    numbers: Numbers,
) -> Transitions:
    """Drop zeros, sort by row and successor, add up repeats, check, and divide by sums."""
    negative = numbers.floats < 0
    if negative.any():
        i = int(np.flatnonzero(negative)[0])
        state, action = divmod(int(rows[i]), n_actions)
        raise InvalidModel(
            f"transitions[{state}, {action}, {successors[i]}] must not be negative; "
            f"it is {numbers.floats[i]:.6g}"
        )
    outside = (successors < 0) | (successors >= n_states)
    if outside.any():
        i = int(np.flatnonzero(outside)[0])
        raise InvalidModel(
            f"next states must be from 0 to {n_states - 1}; entry {i} leads to {successors[i]}"
        )
    key = rows * n_states + successors.astype(np.int64)
    positive = numbers.floats > 0
    if not positive.all():
        key, numbers = key[positive], _select(numbers, np.flatnonzero(positive))
    steps = np.diff(key)
    if (steps < 0).any():
        order = np.argsort(key, kind="stable")
        key, numbers = key[order], _select(numbers, order)
        steps = np.diff(key)
    if (steps == 0).any():
        key, numbers = add_repeats(key, numbers)
    counts = np.bincount(key // n_states, minlength=n_states * n_actions)
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    probabilities = as_distributions(numbers, offsets, n_actions)
    targets = (key % n_states).astype(np.uint32)
    for array in (offsets, targets):
        array.setflags(write=False)
    return Transitions(n_states, n_actions, offsets, targets, probabilities)


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
