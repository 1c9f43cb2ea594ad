"""`didact rank` as a person or a script meets it, and its picture."""

import io
import json
import os
import pty
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ET
from dataclasses import dataclass

import pytest

from didact import cli
from didact.cli import main
from didact.mdp import save_task
from didact.report.terminal.rank import between, rank_svg
from didact.teaching.rank import Difficulty
from didact.worlds import make

SVG = "{http://www.w3.org/2000/svg}"


@dataclass
class Answer:
    code: int
    out: str
    err: str


@pytest.fixture
def didact(capsys, monkeypatch, tmp_path):
    """Run the command line in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr(cli, "COMMANDS", tuple(dict.fromkeys((*cli.COMMANDS, "rank"))))
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments) -> Answer:
        with pytest.raises(SystemExit) as left:
            main([str(a) for a in arguments])
        output = capsys.readouterr()
        return Answer(left.value.code, output.out, output.err)

    return run


def test_a_table_and_bars(didact):
    answer = didact("rank", "six-cell", "random-grid", "chain")
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0].split() == [
        "task", "states", "k", "facets", "equal", "demos", "pairs", "shows", "time",
    ]  # fmt: skip
    assert lines[1].split()[:8] == ["random-grid", "81", "8", "13", "0", "10", "11", "100%"]
    bars = {line.split()[0]: line.count("█") for line in lines if "█" in line}
    assert bars == {"random-grid": 40, "chain": 11, "six-cell": 4}
    assert all(len(line) <= 80 for line in lines)


def test_rows_for_machines_and_files(didact, tmp_path):
    save_task(make("six-cell", discount="0.5"), tmp_path / "own.json")
    answer = didact("rank", "own.json", "Taxi", "--json", "--out", "rows.json", "--svg", "rows.svg")
    assert answer.code == 0
    document = json.loads(answer.out)
    assert document == json.loads((tmp_path / "rows.json").read_text())
    assert document["format"] == "didact.rank/1"
    assert [row["name"] for row in document["rows"]] == ["Taxi", "own.json"]
    picture = ET.parse(tmp_path / "rows.svg").getroot()
    assert picture.tag == f"{SVG}svg"


def test_what_fails_is_a_row_with_the_reason(didact):
    answer = didact("rank", "six-cell", "Blackjack", "missing.json")
    assert answer.code == 3
    assert "not ranked:" in answer.out
    assert "Blackjack: Blackjack-v1 has no table P" in answer.out
    assert "missing.json: missing.json: cannot be read" in answer.out
    assert didact("rank", "nowhere").out.startswith("  not ranked:")


def test_bad_options_are_one_line(didact):
    answer = didact("rank", "six-cell", "--time-limit", "0")
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)


def test_progress_is_for_people():
    """On a terminal a bar names the task at work; it is gone at the end."""
    code = "import didact.cli as c; c.COMMANDS = ('rank',); c.main(['rank', 'six-cell'])"
    reading, writing = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=writing,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
    )  # fmt: skip
    os.close(writing)
    told = b""
    while True:
        try:
            part = os.read(reading, 4096)
        except OSError:
            break
        if not part:
            break
        told += part
    os.close(reading)
    assert process.wait() == 0
    assert b"six-cell" in told


ROWS = [
    Difficulty("a < b & c", 9, 4, 3, 5, 1, "complete", 1.0, 3, 2, 4, 4, 7, None, "exact", 0.5),
    Difficulty("half", 9, 4, 3, 5, 1, "partial", 0.5, 3, None, 8, 6, 7, 0.25, "float", 0.5),
    Difficulty("failed", error="it has no table"),
]


def test_the_picture_has_a_bar_for_each_number():
    picture = ET.fromstring(rank_svg(ROWS))
    texts = [element.text for element in picture.iter(f"{SVG}text")]
    assert "a < b & c" in texts
    assert "failed" not in texts
    assert [t for t in texts if t[0].isdigit()] == ["2..3", "4", "3+", "6..8"]
    widths = [float(bar.get("width")) for bar in picture.iter(f"{SVG}rect") if bar.get("x")]
    assert widths[3:] == pytest.approx([157.5, 105, 210, 210, 157.5, 157.5, 420, 315])
    ET.fromstring(rank_svg([]))


def test_numbers_between_bounds():
    assert [between(3, 3), between(2, 3), between(None, 3), between(None, None)] == [
        "3", "2..3", "3+", "-",
    ]  # fmt: skip


def test_signs_are_explained_where_they_stand():
    from rich.console import Console

    from didact.report.terminal.rank import draw_rank

    console = Console(width=80, record=True, file=io.StringIO())
    console.print(draw_rank(ROWS))
    text = console.export_text()
    assert "2..3: at least 2" in text
    assert "3+: whole episodes show only a part" in text
    assert "in floats, not proved: half" in text
    assert "░" in text
