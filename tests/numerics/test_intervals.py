"""Means against fractions, and Student's quantiles against closed forms."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from didact.numerics.intervals import binomial_interval, mean_interval, student_reach

numbers = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30)


@given(numbers)
def test_mean_and_spread_are_those_of_fractions(values):
    exact = [Fraction(value) for value in values]
    mean = sum(exact) / len(exact)
    found = mean_interval(values)
    assert found.mean == pytest.approx(float(mean), rel=1e-15, abs=1e-300)
    variance = sum((value - mean) ** 2 for value in exact) / (len(exact) - 1)
    assert found.spread == pytest.approx(math.sqrt(variance), rel=1e-9, abs=1e-9)


@given(numbers, st.randoms())
def test_the_order_of_values_changes_nothing(values, random):
    mixed = list(values)
    random.shuffle(mixed)
    assert mean_interval(mixed) == mean_interval(values)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_the_reach_is_students_quantile(level):
    """One degree of freedom is Cauchy's distribution; two have an elementary quantile."""
    p = (1 + level) / 2
    assert student_reach(2, level) == pytest.approx(math.tan(math.pi * (p - 0.5)), rel=1e-9)
    assert student_reach(3, level) == pytest.approx(
        (2 * p - 1) / math.sqrt(2 * p * (1 - p)), rel=1e-9
    )
    assert student_reach(10**8, 0.95) == pytest.approx(1.959964, abs=1e-5)


def test_the_interval_lies_evenly_around_the_mean():
    found = mean_interval([1.0, 2.0, 6.0])
    assert found.mean == 3.0
    assert found.spread == pytest.approx(math.sqrt(7))
    assert found.high - found.mean == pytest.approx(found.mean - found.low)
    assert found.high - found.mean == pytest.approx(4.302652729911275 * math.sqrt(7 / 3))


def test_nineteen_of_twenty_intervals_hold_the_true_mean():
    draws = np.random.default_rng(0).normal(3.0, 2.0, size=(4000, 5))
    held = [(i := mean_interval(row)).low <= 3.0 <= i.high for row in draws.tolist()]
    assert np.mean(held) == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / 4000))


def test_equal_values_have_no_spread_and_few_values_no_interval():
    assert mean_interval([0.5] * 3) == (0.5, 0.5, 0.5, 0.0)
    assert mean_interval([2.5]).mean == 2.5
    assert all(math.isnan(end) for end in mean_interval([2.5])[1:])
    assert all(math.isnan(part) for part in mean_interval([]))


@pytest.mark.parametrize(("hits", "n"), [(1, 7), (3, 20), (19, 20), (500, 1000)])
def test_interval_ends_leave_half_of_the_doubt_on_each_side(hits, n):
    low, high = binomial_interval(hits, n, 0.9)
    assert binom.sf(hits - 1, n, low) == pytest.approx(0.05, rel=1e-9)
    assert binom.cdf(hits, n, high) == pytest.approx(0.05, rel=1e-9)
