"""Numbers as they were given: a float array beside the fractions it stands for.

A float means the shortest decimal that reads back to it, so 0.1 is one tenth and 3*0.1 - 0.3 stays
a tie. Exact values are kept as a palette of distinct fractions and a code for each entry: models
have millions of entries and a handful of values. Every number is 0 or a normal float up to
rounding, so floats and fractions differ by a relative 2**-53 at most.

Exact results and their proofs are long, so a field of a result may be found when it is first asked
for: `Later`, and `changed`, which copies such a result.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidNumber
from didact.inputs import MAX_DIGITS, plain_array, shown
from didact.numerics.texts import number_text

Floats = NDArray[np.float64]
Exact = tuple[list[Fraction], NDArray[np.int64]]
Number = int | float | str | Fraction | Decimal
Instance = TypeVar("Instance")

_MAX_BITS = 3322
"""Of numerators and denominators that are read: MAX_DIGITS, 1,000, decimal digits."""
_SMALLEST = float(np.finfo(np.float64).smallest_normal)
"""Below it floats lose digits, and error bounds that are shares of a value no longer hold."""
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_FRACTION = re.compile(r"[+-]?[0-9]+/[0-9]+")
MAX_AXES = 3
"""How many axes numbers of a model have."""

_FIRST_INEXACT_INTEGER = 2**53
"""From here on integers may round when they become floats."""
_SCALARS = frozenset((int, float, str, Fraction, Decimal, bool))


def read_number(value: Any, place: str) -> Fraction:
    """The exact value of an int, a float, a Fraction, a Decimal or a decimal or fraction string."""
    if isinstance(value, str):
        exact = _read_text(value, place)
    elif isinstance(value, bool | np.bool_):
        raise InvalidNumber(f"{place} must be a number; it is {shown(value)}. Write 1 or 0")
    elif isinstance(value, int | np.integer):
        exact = Fraction(int(value))
    elif isinstance(value, Fraction):
        exact = value
    elif isinstance(value, float | np.floating):
        if not np.isfinite(value):
            raise InvalidNumber(f"{place} must be a finite number; it is {float(value)}")
        exact = Fraction(str(value))
    elif isinstance(value, Decimal):
        exact = _read_decimal(value, place)
    else:
        return _read_lone(value, place)
    as_float(exact, place)
    return exact


def _read_lone(value: Any, place: str) -> Fraction:
    """The exact value of an array of one number without a shape, as tensors often are."""
    array = plain_array(value, place)
    if isinstance(array, np.ndarray) and array.ndim == 0 and array.dtype.kind != "O":
        return read_number(array[()], place)
    raise InvalidNumber(
        f"{place} must be a number or a string such as '0.1' or '9/10'; it is {shown(value)}"
    )


def read_numbers(values: Iterable[Any], place_of: Callable[[int], str]) -> list[Fraction]:
    """The exact values of many numbers; equal ones are read once. `place_of(i)` names entry i."""
    known: dict[tuple[type, Any], Fraction] = {}
    exact = []
    for i, value in enumerate(values):
        key = (type(value), value)
        try:
            number = known.get(key)
        except TypeError:
            number = read_number(value, place_of(i))
        if number is None:
            number = known[key] = read_number(value, place_of(i))
        exact.append(number)
    return exact


def _read_text(text: str, place: str) -> Fraction:
    if len(text) > 2 * MAX_DIGITS + 2:
        raise InvalidNumber(
            f"{place} must have at most {MAX_DIGITS} digits; it has {len(text)} characters. "
            "Round it"
        )
    if not (_DECIMAL.fullmatch(text) or _FRACTION.fullmatch(text)):
        raise InvalidNumber(
            f"{place} must be a finite number such as '0.1' or '9/10'; it is {shown(text)}"
        )
    above, _, below = text.partition("/")
    try:
        return Fraction(Decimal(above)) / Fraction(Decimal(below or 1))
    except ZeroDivisionError:
        raise InvalidNumber(f"{place} must not divide by zero; it is {shown(text)}") from None


def _read_decimal(value: Decimal, place: str) -> Fraction:
    if not value.is_finite():
        raise InvalidNumber(f"{place} must be a finite number; it is {shown(value)}")
    _, digits, exponent = value.as_tuple()
    if len(digits) > MAX_DIGITS or abs(int(exponent)) > MAX_DIGITS:
        raise InvalidNumber(
            f"{place} must have at most {MAX_DIGITS} digits; it is {shown(value)}. Round it"
        )
    return Fraction(value)


def write_number(value: Fraction) -> int | float | str:
    """A JSON value that reads back exactly: an int, a float whose decimal it is, or 'p/q'."""
    if value.denominator == 1 and abs(value.numerator) < 2**53:
        return value.numerator
    try:
        nearest = float(value)
    except OverflowError:
        return number_text(value)
    return nearest if Fraction(repr(nearest)) == value else number_text(value)


def whole_if_whole(value: Fraction) -> int | Fraction:
    """The same value, as an int where it is one."""
    return value.numerator if value.denominator == 1 else value


def as_float(value: Fraction, place: str) -> float:
    """The nearest float; refuses what would overflow, or lose digits next to 0."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MAX_BITS:
        raise InvalidNumber(
            f"{place} must be a fraction with at most {MAX_DIGITS} digits above and below; round it"
        )
    try:
        nearest = float(value)
    except OverflowError:
        raise InvalidNumber(f"{place} must be smaller than 1e308; rescale it") from None
    if abs(nearest) < _SMALLEST and value != 0:
        raise InvalidNumber(f"{place} must be 0 or at least 2.3e-308; write 0 or rescale it")
    return nearest


