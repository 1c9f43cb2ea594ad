"""Verdicts against simulation, and tables of means."""

import numpy as np
import pytest

from didact.studies.estimates import estimate
from didact.studies.summary import Printed, means_of, verdict_on


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
