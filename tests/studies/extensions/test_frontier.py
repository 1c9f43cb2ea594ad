"""The study of good-enough lessons: its records against lessons made one by one, and its report."""

from dataclasses import replace

import pytest

import didact
from didact.report.studies import StudyReport, report_csv, report_markdown
from didact.studies import find_study, studies
from didact.studies.extensions.frontier import COLUMNS, KINDS, FrontierSettings
from didact.studies.study import BUILT_IN
from didact.teaching.loss.search import remaining_loss
from tests.effort import number

SMALL = FrontierSettings(
    trials=number(1, 2), losses=(0.0, 0.02, 0.1), size=3, n_features=3, cells=2000
)


@pytest.fixture(scope="module")
def records():
    study = find_study("frontier")
    return [study.trial(SMALL, trial) for trial in range(SMALL.trials)]


def test_records_are_repeatable_and_sizes_fit(records):
    assert find_study("frontier").trial(SMALL, SMALL.trials - 1) == records[-1]
    for record in records:
        for kind in KINDS:
            sizes = [record[kind][str(loss)] for loss in SMALL.losses]
            assert all(s["bound"] <= s["fewest"] <= min(s["scot"], s["random"]) for s in sizes)
            for measure in ("fewest", "scot", "random"):
                counts = [size[measure] for size in sizes]
                assert counts == sorted(counts, reverse=True)


def test_the_fewest_are_those_of_teach(records):
    for record in records:
        task = didact.make("random-grid", size=3, n_features=3, seed=record["world"])
        for kind, horizon in KINDS.items():
            for loss in SMALL.losses:
                lesson = didact.teach_within(
                    *(task,), teacher="exact", horizon=horizon, loss=f"{100 * loss}%",
                    learner_model="half-spaces",
                )  # fmt: skip
                assert record[kind][str(loss)]["fewest"] == len(lesson.demonstrations)


def test_scots_first_demonstrations_keep_to_the_bound_and_one_less_does_not(records):
    for record in records:
        task = didact.make("random-grid", size=3, n_features=3, seed=record["world"])
        bec = didact.equivalence_class(task)
        shown = didact.teach(task, bec=bec, horizon=1, trim=False).demonstrations
        for loss in SMALL.losses:
            n = record["pairs"][str(loss)]["scot"]
            left = [remaining_loss(bec, shown[:m])[0].share for m in (n, max(n - 1, 0))]
            assert left[0] <= loss + 1e-8
            assert n == 0 or left[1] > loss


def test_the_report_has_a_table_for_each_kind(records):
    study = find_study("frontier")
    summary = study.summarise(SMALL, records)
    assert [table.title.split(": ")[1] for table in summary.tables] == list(KINDS)
    numbered = dict(enumerate(records))
    report = StudyReport(study, SMALL, summary, numbered, {}, [], {}, len(records))
    assert all(title in report_markdown(report) for title in COLUMNS.values())
    assert report_csv(report)
    assert find_study("frontier").settings == replace(study.settings)


def test_it_is_a_study_of_our_own():
    assert "frontier" not in BUILT_IN
    assert "frontier" in studies()