class Numbers:
    """A read-only float array, and on demand the exact fractions that it stands for.

    The fractions are given as palette and codes, or found by `source` when they are first asked
    for, or else read from the floats.
    """

    __slots__ = ("_codes", "_floats", "_palette", "_source")

    def __init__(
        self,
        floats: Floats,
        palette: list[Fraction] | None = None,
        codes: NDArray[np.int64] | None = None,
        source: Callable[[], Exact] | None = None,
    ):
        floats.setflags(write=False)
        if codes is not None:
            codes.setflags(write=False)
        self._floats = floats
        self._palette = palette
        self._codes = codes
        self._source = source

    def __reduce__(self) -> tuple[Any, ...]:
        return Numbers, (self._floats, self._palette, self._codes, self._source)

    @classmethod
    def read(cls, values: Any, place: str) -> Numbers:
        """Numbers from an array or nested sequences; floats are read exactly only when asked."""
        if isinstance(values, Numbers):
            return values
        given = plain_array(values, place)
        array = given if isinstance(given, np.ndarray) else _as_object_array(given, place)
        plain = _as_float_array(array)
        if plain is not None:
            _require_normal(plain, place)
            return cls(plain)
        entries = array.astype(object).ravel().tolist()
        if any(isinstance(v, list | tuple | np.ndarray) for v in entries):
            raise _irregular(place)
        return cls.of_fractions(
            read_numbers(entries, lambda i: f"{place}{_index(i, array.shape)}"),
            array.shape,
            place,
        )

    @classmethod
    def of_fractions(
        cls, values: Iterable[Fraction], shape: tuple[int, ...], place: str = "value"
    ) -> Numbers:
        """Numbers of this shape from fractions in row order, each of which must have a float."""
        code_of: dict[Fraction, int] = {}
        codes = np.array([code_of.setdefault(v, len(code_of)) for v in values], dtype=np.int64)
        palette = list(code_of)
        floats = np.array([as_float(v, place) for v in palette], dtype=np.float64)
        return cls(floats[codes].reshape(shape), palette, codes.reshape(shape))

    @classmethod
    def of_results(cls, values: Iterable[Fraction]) -> Numbers:
        """Numbers from exact results of any length; the float of one below 2.3e-308 may be 0."""
        exact = list(values)
        floats = np.array([float(value) for value in exact], dtype=np.float64)
        return cls(floats, exact, np.arange(len(exact), dtype=np.int64))

    @property
    def floats(self) -> Floats:
        """The nearest floats, read-only."""
        return self._floats

    @property
    def given_exactly(self) -> bool:
        """Whether the fractions are at hand (they were given, or have been read already)."""
        return self._palette is not None

    def exact(self) -> Exact:
        """The distinct fractions, and for each entry which one it is."""
        if self._palette is None or self._codes is None:
            self._palette, self._codes = self._source() if self._source else self._decimals()
            self._codes.setflags(write=False)
        return self._palette, self._codes

    def _decimals(self) -> Exact:
        distinct, codes = np.unique(self.floats, return_inverse=True)
        palette = [Fraction(repr(v)) for v in distinct.tolist()]
        return palette, codes.reshape(self.floats.shape).astype(np.int64)

    def fractions(self) -> list[Fraction]:
        """Every entry as a fraction, in row order."""
        palette, codes = self.exact()
        return [palette[code] for code in codes.ravel().tolist()]


