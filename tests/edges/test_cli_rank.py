"""`didact rank` as a person or a script meets it, and its picture."""

import io
import json
import xml.etree.ElementTree as ET

import pytest

from didact.report.page.family import rank_svg
from didact.report.words.tasks import between
from didact.teaching.rank import Difficulty
from didact.worlds import make
from tests.command_line import Terminal

SVG = "{http://www.w3.org/2000/svg}"


pytestmark = pytest.mark.usefixtures("in_own_folder")


def test_rows_for_machines_and_files(didact, tmp_path):
    make("six-cell", discount="0.5").save(tmp_path / "own.json")
    answer = didact("rank", "own.json", "Taxi", "--json", "--out", "rows.json", "--svg", "rows.svg")
    assert answer.code == 0
    document = json.loads(answer.out)
    assert document == json.loads((tmp_path / "rows.json").read_text())
    assert document["format"] == "didact.rank/1"
    assert [row["name"] for row in document["rows"]] == ["Taxi", "own.json"]
    picture = ET.parse(tmp_path / "rows.svg").getroot()
    assert picture.tag == f"{SVG}svg"


def test_progress_is_for_people():
    """On a terminal a bar names the task at work; it is gone at the end."""
    terminal = Terminal("rank", "six-cell", piped=True)
    assert terminal.end() == 0
    assert "six-cell" in terminal.text


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

    from didact.report.terminal.tables import draw_rank

    console = Console(width=80, record=True, file=io.StringIO())
    console.print(draw_rank(ROWS))
    text = console.export_text()
    assert "2..3: at least 2" in text
    assert "3+: 3 show only a part" in text
    assert "in floats, not proved: half" in text
    assert "░" not in text
