"""The results in docs/reproduction are what the code makes of the records beside them."""

import json
from pathlib import Path

import pytest

from didact.report.figures.svg import figure_svg
from didact.report.studies import StudyReport, report_csv, report_markdown, report_records
from didact.studies import find_study
from didact.studies.registry import BUILT_IN
from didact.studies.workers import attempt

FOLDER = Path(__file__).parents[2] / "docs" / "reproduction"


def kept(name):
    """The report of the records that are kept, with the full settings."""
    study = find_study(name)
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    records = {record.pop("trial"): record for record in map(json.loads, lines)}
    summary = study.summarise(study.settings, list(records.values()))
    total = study.n_trials(study.settings)
    return StudyReport(study, study.settings, summary, records, {}, [], {}, total)


@pytest.mark.parametrize("name", BUILT_IN)
def test_reports_follow_from_the_records(name):
    report = kept(name)
    assert sorted(report.records) == list(range(report.total))
    for text, kind in (
        (report_markdown(report), "md"),
        (report_csv(report), "csv"),
        (report_records(report), "jsonl"),
    ):
        assert text == (FOLDER / f"{name}.{kind}").read_text(encoding="utf-8"), kind
    for figure in report.summary.figures:
        assert figure_svg(figure) == (FOLDER / f"{figure.name}.svg").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILT_IN)
def test_a_trial_run_again_gives_the_record_that_is_kept(name):
    """On another kind of processor the last digits of sums may differ."""
    report = kept(name)
    number = report.total // 2
    assert attempt(report.study.trial, report.settings, number).record == report.records[number]


def test_it_says_how_it_was_made():
    for name in BUILT_IN:
        made = (FOLDER / f"{name}-times.md").read_text(encoding="utf-8")
        for fact in ("- command: didact reproduce", "- machine: ", "- date: ", "workers"):
            assert fact in made
