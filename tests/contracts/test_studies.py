"""One contract for every study of the paper, on settings that take a moment."""

from __future__ import annotations

import csv
import functools
import io
import json
import math
import re
from dataclasses import fields, replace

import pytest

from didact.errors import InvalidParameter
from didact.plots.studies import KINDS
from didact.report.reproduce import write_report
from didact.report.studies import (
    StudyReport,
    index_page,
    report_csv,
    report_markdown,
    report_records,
)
from didact.studies import Study, find_study, register_study, studies
from didact.studies.paper.common import CLAIMS
from didact.studies.study import BUILT_IN, departures, origins
from didact.studies.summary import Summary
from didact.studies.workers import attempt
from tests import effort
from tests.studies.counting import Counting, count

SMALL = {
    "example": {},
    "table1": {
        "trials": 2, "size": 4, "features": 3, "samples": (100, 1000), "steps": 100, "chains": 2,
        "starts": 1,
    },
    "features": {"trials": 2, "size": 3, "features": (2, 4), "samples": 1000, "horizon": 3},
    "uvm-failure": {"samples": 2000},
    "active": {
        "trials": 2, "size": 4, "features": 3, "horizon": 3, "queries": 2, "steps": 100,
    },
    "chain": {"draws": 400},
    "balls": {"trials": 2, "size": 4, "starts": 16, "steps": 100, "shown": 3},
}  # fmt: skip


@functools.cache
def small(name: str) -> tuple[Study, object, tuple]:
    """A study, tiny settings, and the attempts at all of its trials."""
    study = find_study(name)
    settings = replace(study.settings, **SMALL[name])
    attempts = tuple(
        attempt(study.trial, settings, number) for number in range(study.n_trials(settings))
    )
    return study, settings, attempts


def report_of(name: str) -> StudyReport:
    study, settings, attempts = small(name)
    records = {number: found.record for number, found in enumerate(attempts)}
    seconds: dict[str, list[float]] = {}
    for found in attempts:
        for what, value in found.seconds.items():
            seconds.setdefault(what, []).append(value)
    summary = study.summarise(settings, list(records.values()))
    return StudyReport(study, settings, summary, records, seconds, [], {}, len(records))


@pytest.mark.parametrize("name", BUILT_IN)
def test_trials_give_plain_records(name):
    _, _, attempts = small(name)
    assert attempts
    for found in attempts:
        assert found.reason == "", found.details
        assert json.loads(json.dumps(found.record, allow_nan=False)) == found.record
        assert all(math.isfinite(value) and value >= 0 for value in found.seconds.values())


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_trial_depends_on_seed_study_and_number_alone(name):
    study, settings, attempts = small(name)
    last = len(attempts) - 1
    assert attempt(study.trial, settings, last).record == attempts[last].record
    if last > 0:
        assert attempts[0].record != attempts[last].record
        other = replace(settings, seed=1)
        assert attempt(study.trial, other, last).record != attempts[last].record


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_claim_of_the_paper_is_judged(name):
    report = report_of(name)
    assert isinstance(report.summary, Summary)
    judged = [(found.claim.study, found.claim.key) for found in report.findings]
    assert judged
    assert sorted(judged) == sorted(place for place in CLAIMS if place[0] == name)
    assert all(found.evidence and "nan" not in found.evidence for found in report.findings)


@pytest.mark.parametrize("name", ["table1", "features", "active", "balls"])
def test_one_trial_decides_nothing_that_needs_an_interval(name):
    study, settings, attempts = small(name)
    summary = study.summarise(settings, [attempts[0].record])
    undecided = [found for found in summary.findings if found.holds is None]
    assert undecided
    assert all("nan" not in found.evidence for found in summary.findings)


@pytest.mark.parametrize("name", BUILT_IN)
def test_tables_are_whole(name):
    """Every cell stands in a column that is named, once, and holds a finite mean or a text."""
    for table in report_of(name).summary.tables:
        places = [(cell.row, cell.column) for cell in table.cells]
        assert len(set(places)) == len(places)
        assert {column for _, column in places} <= {column.name for column in table.columns}
        for cell in table.cells:
            assert isinstance(cell.ours, str) or math.isfinite(cell.ours.mean)
            assert (cell.verdict is None) == (cell.printed is None)


