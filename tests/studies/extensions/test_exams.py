"""The study of exams: its records against a direct count, and its report."""

from dataclasses import replace

import numpy as np
import pytest

import didact
from didact.report.studies import StudyReport, report_csv, report_markdown
from didact.studies import find_study, studies
from didact.studies.extensions.exams import (
    CLAIMS,
    CRITICAL,
    ORDERED,
    RANDOM,
    SHUFFLED,
    ExamSettings,
    critical_states,
)
from didact.studies.study import BUILT_IN

SMALL = ExamSettings(trials=2, sizes=(3, 4), features=(3,), agents=12, noise=3.0)


@pytest.fixture(scope="module")
def records():
    study = find_study("exams")
    return [study.trial(SMALL, number) for number in range(study.n_trials(SMALL))]


def test_records_are_plain_and_repeatable(records):
    study = find_study("exams")
    assert study.trial(SMALL, 1) == records[1]
    assert [record["case"] for record in records] == ["3x3, 3 features", "4x4, 3 features"] * 2
    for record in records:
        size = int(record["case"][0])
        task = didact.make("random-grid", size=size, n_features=3, seed=record["world"])
        assert record["questions"] == didact.equivalence_class(task).cone.n_facets
        assert record["states"] == size * size
        assert 0 < record["closed states"] <= record["states"]
        assert 0 < record["agents"] <= 12
        assert 1 <= record[ORDERED] <= record["questions"]
        assert 1 <= record[SHUFFLED] <= record["questions"]
        assert 0 <= record[CRITICAL] <= 1
        assert 0 <= record[RANDOM] <= 1


def test_critical_states_are_those_where_actions_differ_most():
    bec = didact.equivalence_class(didact.make("six-cell"))
    values = bec.plan.action_values
    spread = values.max(axis=1) - values.mean(axis=1)
    found = critical_states(bec)
    assert sorted(found) == [1, 2, 3, 4, 5]
    assert (np.diff(spread[found]) <= 1e-12).all()


def test_the_report_judges_every_statement(records):
    study = find_study("exams")
    summary = study.summarise(SMALL, records)
    assert {found.claim.key for found in summary.findings} == set(CLAIMS)
    assert all(found.evidence and "nan" not in found.evidence for found in summary.findings)
    numbered = dict(enumerate(records))
    report = StudyReport(study, SMALL, summary, numbered, {}, [], {}, len(records))
    assert "4x4, 3 features" in report_markdown(report)
    assert report_csv(report)
    assert find_study("exams").settings == replace(study.settings)


def test_all_are_the_papers_and_this_one_is_known_by_name():
    assert "exams" not in BUILT_IN
    assert "exams" in studies()
