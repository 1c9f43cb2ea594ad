"""Every command that writes, with a failing disk, a kill or an interrupt at any of its writes."""

import json
import shutil
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from tests import faults
from tests.effort import number

STUDY = ("six-cell", "--questions", "1", "--practice", "0")
SHOWN = "[[[5, 2], [4, 2]]]"
COMMANDS = {
    "a task": ["show", "six-cell", "--out", "task.json"],
    "a lesson": ["teach", "six-cell", "--out", "lesson.json"],
    "a page": ["explain", "six-cell", "-o", "page.html"],
    "a belief": ["learn", "six-cell", "shown.json", "--n-steps", "20", "--out", "belief.npz"],
    "a run": ["ask", "six-cell", "--n-queries", "1", "--n-steps", "20", "--out", "run.json"],
    "ranks": ["rank", "six-cell", "--no-exact", "--out", "rank.json"],
    "an exam": ["exam", "six-cell", "--out", "exam.json", "--html", "sheet.html"],
    "what was seen": [
        *("observe", "lqr", "--n-rollouts", "2", "--length", "2", "--n-states", "3"),
        *("--discount", "0.8", "--out", "seen.npz", "--html", "seen.html"),
    ],
    "JSON": ["convert", "shown.json", "to.json", "--task", "six-cell", "--replace"],
    "JSON lines": ["convert", "shown.json", "to.jsonl", "--task", "six-cell", "--replace"],
    "a table": ["convert", "shown.json", "to.csv", "--task", "six-cell", "--replace"],
    "Minari": ["convert", "shown.json", "./to-v0", "--task", "six-cell", "--replace"],
    "imitation": ["convert", "shown.json", "to", "--task", "six-cell", "--replace"],
    "a study": ["study", "init", "study.sqlite", *STUDY],
    "a frontier": ["frontier", "six-cell", "--losses", "10%", "--out", "frontier.html"],
    "a transfer": ["transfer", "taught.json", "six-cell", "--out", "transfer.json"],
    "chosen episodes": [
        *("select", "shown.json", "--task", "six-cell", "--replace", "--out", "chosen.json"),
    ],
    "a site": ["studio", "six-cell", "--export", "site"],
    "a plan": ["study", "preregister", "made.sqlite", "-n", "4", "--out", "plan"],
    "an export": ["study", "export", "made.sqlite", "--out", "export"],
    "a store": [
        *("reproduce", "example", "--quick", "--jobs", "1", "--out", "results"),
    ],
}
QUICK = ("a lesson", "Minari")


def is_whole(path: Path) -> bool:
    """Whether a file can be read from its beginning to its end."""
    if path.suffix == ".json":
        return bool(json.loads(path.read_text()))
    if path.suffix == ".jsonl":
        return all(json.loads(line) is not None for line in path.read_text().splitlines())
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return all(arrays[name] is not None for name in arrays)
    if path.suffix == ".html":
        return path.read_text().rstrip().endswith("</html>")
    if path.suffix == ".sqlite":
        with closing(sqlite3.connect(path)) as database:
            return database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    return True


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    found = faults.shim(tmp_path_factory.mktemp("shim"))
    if found is None:
        pytest.skip("needs Linux and a C compiler")
    with faults.failing(found):
        yield found


@pytest.fixture
def old(tmp_path, library):
    """A folder with what commands read, and files of the same names as they write."""
    folder = tmp_path / "old"
    folder.mkdir()
    (folder / "shown.json").write_text(SHOWN)
    made = faults.run(["study", "init", "made.sqlite", *STUDY], folder, library)
    assert made.code == 0, made.err
    taught = faults.run(["teach", "six-cell", "--out", "taught.json"], folder, library)
    assert taught.code == 0, taught.err
    return folder