@pytest.mark.parametrize("name", BUILT_IN)
def test_reports_are_written_and_read_back(name, tmp_path, monkeypatch):
    """Every figure as SVG; as PDF, whose type takes most of the time, and PNG one of them."""
    drawn_as = KINDS if effort.takes_all() or name == "uvm-failure" else KINDS[:1]
    monkeypatch.setattr("didact.plots.studies.KINDS", drawn_as)
    report = report_of(name)
    drawn, _ = write_report(report, tmp_path, {"command": "didact reproduce"})
    written = {path.name for path in tmp_path.iterdir()}
    kinds = {f"{name}.{kind}" for kind in ("md", "csv", "jsonl", *drawn_as)}
    assert kinds | {f"{name}-times.md", f"{name}-times.csv"} <= written
    rows = list(csv.DictReader(io.StringIO(report_csv(report))))
    assert len(rows) == sum(len(table.cells) for table in report.summary.tables)
    lines = [json.loads(line) for line in report_records(report).splitlines()]
    assert [line.pop("trial") for line in lines] == sorted(report.records)
    assert lines == list(report.records.values())
    page = index_page([report], {"date": "today"}, drawn)
    assert page.count("<svg") == len(drawn)
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("name", BUILT_IN)
def test_tables_hold_no_seconds(name):
    """The compared files must be the same in a slow run: other seconds change nothing."""
    report = report_of(name)
    slower = replace(report, seconds={what: [9e9] for what in report.seconds})
    assert report.summary.findings == slower.summary.findings
    assert report_markdown(slower) == report_markdown(report)
    assert report_csv(slower) == report_csv(report)


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_setting_says_where_it_comes_from(name):
    study = find_study(name)
    for each in fields(study.settings):
        assert each.metadata.get("source"), f"{name}.{each.name}"
    assert all(source for _, _, source in origins(study.settings))
    assert type(study.quick) is type(study.settings)
    assert study.n_trials(study.quick) <= study.n_trials(study.settings)
    assert study.title


@pytest.mark.parametrize("name", BUILT_IN)
def test_full_settings_are_the_papers(name):
    """All that differs in full settings is the matching of half-spaces on the chain."""
    expected = 1 if name == "chain" else 0
    assert len(departures(find_study(name).settings)) == expected


def test_the_papers_studies_are_these_and_in_this_order():
    assert list(studies())[:7] == [
        "example", "table1", "features", "uvm-failure", "active", "chain", "balls",
    ]  # fmt: skip


# A study of one's own


def test_one_line_registers_a_study():
    study = register_study("my-own", Counting, trial=count)
    assert find_study("my-own") is study
    assert "my-own" in studies()
    assert study.n_trials(study.settings) == 24
    summary = study.summarise(study.settings, [{"x": 1.0}, {"x": 2.0}])
    assert summary.tables[0].cell("all", "x").ours.mean == 1.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("table1", Counting, count), "the study 'table1' is built in"),
        (("My Study", Counting, count), "a study's name must be lower-case words"),
        (("all", Counting, count), "and not 'all'"),
        (("mine", {"trials": 3}, count), "must be an instance of a dataclass"),
        (("mine", Counting, "count"), "the trial must be a function"),
        (("mine", Counting(trials=0), count), "trials, a whole number from 1"),
    ],
)
def test_a_wrong_study_is_refused_in_one_line(arguments, message):
    with pytest.raises(InvalidParameter, match=re.escape(message)):
        register_study(*arguments[:2], trial=arguments[2])


def test_an_unknown_study_lists_those_there_are():
    with pytest.raises(
        InvalidParameter, match=r"'tabel1' \(did you mean 'table1'\?\); there are example, "
    ):
        find_study("tabel1")
