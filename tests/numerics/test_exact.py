"""Numbers are read as they were written, and nothing else is read at all."""

import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from didact.errors import InvalidNumber
from didact.inputs import shown
from didact.numerics.exact import MAX_DIGITS, Numbers, as_float, read_number, read_numbers

NORMAL_FLOATS = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False)
SMALL_FRACTIONS = st.fractions(min_value=-1000, max_value=1000, max_denominator=10**6)


def written(value: Fraction) -> st.SearchStrategy:
    """Ways to give one value: as a fraction, as text, and as a whole number where it is one."""
    ways: list[object] = [value, str(value), f"{value.numerator}/{value.denominator}"]
    if value.denominator == 1:
        ways += [int(value), np.int64(int(value)), float(value), Decimal(int(value))]
    return st.sampled_from(ways)


def refusal(value: object) -> str:
    with pytest.raises(InvalidNumber) as caught:
        read_number(value, "weights[3]")
    return str(caught.value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, Fraction(0)),
        (-7, Fraction(-7)),
        (np.int8(-7), Fraction(-7)),
        (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
        (2**53 + 1, Fraction(2**53 + 1)),
        (0.1, Fraction(1, 10)),
        (-0.0, Fraction(0)),
        (1e-300, Fraction(1, 10**300)),
        (1e300, Fraction(10**300)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.float16(0.1), Fraction(1, 10)),
        (Fraction(-1, 3), Fraction(-1, 3)),
        (Decimal("0.30"), Fraction(3, 10)),
        (Decimal("1E-5"), Fraction(1, 10**5)),
        ("0.1", Fraction(1, 10)),
        ("+.5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("-9/10", Fraction(-9, 10)),
        ("2/4", Fraction(1, 2)),
        ("1e-3", Fraction(1, 1000)),
        ("25E+2", Fraction(2500)),
        (np.str_("1/3"), Fraction(1, 3)),
        ("0." + "1234567890" * 4, Fraction(int("1234567890" * 4), 10**40)),
    ],
)
def test_a_number_means_what_is_written(value: object, expected: Fraction) -> None:
    assert read_number(value, "here") == expected