def _as_object_array(values: Any, place: str) -> NDArray[Any]:
    opened = _opened(values, place)
    try:
        return np.array(opened, dtype=object)
    except ValueError:
        raise _irregular(place) from None


def _opened(values: Any, place: str, depth: int = MAX_AXES) -> Any:
    """Nested sequences whose arrays inside are plain; short floats there keep their decimals."""
    if isinstance(values, list | tuple):
        if depth == 0:
            return values
        return [v if type(v) in _SCALARS else _opened(v, place, depth - 1) for v in values]
    array = plain_array(values, place)
    if not isinstance(array, np.ndarray):
        return array
    is_short = array.dtype.kind == "f" and array.dtype.itemsize < 8
    return (_widened(array) if is_short else array)[()]


def _irregular(place: str) -> InvalidNumber:
    return InvalidNumber(f"{place} must be a regular array; its rows have different lengths")


def _as_float_array(array: NDArray[Any]) -> Floats | None:
    """A fresh float array when the entries are plain machine numbers, else None."""
    kind = array.dtype.kind
    if kind not in "fiubO":
        return None
    if kind == "O" and not all(type(v) in (int, float) for v in array.ravel().tolist()):
        return None
    if kind == "f" and array.dtype.itemsize > 8:
        with np.errstate(over="ignore"):
            narrowed = array.astype(np.float64)
        # Digits that a double does not have are read one by one; where there are none, 0.1 widened
        # to a long float is one tenth as it is in doubles.
        return narrowed if np.array_equal(narrowed.astype(array.dtype), array) else None
    if kind == "f" and array.dtype.itemsize < 8:
        return _widened(array)
    try:
        floats = np.array(array, dtype=np.float64, order="C", subok=False)
    except OverflowError:
        return None
    if kind in "iuO" and (np.abs(floats) >= _FIRST_INEXACT_INTEGER).any():
        return None
    return floats


def _widened(array: NDArray[Any]) -> Floats:
    """Short floats as the decimals they stand for: 0.1 in 32 bits is one tenth as well."""
    distinct, codes = np.unique(array, return_inverse=True)
    return np.array([float(str(v)) for v in distinct])[codes].reshape(array.shape)


def _require_normal(array: Floats, place: str) -> None:
    """Refuse NaN, infinity, and numbers so close to 0 that they have lost digits."""
    sizes = np.abs(array)
    wrong = ~np.isfinite(sizes) | ((sizes < _SMALLEST) & (sizes > 0))
    if wrong.any():
        flat = int(np.flatnonzero(wrong)[0])
        value = float(array.ravel()[flat])
        where = f"{place}{_index(flat, array.shape)}"
        if not np.isfinite(value):
            raise InvalidNumber(f"{where} must be a finite number; it is {value}")
        raise InvalidNumber(
            f"{where} must be 0 or at least 2.3e-308; it is {value:.3g}. Write 0 or rescale it"
        )


def _index(flat: int, shape: tuple[int, ...]) -> str:
    if not shape:
        return ""
    return "[" + ", ".join(str(int(i)) for i in np.unravel_index(flat, shape)) + "]"


class Later:
    """A field whose value may be given as a function, which is called when it is first asked for.

    Proofs of families are long: only who looks at one waits for it.
    """

    def __init__(self, name: str):
        self.place = f"_{name}_or_how"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        value = instance.__dict__[self.place]
        if callable(value):
            value = instance.__dict__[self.place] = value()
        return value

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self.place] = value

    def is_given(self, instance: Any) -> bool:
        """Whether there is a value, or a function that finds it; the function is not called."""
        return instance.__dict__[self.place] is not None


def changed(instance: Instance, **fields: Any) -> Instance:
    """A copy of a frozen instance with other values of some fields.

    `dataclasses.replace` reads every field, so that all that was to be found later is found now;
    here it stays to be found. Cached properties are forgotten: they may depend on the fields.
    """
    other = copy.copy(instance)
    for name in list(vars(other)):
        if isinstance(getattr(type(other), name, None), cached_property):
            del vars(other)[name]
    for name, value in fields.items():
        object.__setattr__(other, name, value)
    return other
