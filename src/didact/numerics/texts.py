"""Whole numbers and fractions of any length as decimal text, and back.

Python refuses texts of more than 4,300 digits, because its conversion takes quadratic time. Exact
results may be longer: 8 states with probabilities of 1,000 digits have counts of 5,000, and so have
250 states with 16. Long numbers go through FLINT, whose conversion is nearly linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from fractions import Fraction
from itertools import islice
from typing import Any

from didact.errors import InvalidNumber, Unsupported

MAX_WRITTEN_DIGITS = 200_000
"""So many digits above and below a fraction line are written and read; `didact.proofcheck` reads
the same. At this length a proof's checker needs about half a second for each number."""

_MAX_BITS = 664_385
"""Bits of MAX_WRITTEN_DIGITS decimal digits: counting digits would take the conversion itself."""
_PLAIN_BITS = 2_000
"""Below this Python converts by itself, however low its limit is set."""

MAX_SHOWN, LONGEST_SHOWN = 8, 80
"""A short text of a result shows so many entries, of so many signs; more it only counts."""

_WRITTEN = re.compile(r"[+-]?[0-9]+(/[0-9]+)?")


def number_text(value: Any) -> str:
    """A whole number or fraction, of Python or FLINT, as digits or 'p/q'."""
    above, below = _parts(value)
    size = max(above.bit_length(), below.bit_length())
    if size > _MAX_BITS:
        raise Unsupported(
            f"exact numbers must have at most {MAX_WRITTEN_DIGITS:,} digits; one here has about "
            f"{int(size * 0.30103):,}. Round the task's numbers, or use arithmetic='float'"
        )
    write = str if size < _PLAIN_BITS else _long_text
    return write(above) if below == 1 else f"{write(above)}/{write(below)}"


def number_texts(values: Iterable[Any] | None) -> list[str] | None:
    """The texts of some numbers; None where there are none."""
    return None if values is None else [number_text(value) for value in values]


def _parts(value: Any) -> tuple[int, int]:
    """Numerator and denominator."""
    if isinstance(value, int | Fraction):
        return value.numerator, value.denominator
    return (int(value.p), int(value.q)) if hasattr(value, "q") else (int(value), 1)


def short_repr(self: Any) -> str:
    """A dataclass in one line: arrays by their shape, long tuples and numbers by their length.

    A result that may hold many or long things takes it as its `__repr__`.
    """
    shown = (f"{f.name}={_short(getattr(self, f.name))}" for f in fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _short(value: Any) -> str:
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"<{'×'.join(map(str, value.shape))} {value.dtype}>"
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        size = max(value.numerator.bit_length(), value.denominator.bit_length())
        digits = int(size * 0.30103)
        return repr(value) if digits < 40 else f"<{type(value).__name__} of about {digits} digits>"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple | list):
        return _few(value, [_short(entry) for entry in value[:MAX_SHOWN]], "()")
    if isinstance(value, Mapping):
        first = islice(value.items(), MAX_SHOWN)
        return _few(value, [f"{key!r}: {_short(entry)}" for key, entry in first], "{}")
    text = repr(value)
    return (
        text
        if len(text) <= LONGEST_SHOWN and " object at 0x" not in text
        else f"<{type(value).__name__}>"
    )


def _few(held: Any, shown: list[str], brackets: str) -> str:
    """The entries where they are few and short, else how many there are."""
    text = ", ".join(shown)
    if len(held) > MAX_SHOWN or len(text) > LONGEST_SHOWN:
        return f"<{len(held)} entries>"
    return f"{brackets[0]}{text}{brackets[1]}"


def read_text(text: str, place: str) -> Fraction:
    """The fraction in a text that `number_text` has written."""
    if len(text) > 2 * MAX_WRITTEN_DIGITS + 2 or not _WRITTEN.fullmatch(text):
        raise InvalidNumber(
            f"{place} must be digits or 'p/q' of at most {MAX_WRITTEN_DIGITS:,} digits each; it "
            f"has {len(text)} characters"
        )
    above, _, below = text.partition("/")
    divisor = _read_digits(below) if below else 1
    if divisor == 0:
        raise InvalidNumber(f"{place} must not divide by zero; write 0 as 0")
    return Fraction(_read_digits(above), divisor)


def _long_text(value: int) -> str:
    from flint import fmpz

    return str(fmpz(value))


def _read_digits(digits: str) -> int:
    if len(digits) < 600:
        return int(digits)
    from flint import fmpz

    return int(fmpz(digits.removeprefix("+")))