@pytest.mark.parametrize(
    "value",
    [
        *(float("nan"), float("inf"), -np.inf, np.float32("nan"), np.longdouble("inf")),
        *(Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity")),
        *("nan", "inf", "-Infinity", "", " ", "1/0", "0/0", "-1/0", "1/-2", "1//2", "1/2/3", "/2"),
        *(
            " 0.5 ",
            "0.5\n",
            "\u00a00.5",
            "1 000",
            "1_000",
            "1,5",
            "0x10",
            "1e",
            "e5",
            ".",
            "+",
            "--1",
        ),
        *("½", "١", "１", "²", "1e١", "0.१", "1/٢", "١/2", "−1", "1\x00"),
        *("1e999999999", "1e-999999999", "1e9999", "1e400", "-1e400", "1e-400", "4e-324", "1e-310"),
        *(Decimal("1e999999999"), Decimal("1e-999999999"), Decimal("1e400"), Decimal("-1e-400")),
        *(1e-310, 5e-324, 10**400, -(10**400), 10**10_000, Fraction(1, 10**400)),
        *(Fraction(10**5000 + 1, 10**5000), Fraction(2**5000, 3**3000)),
        *("1" * 10_000, "0." + "3" * 10_000, "1" * 900 + "/" + "3" * 1200, Decimal("3" * 5000)),
        *(True, False, np.True_, None, b"0.5", 1j, [1], (1,), {"a": 1}, {1}, ..., np.zeros(2)),
    ],
    ids=lambda value: shown(value)[:40],
)
def test_anything_else_is_refused_in_one_line(value: object) -> None:
    message = refusal(value)
    assert message.startswith("weights[3] must ")
    assert "\n" not in message
    assert len(message) < 200


@given(NORMAL_FLOATS)
@example(2.2250738585072014e-308)
@example(1.7976931348623157e308)
@example(0.1 + 0.2)
def test_a_float_is_its_shortest_decimal_and_reads_back(value: float) -> None:
    exact = read_number(value, "here")
    assert exact == Fraction(repr(value)) == Fraction(Decimal(repr(value)))
    assert as_float(exact, "here") == value
    assert read_number(str(exact), "here") == exact


@given(st.integers(0, 10**6), st.integers(0, 12))
def test_decimals_add_up_as_decimals(numerator: int, places: int) -> None:
    tenth = read_number(float(Decimal(numerator).scaleb(-places)), "here")
    assert 3 * tenth == read_number(float(3 * Decimal(numerator).scaleb(-places)), "here")


def test_three_tenths_are_a_tie() -> None:
    assert 3 * 0.1 - 0.3 != 0
    assert 3 * read_number(0.1, "a") - read_number(0.3, "b") == 0


@given(st.fractions(max_denominator=10**30))
def test_a_fraction_reads_back_from_its_text(value: Fraction) -> None:
    assert read_number(str(value), "here") == value


def test_every_accepted_decimal_can_be_written_as_a_fraction_and_read_again() -> None:
    longest = read_number("0." + "7" * (MAX_DIGITS - 1), "here")
    assert read_number(str(longest), "here") == longest


def test_the_nearest_float_is_within_half_an_ulp() -> None:
    value = read_number("0.1000000000000000055511151231257827021181583404541015624", "here")
    assert as_float(value, "here") == 0.1


@given(
    st.lists(SMALL_FRACTIONS, min_size=1, max_size=12).flatmap(
        lambda values: st.tuples(st.just(values), st.tuples(*map(written, values)))
    )
)
def test_a_list_of_mixed_kinds_keeps_each_value(case: tuple[list[Fraction], tuple]) -> None:
    values, ways = case
    numbers = Numbers.read(list(ways), "weights")
    assert numbers.fractions() == values
    assert numbers.floats.tolist() == [float(v) for v in values]
    palette, codes = numbers.exact()
    assert len(set(palette)) == len(palette)
    assert [palette[c] for c in codes] == values


@given(st.lists(NORMAL_FLOATS, max_size=12))
def test_float_arrays_and_lists_of_floats_are_read_alike(values: list[float]) -> None:
    expected = [Fraction(repr(v)) for v in values]
    for given_as in (values, tuple(values), np.array(values), np.array(values, dtype=object)):
        numbers = Numbers.read(given_as, "x")
        assert numbers.floats.tolist() == values
        assert numbers.fractions() == expected


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 1, 3)])
def test_shapes_are_kept(shape: tuple[int, ...]) -> None:
    floats = np.arange(int(np.prod(shape)), dtype=float).reshape(shape) / 8
    for values in (floats, floats.tolist(), floats.astype(str), floats.astype(object)):
        numbers = Numbers.read(values, "x")
        if shape != (0,):
            assert numbers.floats.shape == shape
            assert numbers.exact()[1].shape == shape
        assert numbers.fractions() == [Fraction(i, 8) for i in range(floats.size)]


@pytest.mark.parametrize("value", [2**53 - 1, 2**53, 2**53 + 1, 2**60 + 1, 2**63 - 1, 10**30 + 1])
def test_whole_numbers_beyond_the_floats_stay_exact(value: int) -> None:
    assert Numbers.read([value, 1], "x").fractions() == [value, 1]
    assert Numbers.read([-value], "x").fractions() == [-value]
    if value < 2**63:
        assert Numbers.read(np.array([value, -value]), "x").fractions() == [value, -value]
        assert Numbers.read(np.array([value], dtype=np.uint64), "x").fractions() == [value]


def test_short_floats_stand_for_their_own_decimals() -> None:
    for kind in (np.float16, np.float32):
        numbers = Numbers.read(np.array([[0.1, 0.3], [0.5, 0.1]], dtype=kind), "x")
        assert numbers.floats.tolist() == [[0.1, 0.3], [0.5, 0.1]]
        assert 3 * numbers.fractions()[0] == numbers.fractions()[1]


def test_boolean_arrays_are_indicators() -> None:
    assert Numbers.read(np.eye(2, dtype=bool), "x").fractions() == [1, 0, 0, 1]


