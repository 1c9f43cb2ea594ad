"""The studies of families and of good-enough lessons, on settings that take a moment.

Their records are compared with lessons made one by one.
"""

from dataclasses import replace

import pytest

import didact
from didact.report.studies import StudyReport, report_csv, report_markdown
from didact.studies import find_study
from didact.studies.extensions.lesson_sizes import (
    FAMILIES,
    FRONTIER_COLUMNS,
    KINDS,
    FamilySettings,
    FrontierSettings,
    family_trial,
    summarise_families,
)
from didact.studies.study import BUILT_IN, study_names
from didact.teaching.loss.search import remaining_loss
from tests.effort import number

TINY = FamilySettings(trials=2, members=(1, 2, 4), unseen=4, size=3, n_features=3)


def test_what_a_trial_of_families_records_is_what_teach_and_transfer_say():
    from didact.random import stream

    record = family_trial(TINY, 1)
    reward, first = (int(n) for n in stream(0, "families", 1).integers(2**31, size=2))
    drawn = didact.make(
        "random-grid", size=3, n_features=3, weights_seed=reward, seed=first, members=8
    )
    for n in TINY.members:
        family, found = didact.Family(drawn.members[:n]), record[str(n)]
        lesson = didact.teach(family, teacher="exact", horizon=1)
        assert (found["pairs"], found["facets"]) == (lesson.n_pairs, lesson.n_facets)
        assert found["members_used"] == len({d.member for d in lesson.demonstrations})
        assert found["determined"] == didact.transfer(lesson, drawn.members[4:]).share
        singles = [didact.teach(task, teacher="exact", horizon=1) for task in family]
        assert found["union"] == sum(single.n_pairs for single in singles) >= lesson.n_pairs
        assert found["random_determined"] <= found["determined"]
        assert found["proved"]


def test_a_trial_depends_on_seed_and_number_alone():
    assert family_trial(TINY, 0) == family_trial(replace(TINY, trials=9), 0)
    assert family_trial(TINY, 0) != family_trial(replace(TINY, seed=1), 0)


def test_the_summary_of_families_is_whole():
    records = [family_trial(TINY, number) for number in range(2)]
    summary = summarise_families(TINY, records)
    (table,) = summary.tables
    assert table.rows == ["1", "2", "4"]
    assert all(table.cell(row, c.name) for row in table.rows for c in table.columns)
    mean = sum(r["4"]["pairs"] for r in records) / 2
    assert table.cell("4", "fewest pairs").ours.mean == mean
    assert summary.remarks == ("6 of 6 lessons are proved to have the fewest pairs.",)
    assert [len(panel.series) for panel in summary.figures[0].panels] == [2, 2]


def test_both_have_a_name_and_are_not_the_papers():
    assert find_study("families") is FAMILIES
    assert not {"families", "frontier"} & set(BUILT_IN)
    assert {"families", "frontier"} <= set(study_names())
    assert study_names()[: len(BUILT_IN)] == list(BUILT_IN)


@pytest.mark.slow
def test_it_runs_on_the_command_line(didact, tmp_path):
    told = didact("reproduce", "families", "--quick", "--out", tmp_path / "out")
    assert told.code == 0, told
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "6 of 6 lessons are proved to have the fewest pairs." in page


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
    assert all(title in report_markdown(report) for title in FRONTIER_COLUMNS.values())
    assert report_csv(report)
    assert find_study("frontier").settings == replace(study.settings)
