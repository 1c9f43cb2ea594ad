"""Verdicts against simulation, and tables of means.

Means, intervals and what is said of them, against SciPy.
"""

import math

import numpy as np
import pytest
from scipy import stats

from didact.studies.summary import (
    Column,
    Printed,
    TableCell,
    all_of,
    differences,
    estimate,
    means_of,
    table_of,
    verdict_on,
)


def test_verdicts_agree_in_95_of_100_cases_when_both_are_drawn_alike():
    """The printed number is the mean of n other trials of the same kind: the stated coverage."""
    rng = np.random.default_rng(1)
    agreed = 0
    for _ in range(2000):
        ours = estimate(rng.normal(5, 2, size=20))
        text = f"{rng.normal(5, 2, size=30).mean():.6f}"
        agreed += verdict_on(ours, Printed("x", "r", "c", text, 30, "")) == "agrees"
    assert abs(agreed / 2000 - 0.95) < 0.02


@pytest.mark.parametrize(
    ("values", "text", "verdict"),
    [
        ([1, 2, 3], "2.0", "agrees"),
        ([1, 1, 1], "1.0", "agrees"),
        ([1, 1, 1], "1.04", "below"),
        ([1, 1, 1], "1.0049", "below"),
        ([1.004, 1.004], "1.00", "agrees"),
        ([10, 11, 12], "2.5", "above"),
        ([10, 11, 12], "70", "below"),
        ([10], "70", None),
    ],
)
def test_verdicts(values, text, verdict):
    assert verdict_on(estimate(values), Printed("x", "r", "c", text, 20, "")) == verdict


def test_means_of_a_study_without_a_summary():
    records = [
        {"x": 1.0, "who": "me", "scot": {"pairs": 3, "ok": True}},
        {"x": 3.0, "who": "you", "scot": {"pairs": 5, "ok": False}},
    ]
    (table,) = means_of(None, records).tables
    assert table.rows == ["all", "scot"]
    assert table.cell("all", "x").ours.mean == 2.0
    assert table.cell("scot", "pairs").ours.mean == 4.0
    assert table.cell("scot", "ok").ours.mean == 0.5
    assert table.cell("all", "pairs") is None


def test_a_table_has_the_entries_of_its_columns_row_by_row():
    whole = TableCell("9", "pairs", "none", verdict="above")
    columns = {Column("pairs"): ["three", whole], Column("seconds"): [None, estimate([2, 4])]}
    table = table_of("Lessons", "size", (8, 9), columns)
    assert (table.rows, table.columns) == (["8", "9"], (Column("pairs"), Column("seconds")))
    assert table.cells[:2] == (TableCell("8", "pairs", "three"), whole)
    assert table.cell("8", "seconds") is None
    assert table.cell("9", "seconds").ours.mean == 3.0


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


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([41, 42, 43], ("42.00 (39.52 to 44.48)", "fewer")),
        ([-43, -42, -41], ("42.00 (39.52 to 44.48)", "more")),
        ([0, 0], ("0.00 (0.00 to 0.00)", "fewer")),
        ([-5], ("5.00", "more")),
    ],
)
def test_a_difference_is_told_without_its_sign(values, words):
    assert estimate(values).either() == words
