"""The study of simulators: its records, its baselines by brute force, and its report."""

import numpy as np
import pytest

import didact
from didact.report.studies import StudyReport, report_markdown
from didact.studies import find_study, studies
from didact.studies.extensions.simulators import (
    ALL,
    CLAIMS,
    IMPORTANT,
    LESSON,
    RANDOM,
    SimulatorSettings,
    stake_of,
)
from didact.teaching.clips.lesson import clips_of
from tests.effort import number

SMALL = SimulatorSettings(trials=1, features=(3,), classics=("mountain-car",), n_states=60,
                          n_rollouts=number(5, 6), length=number(10, 12), target=0.2,
                          episodes=number(10, 40))  # fmt: skip


@pytest.fixture(scope="module")
def records():
    study = find_study("simulators")
    return [study.trial(SMALL, number) for number in range(study.n_trials(SMALL))]


def test_records_are_plain_and_repeatable(records):
    assert find_study("simulators").trial(SMALL, 0) == records[0]
    assert [record["case"] for record in records] == ["point robot, 3 features", "mountain-car"]
    for record in records:
        assert 1 <= record["clips"] <= record["shown steps"]
        assert 0 < record["open"] <= 1
        assert record[LESSON] > 95
        for way in (RANDOM, IMPORTANT, ALL):
            assert record[way] < 101


def test_stakes_are_what_lies_between_the_best_and_the_worst_action():
    seen = didact.observe("point-robot", discount=0.9, n_rollouts=4, length=6)
    for clip in clips_of(seen):
        here = np.flatnonzero((seen.step >= clip.first) & (seen.step <= clip.last)
                              & (seen.rollout == int(clip.episode.split()[1]) - 1))  # fmt: skip
        values = np.concatenate([np.zeros((len(here), 1)), -seen.margins[here]], axis=1)
        expected = (values.max(axis=1) - values.min(axis=1)).max()
        assert stake_of(seen, clip) == pytest.approx(expected)


def test_every_claim_is_judged(records):
    study = find_study("simulators")
    summary = study.summarise(SMALL, records)
    assert {finding.claim for finding in summary.findings} == set(CLAIMS.values())
    report = StudyReport(study, SMALL, summary, dict(enumerate(records)), {}, [], {}, 2)
    assert "mountain-car" in report_markdown(report)
    assert "simulators" in studies()
