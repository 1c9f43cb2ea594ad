"""`didact reproduce` as a person or a script meets it."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from didact import __version__
from didact.studies import register_study
from tests.command_line import Terminal, refused
from tests.studies import counting
from tests.studies.here import Here

assert counting.STUDY.name == "counting"  # registered by its import


pytestmark = pytest.mark.usefixtures("in_own_folder")


@pytest.fixture(autouse=True)
def pictures_where_they_are_looked_at(request, monkeypatch):
    """Drawing, and starting processes, take most of the time of a small study."""
    monkeypatch.setattr("didact.studies.workers.LocalWorkers", Here)
    if "draws" not in request.keywords:
        monkeypatch.setattr("didact.report.reproduce.drawn_figures", lambda *given: ({}, []))


FILES = ("md", "csv", "jsonl", "svg", "pdf", "png", "sqlite")
SMALL = ("-s", "trials=2", "-s", "features=2,3", "-s", "samples=500", "-s", "size=3")


@pytest.mark.draws
def test_the_example_prints_what_holds_and_where_things_are(didact, tmp_path):
    answer = didact("reproduce", "example")
    assert answer.code == 0
    assert all(" trials" in line for line in answer.err.splitlines())  # progress, if it is slow
    assert "holds: the policy's half-spaces are 2.539 w0 - w1 >= 0" in answer.out
    assert "does not hold" not in answer.out
    assert answer.out.splitlines()[-1].endswith("reproduction/index.html")
    written = {path.name for path in (tmp_path / "reproduction").iterdir()}
    assert {f"example.{kind}" for kind in FILES} <= written
    assert {"index.html", "example-times.md", "example-times.csv"} <= written
    page = (tmp_path / "reproduction" / "index.html").read_text()
    assert "didact reproduce example" in page
    assert __version__ in page


@pytest.mark.draws
def test_without_matplotlib_tables_still_come(didact, tmp_path, monkeypatch):
    for name in {"matplotlib", *(n for n in sys.modules if n.startswith("matplotlib."))}:
        monkeypatch.setitem(sys.modules, name, None)
    answer = didact("reproduce", "example", "--out", "there")
    assert answer.code == 0
    assert "  figures need the package matplotlib; pip install 'didact[plots]'\n" in answer.out
    written = {path.name for path in (tmp_path / "there").iterdir()}
    assert {f"example.{kind}" for kind in FILES if kind not in ("svg", "pdf", "png")} <= written
    assert not {f"example.{kind}" for kind in ("svg", "pdf", "png")} & written
    assert "<figure" not in (tmp_path / "there" / "index.html").read_text()


def test_json_is_for_machines(didact):
    answer = didact("reproduce", "uvm-failure", "--json", "--out", "there", "--jobs", "1")
    assert answer.code == 0
    (study,) = json.loads(answer.out)["studies"]
    assert (study["name"], study["trials"], study["failed"]) == ("uvm-failure", 1, {})
    assert [found["holds"] for found in study["findings"]] == [True, True]


def test_settings_change_and_the_report_says_so_and_the_page_keeps_them(didact, tmp_path):
    answer = didact("reproduce", "features", *SMALL, "--seed", "3", "--out", "there")
    assert answer.code == 0
    report = (tmp_path / "there" / "features.md").read_text()
    assert "4 of 4 trials." in report
    assert "- trials is 2, not 30 (appendix, Figure 7, caption: 30 runs)" in report
    assert "- samples is 500, not 1,000,000" in report
    assert "| seed | 3 | our choice |" in report
    didact("reproduce", "example", "--quick", "--out", "there")
    page = (tmp_path / "there" / "index.html").read_text()
    assert '<h2 id="features">' in page
    assert "<td>seed</td><td>3</td>" in page


def test_the_page_collects_what_earlier_runs_left(didact, tmp_path):
    didact("reproduce", "example", "--quick")
    didact("reproduce", "uvm-failure", "--quick")
    page = (tmp_path / "reproduction-quick" / "index.html").read_text()
    assert '<h2 id="example">' in page
    assert '<h2 id="uvm-failure">' in page


def test_what_cannot_be_on_the_page_is_named(didact, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "balls.sqlite").write_text("no database")
    answer = didact("reproduce", "example", "--out", "there")
    assert answer.code == 0
    assert "not on the page: there/balls.sqlite: " in answer.out


def test_a_change_is_for_the_studies_that_have_the_setting(didact, tmp_path):
    """Nothing is repeated in the example, whatever number of trials the others get."""
    answer = didact(
        "reproduce", "example", "counting", "-s", "trials=2", "-s", "pause=0.01", "--out", "there"
    )
    assert answer.code == 0
    assert "  1 of 1 trials; " in answer.out
    assert "  2 of 2 trials; " in answer.out


def test_ones_own_study_is_not_called_the_papers(didact, tmp_path):
    didact("reproduce", "counting", "-s", "trials=2", "--out", "there")
    report = (tmp_path / "there" / "counting.md").read_text()
    assert "## Changed settings\n\n- trials is 2, not 24 (test)" in report
    assert "the paper" not in (tmp_path / "there" / "index.html").read_text().lower()


def test_a_summary_that_fails_is_told_and_trials_are_kept(didact, tmp_path):
    answer = didact("reproduce", "chain", "-s", "draws=0", "--out", "there")
    refused(answer, "chain: its 1 trials are kept, but cannot be summed up: ValueError: ")


def test_a_store_that_is_refused_is_refused_before_anything_runs(didact, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "balls.sqlite").write_text("no database")
    refused(didact("reproduce", "example", "balls", "--out", "there"), "balls.sqlite: is damaged")
    assert not (tmp_path / "there" / "example.md").exists()


def test_lists_are_written_with_commas(didact, tmp_path):
    settings = ("-s", "trials=1", "-s", "size=3", "-s", "features=2", "-s", "queries=1")
    answer = didact(
        "reproduce", "active", *settings, "-s", "steps=50", "-s", "strategies=random,scot",
        "--out", "there",
    )  # fmt: skip
    assert answer.code == 0
    assert "| strategies | random, scot |" in (tmp_path / "there" / "active.md").read_text()


def test_failed_trials_are_told_and_the_code_is_3(didact, tmp_path):
    wrong = ("reproduce", "counting", "-s", "trials=4", "-s", "failing=1,2", "--out", "there")
    answer = didact(*wrong)
    assert (answer.code, answer.err) == (3, "")
    assert "  2 of 4 trials; " in answer.out
    assert "  trial 1 failed three times: ValueError: trial 1 never works\n" in answer.out
    report = (tmp_path / "there" / "counting.md").read_text()
    assert "Left out after three failures: trial 1 (ValueError: trial 1 never works)" in report
    assert didact(*wrong).out == answer.out
    assert didact(*wrong, "--retry").code == 3


def test_no_trial_at_all_is_an_error(didact):
    answer = didact("reproduce", "counting", "-s", "trials=2", "-s", "failing=0,1")
    refused(answer, "counting: no trial succeeded; trial 0: ValueError: trial 0 never works")


def never(settings, number):
    raise OSError("no luck")


def test_a_study_without_a_trial_does_not_stop_the_others(didact, tmp_path):
    register_study("hopeless", counting.Counting, trial=never)
    answer = didact("reproduce", "hopeless", "counting", "-s", "trials=2", "--out", "there")
    assert (answer.code, answer.err) == (3, "")
    assert "  2 of 2 trials; " in answer.out
    assert "hopeless: no trial succeeded; trial 0: OSError: no luck" in answer.out
    assert (tmp_path / "there" / "index.html").exists()


# Bad input


def test_a_cluster_that_is_not_there(didact, monkeypatch):
    monkeypatch.setattr("didact.studies.workers.ANSWER", 0.3)
    answer = didact("reproduce", "example", "--cluster", "tcp://127.0.0.1:1")
    refused(answer, "no Dask scheduler answers at tcp://127.0.0.1:1")


def test_other_settings_in_the_same_folder_are_refused(didact, tmp_path):
    assert didact("reproduce", "counting", "-s", "trials=3", "--out", "there").code == 0
    kept = (tmp_path / "there" / "counting.sqlite").read_bytes()
    answer = didact("reproduce", "counting", "--out", "there")
    refused(answer, "holds trials with other settings (trials is 3 there, 24 here)")
    assert (tmp_path / "there" / "counting.sqlite").read_bytes() == kept


def test_a_damaged_store_is_refused(didact, tmp_path):
    (tmp_path / "there").mkdir()
    path = tmp_path / "there" / "example.sqlite"
    path.write_bytes(b"precious text" * 100)
    refused(didact("reproduce", "example", "--out", "there"), "is damaged or no store")
    assert path.read_bytes() == b"precious text" * 100


def test_a_file_in_the_way_of_the_folder(didact, tmp_path):
    (tmp_path / "there").write_text("precious")
    answer = didact("reproduce", "example", "--out", "there")
    refused(answer, "'there' is a file")
    assert (tmp_path / "there").read_text() == "precious"
    refused(didact("reproduce", "example", "--out", "/proc/there"), "cannot be written")


# Interrupted

WORK = ("-s", "features=12,14", "-s", "trials=400", "-s", "samples=1000")
LONG = ("reproduce", "features", *WORK, "--out", "there", "--jobs", "1")
"""So long that it is interrupted before its end on any machine."""


def rows(path) -> int:
    try:
        reader = sqlite3.connect(path)
        found = reader.execute("SELECT count(*) FROM trials").fetchone()[0]
        reader.close()
        return found
    except sqlite3.OperationalError:
        return 0


def test_an_interrupt_exits_with_130_and_says_how_to_go_on(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "didact", *LONG],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    store = tmp_path / "there" / "features.sqlite"
    while process.poll() is None and rows(store) < 2:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out) == (130, ""), err
    last = err.splitlines()[-1]
    assert last.startswith("didact: interrupted: features has ")
    assert last.endswith(" of 800 trials; the same command goes on from there")
    assert "Traceback" not in err
    assert 2 <= rows(store) < 800


@pytest.mark.slow
def test_a_terminal_shows_a_bar(tmp_path):
    terminal = Terminal("reproduce", "example", "--out", "there", folder=tmp_path, piped=True)
    assert terminal.end() == 0
    assert "index.html" in terminal.out
    assert "example: " in terminal.text
    assert "of 1 trials" in terminal.text
