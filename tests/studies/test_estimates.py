"""Means, intervals and what is said of them, against SciPy."""

import math

import numpy as np
import pytest
from scipy import stats

from didact.studies.estimates import all_of, differences, estimate


@pytest.mark.parametrize("n", [2, 3, 20, 100])
def test_intervals_are_students(n):
    values = np.random.default_rng(n).normal(3, 2, size=n)
    found = estimate(values)
    low, high = stats.t.interval(0.95, n - 1, loc=values.mean(), scale=stats.sem(values))
    assert (found.mean, found.low, found.high) == pytest.approx((values.mean(), low, high))
    assert (found.spread, found.n) == (pytest.approx(values.std(ddof=1)), n)


def test_one_value_and_none():
    assert estimate([4.0]).mean == 4.0
    assert math.isnan(estimate([4.0]).low)
    assert math.isnan(estimate([]).mean)
    assert estimate([]).n == 0


def test_the_order_of_records_does_not_move_a_mean():
    values = np.random.default_rng(0).normal(size=50) * 10.0 ** np.arange(50)
    assert estimate(values).mean == estimate(values[::-1]).mean


def test_a_difference_is_positive_small_or_not_decided():
    above, below, around = (estimate(values) for values in ([1, 2, 3], [-3, -2, -1], [-9, 1, 9]))
    assert [found.is_positive for found in (estimate([4, 5, 6]), above, below, around)] == [
        True, None, None, None,
    ]  # fmt: skip
    assert estimate([-4, -5, -6]).is_positive is False
    assert estimate([3]).is_positive is None
    assert estimate([0.1, 0.2, 0.1]).is_within(1.0) is True
    assert estimate([5, 5.1, 5]).is_within(1.0) is False
    assert estimate([-5, -5.1, -5]).is_within(1.0) is False
    assert around.is_within(1.0) is None
    assert estimate([0.0]).is_within(1.0) is None
    assert [all_of(found) for found in ([True, True], [True, None], [None, False], [])] == [
        True, None, False, None,
    ]  # fmt: skip


def test_differences_are_paired():
    noise = [0.1, -0.1] * 5
    records = [{"a": 100 * i, "b": 100 * i - 1 + d} for i, d in enumerate(noise)]
    found = differences(records, lambda r: r["a"], lambda r: r["b"])
    assert found.mean == pytest.approx(1.0)
    assert found.high - found.low < 0.2
