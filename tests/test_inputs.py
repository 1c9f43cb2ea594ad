"""Checks, messages and plain values, each against a few lines that say the same another way."""

import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.errors import InvalidFile, InvalidModel, InvalidParameter
from didact.inputs import (
    as_float,
    as_text,
    choice,
    counted,
    finite_number,
    in_one_line,
    is_number,
    is_whole,
    nearest_spelling,
    own_code,
    plain,
    plain_document,
    reason_of,
    shown,
    shown_name,
    whole_number,
)

WHOLE = [0, -3, 10**30, np.int64(7), np.uint8(255)]
REAL = [0.5, math.nan, -math.inf, np.float32(0.5), np.float64(math.nan)]
NEITHER = [True, np.True_, None, "3", 1j, np.complex128(1), [3], np.array([3]), Fraction(1, 2)]


class Unprintable:
    def __repr__(self) -> str:
        raise ValueError("no")


@pytest.mark.parametrize(
    "value",
    [
        *(10**10_000, Fraction(1, 10**10_000), "x" * 10**6, list(range(10**5)), np.zeros((50, 50))),
        *("a\nb", "\u2028", "\ud800", Unprintable(), [[[[[[[[[1]]]]]]]]], {"k": "v" * 1000}),
        *(Decimal("1E+999999"), [["long" * 20] * 20] * 20),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_message_shows_any_value_briefly_on_one_line(value: object) -> None:
    text = shown(value)
    assert 0 < len(text) <= 60
    assert len(text.splitlines()) == 1
    text.encode()


def test_numbers_of_numpy_are_shown_like_those_of_python():
    assert [shown(v) for v in (np.float64(0.1), np.int8(3), np.True_)] == ["0.1", "3", "True"]
    assert shown(Fraction(1, 3)) == "1/3"


def test_names_are_printable_and_cut_with_a_sign():
    assert shown_name("a\x1b[31m\tb\u202e") == "a [31m b "
    assert shown_name("x" * 40) == "x" * 40
    assert shown_name("x" * 41) == "x" * 39 + "…"
    assert shown_name("long name", 5) == "long…"


@given(st.text())
def test_one_line_keeps_the_words_and_nothing_between_them(text):
    line = in_one_line(text)
    assert line.split() == "".join(s if s.isprintable() else " " for s in text).split()
    assert line.isprintable()
    assert "  " not in line


def test_a_failure_is_its_kind_and_message_cut():
    assert reason_of(KeyError("a\nb")) == "KeyError: 'a\\nb'"
    assert reason_of(ValueError("two\n\tlines")) == "ValueError: two lines"
    assert reason_of(ValueError("x" * 500)) == "ValueError: " + "x" * 188
    assert len(reason_of(ValueError("x" * 500), 300)) == 300


def test_failures_of_own_code_are_told_and_refusals_stay():
    with pytest.raises(InvalidParameter) as raised, own_code("the cost function"):
        raise ZeroDivisionError("by\nzero")
    assert str(raised.value) == "the cost function failed: ZeroDivisionError: by zero"
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    with pytest.raises(InvalidModel, match=r"^as it is$"), own_code("the cost function"):
        raise InvalidModel("as it is")


def test_one_thing_is_counted_in_the_singular():
    assert [counted(n, "pair") for n in (0, 1, 2)] == ["0 pairs", "1 pair", "2 pairs"]


def test_the_nearest_spelling_is_named_if_there_is_a_near_one():
    assert nearest_spelling("sise", ["size", "seed"]) == " (did you mean 'size'?)"
    assert nearest_spelling("zzz", ["size", "seed"]) == ""
    assert nearest_spelling(3, []) == ""


def test_whole_numbers_and_numbers_are_told_apart_from_truth_values():
    assert [v for v in (*WHOLE, *REAL, *NEITHER) if is_whole(v)] == WHOLE
    assert all(is_number(v) for v in (*WHOLE, *REAL))
    assert not any(is_number(v) for v in NEITHER)


@pytest.mark.parametrize("value", [1, 5, np.int64(5), np.uint8(1)])
def test_a_whole_number_comes_back_as_an_int(value):
    assert whole_number(value, "size", 1, 5) == value
    assert type(whole_number(value, "size", 1)) is int


@pytest.mark.parametrize("value", [0, 6, np.int64(6), *REAL, *NEITHER])
def test_what_is_no_whole_number_in_the_range_is_refused_in_one_line(value):
    with pytest.raises(InvalidParameter) as raised:
        whole_number(value, "size", 1, 5)
    assert str(raised.value) == f"size must be a whole number from 1 to 5; it is {shown(value)}"


def test_the_room_chooses_the_kind_of_refusal():
    with pytest.raises(InvalidModel, match=r"^n_states must be a whole number from 1; it is 0$"):
        whole_number(0, "n_states", 1, error=InvalidModel)


def test_finite_numbers_have_a_least_value():
    assert finite_number(np.float32(0.5), "trust", 0) == 0.5
    assert finite_number(0, "trust", 0) == 0.0
    for value in (-0.1, math.nan, math.inf, 10**400, True, "1", None, np.complex128(1)):
        with pytest.raises(InvalidParameter, match=r"^trust must be a finite number from 0; it is"):
            finite_number(value, "trust", 0)


def test_too_large_numbers_are_infinite_and_no_numbers_are_nan():
    assert [as_float(v) for v in (3, -(10**400), 10**400)] == [3.0, -math.inf, math.inf]
    assert all(math.isnan(as_float(v)) for v in NEITHER)


def test_a_choice_is_one_of_the_names():
    assert choice("box", "region", ("box", "sphere")) == "box"
    with pytest.raises(InvalidParameter) as raised:
        choice("flat", "arithmetic", ("auto", "float", "exact"))
    told = "arithmetic must be 'auto', 'float' or 'exact'; it is 'flat' (did you mean 'float'?)"
    assert str(raised.value) == told
    for value in (None, ["box"], np.array(["box"]), "Box,"):
        with pytest.raises(InvalidParameter, match=r"^region must be 'box' or 'sphere'; it is "):
            choice(value, "region", ("box", "sphere"))


def test_a_text_is_one_or_told():
    assert as_text("", "runs.name") == ""
    with pytest.raises(InvalidParameter, match=r"^task must be text; it is b'six-cell'$"):
        as_text(b"six-cell", "task")
    with pytest.raises(InvalidFile, match=r"^task must be text; it is None$"):
        as_text(None, "task", error=InvalidFile)


@pytest.mark.parametrize("value", [None, True, 3, 0.5, "text"])
def test_plain_values_stay_as_they_are(value):
    assert plain(value) is value
    assert plain_document([value, (value,)]) == [value, [value]]


def test_values_of_numpy_become_plain_and_others_are_named():
    assert type(plain(np.int64(3))) is int
    assert type(plain(np.True_)) is bool
    assert plain(Fraction(1, 3)) == "1/3"
    assert plain([1, 2]) == "[1, 2]"
    document = {"a": np.arange(3), 1: (np.float64(0.5), math.nan, -math.inf), "f": Decimal("0.1")}
    assert plain_document(document) == {"a": [0, 1, 2], "1": [0.5, None, None], "f": "0.1"}
    json.dumps(plain_document(document), allow_nan=False)
