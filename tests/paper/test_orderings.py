"""The paper's orderings hold, on few worlds and on the quick settings."""

from __future__ import annotations

import fcntl
import os
from dataclasses import replace

import pytest

from didact.report.reproduce import reproduce
from didact.studies.paper import curves, worked_examples
from didact.studies.paper.table1 import (
    BIRL,
    CLOSED,
    LIKELIEST,
    MINIMUM,
    REDUNDANT,
    SAME_SIZE,
    SCOT,
)
from didact.studies.study import BUILT_IN
from didact.studies.summary import estimate
from tests import effort
from tests.studies.here import Here

NOT_REPRODUCED = {("active", "entropy")}
"""Claims that our runs do not bear out: maximum entropy does better than random."""


FEWER = {"trials": 4, "steps": 1000, "size": 7}
"""What `make test` changes of the quick settings; with the slow tests they stay as they are."""
STUDIES = [name for name in BUILT_IN if effort.takes_all() or name not in ("active", "balls")]
"""What is run; these decide nothing on few trials, and `tests/contracts` runs them too."""


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """All studies on their quick settings, run by the first process that needs them."""
    changes = {} if effort.takes_all() else FEWER
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with open(folder / "quick.lock", "w") as lock, pytest.MonkeyPatch.context() as patch:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if changes:  # figures of all studies are drawn by `tests/contracts` too
            patch.setattr("didact.report.reproduce.drawn_figures", lambda *given: ({}, []))
            patch.setattr("didact.studies.workers.LocalWorkers", Here)
        return reproduce(STUDIES, quick=True, out=folder / "quick", jobs=1, changes=changes)


@pytest.fixture(scope="module")
def teachers(quick):
    """The table's trials, a world each."""
    (report,) = [report for report in quick.reports if report.study.name == "table1"]
    return list(report.records.values())


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
    assert few < many < mean(teachers, MINIMUM, "pairs")
    assert mean(teachers, "UVM (10^5)", "teaches") == 0.0


def test_scot_is_accurate_and_as_short_as_the_minimum(teachers):
    assert mean(teachers, SCOT, "teaches") == 1.0
    assert mean(teachers, SCOT, "pairs") == mean(teachers, MINIMUM, "pairs")
    assert mean(teachers, SCOT, BIRL, "wrong") < 0.02
    for power in (4, 5):
        uvm = mean(teachers, f"UVM (10^{power})", BIRL, "wrong")
        assert mean(teachers, SCOT, BIRL, "wrong") < uvm


def test_random_is_worse_than_scot_at_equal_size(teachers):
    size = {row: mean(teachers, row, "pairs") for row in (SAME_SIZE, SCOT)}
    assert size[SAME_SIZE] == size[SCOT]
    for learner in (BIRL, LIKELIEST):
        random, scot = (mean(teachers, row, learner, "wrong") for row in (SAME_SIZE, SCOT))
        assert random > scot + 0.02


def test_redundant_and_closed_lessons_are_longer(teachers):
    short = mean(teachers, SCOT, "pairs")
    assert mean(teachers, REDUNDANT, "pairs") > 2 * short
    assert mean(teachers, CLOSED, "pairs") > short
    assert mean(teachers, CLOSED, "closed") == 1.0
    assert mean(teachers, CLOSED, "teaches") == 1.0


def test_policy_a_of_the_chain_wins_under_bio_irl(quick):
    (report,) = [report for report in quick.reports if report.study.name == "chain"]
    settings, record = report.settings, report.records[0]
    assert len(record["candidates"]) == 4
    assert min(worked_examples.likelihoods(settings, record, 0.0, "optimal").values()) > 0.99
    for trust in (1.0, 10.0):
        found = worked_examples.likelihoods(settings, record, trust, "optimal")
        assert max(found, key=found.__getitem__) == "A"
        assert found["A"] > 0.99


def test_the_teaching_sequence_beats_random_questions():
    settings = replace(
        curves.ACTIVE.quick, trials=3, size=6, features=5, steps=2000, queries=5,
        strategies=("random", "scot"),
    )  # fmt: skip
    records = [curves.query_trial(settings, number) for number in range(settings.trials)]
    areas = {
        name: estimate(curves.area(r, name, "wrong") for r in records).mean
        for name in settings.strategies
    }
    assert areas["scot"] < areas["random"]


def test_all_on_the_quick_settings(quick):
    assert [report.study.name for report in quick.reports] == STUDIES
    assert quick.is_complete
    wrong = {
        (found.claim.study, found.claim.key)
        for report in quick.reports
        for found in report.summary.findings
        if found.holds is False
    }
    assert wrong <= NOT_REPRODUCED
    assert (quick.folder / "index.html").exists()


ORDERINGS = {
    "table1": {"underestimates", "samples", "redundant"},
    "features": {"grows", "underestimates"},
    "chain": {"equal"},
}
"""What few trials are enough to decide."""
MORE_ORDERINGS = {"table1": {"accurate", "random"}, "balls": {"faster"}}
"""What only the quick settings as they are can decide."""


@pytest.mark.parametrize("name", ORDERINGS)
def test_orderings_are_decided_on_the_quick_settings(quick, name):
    assert held(quick, name) >= ORDERINGS[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", MORE_ORDERINGS)
def test_more_orderings_are_decided_on_the_quick_settings(quick, name):
    assert held(quick, name) >= MORE_ORDERINGS[name]


def held(quick, name):
    """The claims of a study that its trials bear out."""
    (report,) = [report for report in quick.reports if report.study.name == name]
    return {found.claim.key for found in report.summary.findings if found.holds}


def results(folder):
    """Every table, figure and list of records, without what was timed."""
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.suffix in (".md", ".csv", ".jsonl", ".svg", ".png") and "-times" not in path.name
    }


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 4])
def test_the_number_of_workers_changes_nothing(quick, tmp_path, jobs):
    reproduce(["all"], quick=True, out=tmp_path, jobs=jobs)
    assert len(results(tmp_path)) == 5 * len(BUILT_IN)
    assert results(tmp_path) == results(quick.folder)


@pytest.mark.slow
@pytest.mark.parametrize(("n_workers", "n_threads"), [(2, 1), (1, 2)])
def test_a_cluster_gives_the_same_bytes(quick, tmp_path, n_workers, n_threads):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=n_threads, processes=True, dashboard_address=":0"
    ) as cluster:
        reproduce(["all"], quick=True, out=tmp_path, cluster=cluster.scheduler_address)
    assert results(tmp_path) == results(quick.folder)
