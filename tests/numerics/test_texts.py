"""Numbers of any length as text, against `decimal`, which has no limit on digits."""

import random
import sys
from dataclasses import dataclass
from decimal import MAX_EMAX, Context, Decimal
from fractions import Fraction

import flint
import numpy as np
import pytest

from didact import proofcheck
from didact.errors import InvalidNumber, Unsupported
from didact.numerics.texts import (
    MAX_WRITTEN_DIGITS,
    number_text,
    number_texts,
    read_text,
    short_repr,
)

LOWEST_LIMIT = 640
"""Python can be told to refuse texts of more digits than this, and of no fewer."""


@pytest.fixture(params=[4300, LOWEST_LIMIT])
def limit(request):
    """Python's own limit, as it is and as low as it can be set."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(request.param)
    yield request.param
    sys.set_int_max_str_digits(before)


def digits(number: int) -> str:
    exact = Context(prec=10**6, Emax=MAX_EMAX)
    return format(exact.create_decimal(number), "f")


@pytest.mark.parametrize("size", [1, 3, 600, 640, 641, 4300, 4301, 20_000])
def test_numbers_of_every_length_are_written_and_read(limit, size):
    rng = random.Random(size)
    above = rng.randrange(10 ** (size - 1), 10**size)
    below = 10**size + 1
    assert number_text(above) == digits(above)
    assert number_text(-above) == f"-{digits(above)}"
    ratio = Fraction(-above, below)
    text = f"-{digits(-ratio.numerator)}/{digits(ratio.denominator)}"
    assert number_text(ratio) == text
    assert number_text(flint.fmpq(ratio.numerator, ratio.denominator)) == text
    assert number_text(flint.fmpz(above)) == digits(above)
    assert read_text(text, "x") == ratio
    assert read_text(digits(above), "x") == above
    assert read_text(f"+{digits(above)}", "x") == above


def test_whole_fractions_have_no_line():
    assert number_texts([Fraction(4, 2), 0, Fraction(1, 3)]) == ["2", "0", "1/3"]
    assert number_texts(None) is None


def test_what_is_too_long_is_refused_with_its_size_and_a_remedy():
    with pytest.raises(Unsupported, match=r"at most 200,000 digits; one here has about 200,00\d"):
        number_text(Fraction(1, 10 ** (MAX_WRITTEN_DIGITS + 2)))
    assert len(number_text(10 ** (MAX_WRITTEN_DIGITS - 1))) == MAX_WRITTEN_DIGITS
    with pytest.raises(InvalidNumber, match="witness must be digits"):
        read_text("1" * (2 * MAX_WRITTEN_DIGITS + 3), "witness")


@pytest.mark.parametrize("text", ["", "1.5", "1/", "/2", "1/2/3", "0x10", "1e5", "\u0661", " 1"])
def test_other_texts_are_refused(text):
    with pytest.raises(InvalidNumber, match="x must be digits"):
        read_text(text, "x")


def test_zero_divides_nothing():
    with pytest.raises(InvalidNumber, match="must not divide by zero"):
        read_text("1/00", "x")


def test_what_is_written_the_checker_reads():
    """The two share no code; both say the same limit."""
    assert proofcheck.MAX_DIGITS == MAX_WRITTEN_DIGITS
    longest = Fraction(10 ** (MAX_WRITTEN_DIGITS - 1) + 1, 10 ** (MAX_WRITTEN_DIGITS - 1) + 3)
    assert proofcheck.read(number_text(longest), Fraction, "x") == longest


@dataclass(frozen=True)
class Held:
    plain: int
    long: Fraction
    many: tuple[int, ...]
    named: dict[str, Decimal | int]

    __repr__ = short_repr


def test_results_show_themselves_whatever_they_hold(limit):
    short = Held(1, Fraction(1, 2), (3,), {"a": Decimal("0.5")})
    assert repr(short).endswith(
        "Held(plain=1, long=Fraction(1, 2), many=(3), named={'a': Decimal('0.5')})"
    )
    long = Held(1, Fraction(1, 10**5000), (1, 10**5000), {"a": 10**5000})
    assert repr(long).endswith(
        "Held(plain=1, long=<Fraction of about 5000 digits>, many=(1, <int of about 5000 digits>), "
        "named={'a': <int of about 5000 digits>})"
    )


def test_results_that_hold_much_count_it():
    names = {str(i): 10**i for i in range(9)}
    many = Held(np.zeros((3, 4)), object(), tuple(range(9)), names)
    assert repr(many).endswith(
        "Held(plain=<3×4 float64>, long=<object>, many=<9 entries>, named=<9 entries>)"
    )
    wide = Held("x" * 100, True, ("y" * 50, "z" * 50), {})
    assert repr(wide).endswith("Held(plain=<str>, long=True, many=<2 entries>, named={})")