def of(what: str, old: Path, library: Path) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """What a folder holds after the command, and the calls that a second run of it makes."""
    first = faults.run(COMMANDS[what], old, library)
    assert first.code in (0, 3), first.err
    if what == "a study":  # it never replaces one
        calls = first.calls
        (old / "study.sqlite").unlink()
        return faults.contents(old), calls
    again = faults.run(COMMANDS[what], old, library)
    assert again.code in (0, 3), again.err
    return faults.contents(old), again.calls or first.calls


def holds(what: str, ended: faults.Ended, folder: Path, before: dict[str, bytes], way: str) -> None:
    """Nothing is lost, nothing is half written, and one line says what was wrong."""
    place = (what, way, ended)
    assert "Traceback" not in ended.err, place
    allowed = {"kill": (0, 3, -signal.SIGKILL), "SIGINT": (0, 3, 130, -signal.SIGINT)}
    assert ended.code in allowed.get(way, (0, 1, 2, 3)), place
    if way != "SIGINT":
        assert "interrupted" not in ended.err, place
    if ended.code in (1, 2):
        assert ended.err.splitlines()[-1].startswith("didact: "), place
    now = faults.contents(folder)
    for name, content in before.items():
        path = folder / name
        if path.suffix in (".sqlite-wal", ".sqlite-shm", ".lock"):
            continue
        assert name in now or f"{name}-journal" in now, ("lost", name, place)
        assert now.get(name) == content or is_whole(path), ("half written", name, place)
    new = {n for n in {*now} - {*before} if not n.endswith(("-wal", "-shm", "-journal", ".lock"))}
    for name in new:
        hidden = any(part.startswith(".") for part in Path(name).parts)
        if way == "kill" and hidden:
            continue  # nobody is left who could remove it, and nobody reads it
        assert not hidden, ("left behind", name, place)
        assert is_whole(folder / name), ("half written", name, place)


def swept(what: str, old: Path, library: Path, tmp_path: Path, n_kills: int) -> int:
    """Every kind of fault at every call; how many were tried."""
    before, calls = of(what, old, library)
    tried = 0
    ways = ("ENOSPC", "EIO", "kill")
    rounds = [(way, at) for way in ways for at in range(1, len(calls) + 1)]
    step = max(1, len(rounds) // n_kills)
    for way, at in rounds[::step]:
        folder = tmp_path / "now"
        shutil.copytree(old, folder)
        ended = faults.run(COMMANDS[what], folder, library, at=at, way=way)
        holds(what, ended, folder, before, f"{way}")
        again = faults.run(COMMANDS[what], folder, library)
        assert again.code in (0, 3) or "study" in what, ("cannot go on", what, way, at, again)
        shutil.rmtree(folder)
        tried += 1
    return tried


@pytest.mark.parametrize("what", QUICK)
def test_a_fault_at_a_write_loses_nothing(what, old, library, tmp_path):
    assert swept(what, old, library, tmp_path, number(3, 1000)) > 2


@pytest.mark.slow
@pytest.mark.parametrize("what", [each for each in COMMANDS if each not in QUICK])
def test_a_fault_at_any_write_loses_nothing(what, old, library, tmp_path):
    print(what, swept(what, old, library, tmp_path, 1000))


@pytest.mark.slow
@pytest.mark.parametrize("way", ["SIGINT", "kill"])
@pytest.mark.parametrize("what", COMMANDS)
def test_a_signal_at_any_moment_loses_nothing(what, way, old, library, tmp_path):
    """SIGINT every 50 ms; 200 kills spread over the time that the command takes."""
    began = time.monotonic()
    before, _ = of(what, old, library)  # runs the command twice, but a study once
    lasts = (time.monotonic() - began) / (1 if what == "a study" else 2)
    sent = signal.SIGKILL if way == "kill" else signal.SIGINT
    steps = np.arange(200) * lasts / 200
    moments = steps if way == "kill" else np.arange(0.05, 1.05, 0.05)
    for seconds in moments:
        folder = tmp_path / "now"
        shutil.copytree(old, folder)
        ended = faults.run(COMMANDS[what], folder, library, seconds=float(seconds), sent=sent)
        holds(what, ended, folder, before, way)
        shutil.rmtree(folder)
