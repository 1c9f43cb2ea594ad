"""The results in docs/reproduction are what the code makes of the records beside them."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from didact.plots.studies import pictures
from didact.report.studies import (
    StudyReport,
    index_page,
    report_csv,
    report_markdown,
    report_records,
)
from didact.studies import find_study
from didact.studies.study import BUILT_IN
from didact.studies.workers import attempt
from tests.effort import crossed

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


@pytest.mark.parametrize("name", crossed(tuple(BUILT_IN), one_in=2))
def test_figures_show_the_records(name):
    """Every text, in order, and every line within a point; other versions lay out otherwise."""
    pytest.importorskip("matplotlib")
    for figure in kept(name).summary.figures:
        drawn = pictures(figure, ["svg"])["svg"].decode()
        there = (FOLDER / f"{figure.name}.svg").read_text(encoding="utf-8")
        assert texts_in(drawn) == texts_in(there)
        ours, theirs = numbers_in(drawn), numbers_in(there)
        assert [len(path) for path in ours] == [len(path) for path in theirs]
        for one, other in zip(ours, theirs, strict=True):
            assert one == pytest.approx(other, abs=1.0)
        assert (FOLDER / f"{figure.name}.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_is_laid_out_by_the_template():
    """Every line but those on seconds, which records do not have, and those of the pictures."""
    there = (FOLDER / "index.html").read_text(encoding="utf-8").splitlines()
    made = index_page([kept(name) for name in BUILT_IN], {}, {}).splitlines()
    missing = [line for line in made if line not in set(there)]
    counts = [line for line in missing if " of " in line and line.endswith(" claims hold</li>")]
    runs = [line for line in missing if line.endswith(" trials. No run was finished.</p>")]
    assert missing == [*counts, *runs]
    assert len(counts) <= len(BUILT_IN) == len(runs)


def texts_in(svg):
    """What is written in a picture."""
    nodes = ElementTree.fromstring(svg).iter()
    return [node.text for node in nodes if node.tag.endswith(("}text", "}title"))]


def numbers_in(svg):
    """The coordinates of every path."""
    nodes = ElementTree.fromstring(svg).iter()
    paths = [node.get("d") for node in nodes if node.tag.endswith("}path")]
    return [[float(part) for part in re.findall(r"-?\d+\.?\d*", path)] for path in paths]


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
