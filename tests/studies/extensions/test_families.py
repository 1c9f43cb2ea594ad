"""The study of families, on settings that take a moment, against lessons found otherwise."""

from dataclasses import replace

import pytest

import didact
from didact.studies.extensions.families import STUDY, FamilySettings, summarise, trial
from didact.studies.study import BUILT_IN, find_study, study_names

TINY = FamilySettings(trials=2, members=(1, 2, 4), unseen=4, size=3, n_features=3)


def test_what_a_trial_records_is_what_teach_and_transfer_say():
    from didact.random import stream

    record = trial(TINY, 1)
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
    assert trial(TINY, 0) == trial(replace(TINY, trials=9), 0)
    assert trial(TINY, 0) != trial(replace(TINY, seed=1), 0)


def test_the_summary_is_whole():
    records = [trial(TINY, number) for number in range(2)]
    summary = summarise(TINY, records)
    (table,) = summary.tables
    assert table.rows == ["1", "2", "4"]
    assert all(table.cell(row, c.name) for row in table.rows for c in table.columns)
    mean = sum(r["4"]["pairs"] for r in records) / 2
    assert table.cell("4", "fewest pairs").ours.mean == mean
    assert summary.remarks == ("6 of 6 lessons are proved to have the fewest pairs.",)
    assert [len(panel.series) for panel in summary.figures[0].panels] == [2, 2]


def test_it_has_a_name_and_is_not_the_papers():
    assert find_study("families") is STUDY
    assert "families" not in BUILT_IN
    assert study_names()[: len(BUILT_IN)] == list(BUILT_IN)


@pytest.mark.slow
def test_it_runs_on_the_command_line(didact, tmp_path):
    told = didact("reproduce", "families", "--quick", "--out", tmp_path / "out")
    assert told.code == 0, told
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "6 of 6 lessons are proved to have the fewest pairs." in page
