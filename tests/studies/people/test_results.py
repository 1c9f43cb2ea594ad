"""Results against SciPy's own tests and textbook formulas."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ttest_ind

from didact import make
from didact.studies.people.design import design_study
from didact.studies.people.results import (
    COLUMNS,
    Difference,
    codebook,
    difference,
    needed,
    report,
    scores,
    table,
)

TASK = make("random-grid", size=6, n_features=2, seed=1)
DESIGN = design_study(TASK, n_questions=4)


def answers(correct: dict[int, list[int]]) -> list[dict]:
    return [
        {"kind": "test", "participant": p, "condition": DESIGN.condition_of(p), "correct": c}
        for p, given in correct.items()
        for c in given
    ]


def test_only_who_finished_counts():
    found = scores(answers({0: [1, 1, 0, 0], 1: [1, 1, 1]}), DESIGN)
    assert found[DESIGN.condition_of(0)] == [0.5]
    assert sum(map(len, found.values())) == 1


def test_differences_are_those_of_welch():
    rng = np.random.default_rng(0)
    scored = {"a": rng.random(12), "b": rng.random(9) / 2}
    found = difference(scored, "a", "b")
    wanted = ttest_ind(scored["a"], scored["b"], equal_var=False).confidence_interval(0.95)
    assert found.interval == pytest.approx((wanted.low, wanted.high))
    assert found.mean == pytest.approx(scored["a"].mean() - scored["b"].mean())
    assert found.effect_interval[0] < found.effect < found.effect_interval[1]
    assert difference({"a": [1.0], "b": [0.0, 1.0]}, "a", "b") is None


def test_without_spread_there_is_no_interval_and_no_effect():
    scored = {"a": [1.0, 1.0], "b": [0.5, 0.5]}
    assert difference(scored, "a", "b") == Difference(0.5, None, None, None)
    conditions = DESIGN.conditions
    n = 2 * len(conditions)
    given = {p: [int(DESIGN.condition_of(p) == conditions[0])] * 4 for p in range(n)}
    found = report(DESIGN, answers(given))
    nothing = "cannot be computed: no spread within the conditions"
    assert found.tables[1][1] == (conditions[0], "+1.000", nothing)
    assert "inf" not in found.markdown()


def test_hedges_effect_by_hand():
    found = difference({"a": [2.0, 4.0], "b": [1.0, 3.0]}, "a", "b")
    assert found.effect == pytest.approx((1 - 3 / 7) * 1 / np.sqrt(2))


def test_needed_people_by_the_textbook():
    assert needed(1.0, 0.5) == 63  # Cohen: d = 0.5, power 0.8, two-sided 5%: 63 by the normal
    assert needed(0.2, 0.1) == needed(1.0, 0.5)


def test_tables_are_read_back_and_compute_nothing():
    rows = [{name: None for name in COLUMNS} | {"comment": '=HYPERLINK("x"),\n"q"'}]
    (read,) = csv.DictReader(io.StringIO(table(rows, COLUMNS)))
    assert read["comment"] == '\'=HYPERLINK("x"),\n"q"'


def test_report_and_codebook_name_every_condition_and_column():
    told = report(DESIGN, answers({p: [1, 0, p % 2, 1] for p in range(9)})).markdown()
    assert all(f"| {name} | 3 |" in told for name in DESIGN.conditions)
    assert "nan" not in report(DESIGN, answers({0: [1, 1, 1, 1]})).markdown()
    title, _, header, *_ = report(replace(DESIGN, title="# a|b <c>"), []).lines()
    assert title == "# a|b <c>"
    assert header == "  condition  participants  score       standard deviation"
    assert all(f"| {name} |" in codebook(DESIGN, [TASK]) for name in COLUMNS)
