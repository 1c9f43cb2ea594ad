"""Means, intervals and verdicts against SciPy and simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from didact.studies.paper.published import CLAIMS, PRINTED, Printed, printed
from didact.studies.summary import (
    all_of,
    compared,
    differences,
    estimate,
    is_positive,
    is_small,
    means_of,
    verdict_on,
)


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


def test_a_difference_is_positive_small_or_not_decided():
    above, below, around = (estimate(values) for values in ([1, 2, 3], [-3, -2, -1], [-9, 1, 9]))
    assert [is_positive(found) for found in (estimate([4, 5, 6]), above, below, around)] == [
        True, None, None, None,
    ]  # fmt: skip
    assert is_positive(estimate([-4, -5, -6])) is False
    assert is_positive(estimate([3])) is None
    assert is_small(estimate([0.1, 0.2, 0.1]), 1.0) is True
    assert is_small(estimate([5, 5.1, 5]), 1.0) is False
    assert is_small(estimate([-5, -5.1, -5]), 1.0) is False
    assert is_small(around, 1.0) is None
    assert is_small(estimate([0.0]), 1.0) is None
    assert [all_of(found) for found in ([True, True], [True, None], [None, False], [])] == [
        True, None, False, None,
    ]  # fmt: skip


def test_the_printed_tables_are_those_of_the_paper():
    """The rows that main text and appendix share, as the paper prints them."""
    main = {
        "UVM (10^5)": ("5.150", "1.539", "31.420", "567.961"),
        "UVM (10^6)": ("6.650", "1.076", "19.568", "1620.578"),
        "UVM (10^7)": ("8.450", "0.555", "18.642", "10291.365"),
        "SCOT": ("17.160", "0.001", "0.667", "0.965"),
    }
    for row, texts in main.items():
        for column, text in zip(
            ("pairs", "policy loss", "wrong actions", "seconds"), texts, strict=True
        ):
            assert printed("table1", row, column).text == text
    assert len(PRINTED) == 28
    assert printed("table1", "Random", "pairs").value == 17.7
    assert printed("table1", "SCOT, closed", "pairs") is None
    assert printed("active", "SCOT", "pairs") is None


def test_claims_have_words_and_a_place():
    for (study, key), claim in CLAIMS.items():
        assert (claim.study, claim.key) == (study, key)
        assert claim.words
        assert claim.source


def test_a_cell_has_the_papers_number_beside_ours():
    cell = compared("table1", "SCOT", "pairs", [14, 15, 14, 16])
    assert cell.printed.text == "17.160"
    assert cell.verdict == "below"
    assert compared("table1", "new", "pairs", [1.0, 2.0]).verdict is None


def test_differences_are_paired():
    noise = [0.1, -0.1] * 5
    records = [{"a": 100 * i, "b": 100 * i - 1 + d} for i, d in enumerate(noise)]
    found = differences(records, lambda r: r["a"], lambda r: r["b"])
    assert found.mean == pytest.approx(1.0)
    assert found.high - found.low < 0.2


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