def test_negative_zero_is_zero() -> None:
    assert Numbers.read([-0.0, 0.0], "x").fractions() == [0, 0]


def test_equal_numbers_are_read_once_but_true_is_never_one() -> None:
    assert read_numbers([1, 1.0, "1", Decimal(1)], "x[{}]".format) == [1, 1, 1, 1]
    with pytest.raises(InvalidNumber, match=r"x\[1\] must be a number; it is True"):
        read_numbers([1, True], "x[{}]".format)
    with pytest.raises(InvalidNumber, match=r"x\[2\] must be a number .*it is \[1\]"):
        read_numbers([1, 1, [1]], "x[{}]".format)


@pytest.mark.parametrize(
    ("values", "where"),
    [
        ([[1.0, float("nan")]], "x[0, 1] must be a finite number; it is nan"),
        (np.array([[1.0], [-np.inf]]), "x[1, 0] must be a finite number; it is -inf"),
        (np.array([0.0, 1e-310]), "x[1] must be 0 or at least 2.3e-308; it is 1e-310"),
        (["0.5", "five"], "x[1] must be a finite number such as '0.1' or '9/10'; it is 'five'"),
        ([1, None], "x[1] must be a number"),
        ([1, True], "x[1] must be a number; it is True. Write 1 or 0"),
        ([1, "1/0"], "x[1] must not divide by zero; it is '1/0'"),
        (np.array([1 + 2j]), "x[0] must be a number"),
        (np.array(["2020-01-01"], dtype="M8[D]"), "x[0] must be a number"),
        ([1, 10**400], "x[1] must be smaller than 1e308"),
        ([[1], [1, 2]], "x must be a regular array; its rows have different lengths"),
        ([[1], 2], "x must be a regular array; its rows have different lengths"),
        ([[1, "a"], []], "x must be a regular array; its rows have different lengths"),
        ([np.zeros((2, 2)), np.zeros((2, 3))], "x must be a regular array"),
        (None, "x must be a number"),
        ({"a": 1}, "x must be a number"),
        ("abc", "x must be a finite number"),
    ],
)
def test_a_bad_entry_is_named(values: object, where: str) -> None:
    with pytest.raises(InvalidNumber) as caught:
        Numbers.read(values, "x")
    assert str(caught.value).startswith(where)


def test_deep_nesting_is_refused() -> None:
    nested: object = 1
    for _ in range(900):
        nested = [nested]
    with pytest.raises(InvalidNumber, match="x must be a regular array"):
        Numbers.read(nested, "x")


@pytest.mark.parametrize("dtype", [float, int, object, np.float32])
def test_nothing_is_shared_with_the_caller(dtype: type) -> None:
    values = np.array([1, 2, 3], dtype=dtype)
    numbers = Numbers.read(values, "x")
    values[:] = 7
    assert numbers.floats.tolist() == [1, 2, 3]
    assert numbers.fractions() == [1, 2, 3]
    assert values.flags.writeable


@pytest.mark.parametrize("values", [[0.5, 0.25], ["1/3", 0.25]])
def test_numbers_are_frozen_also_after_travelling(values: list) -> None:
    numbers = Numbers.read(values, "x")
    for frozen in (numbers, pickle.loads(pickle.dumps(numbers))):
        assert frozen.fractions() == [read_number(v, "x") for v in values]
        with pytest.raises(ValueError, match="read-only"):
            frozen.floats[0] = 1
        with pytest.raises(ValueError, match="read-only"):
            frozen.exact()[1][0] = 1
        with pytest.raises(AttributeError):
            frozen.floats = np.zeros(2)  # type: ignore[misc]


def test_the_source_of_fractions_is_asked_once() -> None:
    asked = []

    def source() -> tuple[list[Fraction], np.ndarray]:
        asked.append(1)
        return [Fraction(1, 3)], np.zeros(2, dtype=np.int64)

    numbers = Numbers(np.array([1 / 3, 1 / 3]), source=source)
    assert not numbers.given_exactly
    assert not asked
    assert numbers.fractions() == numbers.fractions() == [Fraction(1, 3)] * 2
    assert asked == [1]
    assert numbers.given_exactly
