"""The paper's orderings hold: on few worlds by default, on the quick settings in the slow suite."""

from __future__ import annotations

from dataclasses import replace

import pytest

from didact.app.reproduce import reproduce
from didact.studies import active, balls, chain, features, table1
from didact.studies.registry import BUILT_IN
from didact.studies.summary import estimate

NOT_REPRODUCED = {("active", "entropy")}
"""Claims that our runs do not bear out: maximum entropy does better than random."""


@pytest.fixture(scope="module")
def teachers():
    """Three worlds of the table, with short chains."""
    settings = replace(table1.STUDY.quick, trials=3, steps=2000, chains=1, starts=1)
    return [table1.trial(settings, number) for number in range(settings.trials)]


def mean(records, row, *path):
    values = []
    for record in records:
        value = record["rows"][row]
        for name in path:
            value = value[name]
        values.append(float(value))
    return estimate(values).mean


def test_uvm_underestimates_and_improves_with_samples(teachers):
    few, many = (mean(teachers, f"UVM (10^{p})", "pairs") for p in (4, 5))
    assert few < many < mean(teachers, table1.MINIMUM, "pairs")
    assert mean(teachers, "UVM (10^5)", "teaches") == 0.0


def test_scot_is_accurate_and_as_short_as_the_minimum(teachers):
    assert mean(teachers, table1.SCOT, "teaches") == 1.0
    assert mean(teachers, table1.SCOT, "pairs") == mean(teachers, table1.MINIMUM, "pairs")
    assert mean(teachers, table1.SCOT, table1.BIRL, "wrong") < 0.02
    for power in (4, 5):
        uvm = mean(teachers, f"UVM (10^{power})", table1.BIRL, "wrong")
        assert mean(teachers, table1.SCOT, table1.BIRL, "wrong") < uvm


def test_random_is_worse_than_scot_at_equal_size(teachers):
    size = {row: mean(teachers, row, "pairs") for row in (table1.SAME_SIZE, table1.SCOT)}
    assert size[table1.SAME_SIZE] == size[table1.SCOT]
    for learner in (table1.BIRL, table1.LIKELIEST):
        random, scot = (
            mean(teachers, row, learner, "wrong") for row in (table1.SAME_SIZE, table1.SCOT)
        )
        assert random > scot + 0.02


def test_redundant_and_closed_lessons_are_longer(teachers):
    short = mean(teachers, table1.SCOT, "pairs")
    assert mean(teachers, table1.REDUNDANT, "pairs") > 2 * short
    assert mean(teachers, table1.CLOSED, "pairs") > short
    assert mean(teachers, table1.CLOSED, "closed") == 1.0
    assert mean(teachers, table1.CLOSED, "teaches") == 1.0


def test_uvm_falls_behind_as_features_grow():
    settings = replace(features.STUDY.quick, features=(2, 12), trials=2, samples=20_000)
    found = features.summarise(
        settings, [features.trial(settings, n) for n in range(features.n_trials(settings))]
    )
    assert all(finding.holds for finding in found.findings)


def test_policy_a_of_the_chain_wins_under_bio_irl():
    settings = chain.STUDY.quick
    record = chain.trial(settings, 0)
    assert len(record["candidates"]) == 4
    assert min(chain.likelihoods(settings, record, 0.0, "optimal").values()) > 0.99
    for trust in (1.0, 10.0):
        found = chain.likelihoods(settings, record, trust, "optimal")
        assert max(found, key=found.__getitem__) == "A"
        assert found["A"] > 0.99


def test_bio_irl_learns_faster_from_lessons():
    settings = replace(balls.STUDY.quick, trials=6)
    found = balls.summarise(settings, [balls.trial(settings, n) for n in range(settings.trials)])
    assert all(finding.holds for finding in found.findings)


def test_the_teaching_sequence_beats_random_questions():
    settings = replace(
        active.STUDY.quick, trials=3, size=6, features=5, steps=2000, queries=5,
        strategies=("random", "scot"),
    )  # fmt: skip
    records = [active.trial(settings, number) for number in range(settings.trials)]
    areas = {
        name: estimate(active.area(r, name, "wrong") for r in records).mean
        for name in settings.strategies
    }
    assert areas["scot"] < areas["random"]


@pytest.mark.slow
def test_all_on_the_quick_settings(tmp_path):
    made = reproduce(["all"], quick=True, out=tmp_path)
    assert [report.study.name for report in made.reports] == list(BUILT_IN)
    assert made.exit_code == 0
    wrong = {
        (found.claim.study, found.claim.key)
        for report in made.reports
        for found in report.summary.findings
        if not found.holds
    }
    assert wrong <= NOT_REPRODUCED
    assert (tmp_path / "index.html").exists()
