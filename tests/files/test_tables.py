"""Every export of texts that others wrote: no spreadsheet computes them, no Markdown obeys them."""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import didact
from didact import make
from didact.files.tables import csv_cell, csv_text, markdown_text
from didact.mdp.recordings.recording import Recording
from didact.report.studies import (
    findings_markdown,
    report_csv,
    runs_line,
    table_markdown,
    times_csv,
    times_markdown,
)
from didact.studies.people.design import design_study
from didact.studies.people.results import COLUMNS, codebook, report, table
from didact.studies.summary import Column, Table, TableCell, estimate

TYPED = [
    "=1+1",
    "  =1+1",
    "nice study\r=cmd|'/C calc'!A0",
    "a\n@SUM(A1)",
    "\t+1",
    "\u2028-2+3",
    "\x0b=1",
    "\0=1",
    "x|y <script>alert(1)</script> [z](javascript:alert(1))\n# head\n\n| a | b |",
]
TASK = make("random-grid", size=6, n_features=2, seed=1)
DESIGN = design_study(TASK, n_questions=4)


def named(text):
    """The design with this text for its title, its conditions and its world."""
    old = {name: f"{text} {i}" for i, name in enumerate(DESIGN.conditions)}
    shown = {old[name]: DESIGN.shown[name] for name in DESIGN.conditions}
    conditions = tuple(old[name] for name in DESIGN.conditions)
    return replace(DESIGN, title=text, conditions=conditions, shown=shown, members=(text,))


def answers_of(text):
    return [dict.fromkeys(COLUMNS, text)]


def report_of(text):
    """A report whose tables, rows and runs have this text for a name."""
    cells = (TableCell(text, text, estimate([-1.0, 2.0])), TableCell(f"{text} ", text, text))
    made = Table(text, text, (Column(text),), cells)
    run = SimpleNamespace(wall=1.0, trials=1, workers=1, place=text, began=text)
    return SimpleNamespace(
        summary=SimpleNamespace(tables=[made], figures=[]),
        seconds={text: [1.0, 2.0]},
        study=SimpleNamespace(name="x"),
        runs=[run],
        time_figures=[],
        time_findings=[],
        efficiency=None,
    )


def recording_of(text, folder):
    """The CSV of a recording whose observations are this text."""
    recording = Recording(([[text, 1], [[text, -1.5], 0]],), foreign=True)
    path = folder / "log.csv"
    recording.save(path)
    assert didact.load_recording(path).demonstrations == recording.demonstrations
    return path.read_text(encoding="utf-8")


TABLES = {
    "answers.csv": lambda text, _: table(answers_of(text), COLUMNS),
    "reproduce.csv": lambda text, _: report_csv(report_of(text)),
    "times.csv": lambda text, _: times_csv(report_of(text)),
    "convert.csv": recording_of,
}
PAGES = {
    "codebook.md": lambda text: codebook(named(text), [TASK]),
    "report.md": lambda text: report(named(text), []).markdown(),
    "reproduce.md": lambda text: table_markdown(report_of(text).summary.tables[0]),
    "findings": lambda text: findings_markdown(
        [SimpleNamespace(claim=SimpleNamespace(words=text, source=text), verdict="", evidence=text)]
    ),
    "times.md": lambda text: times_markdown(report_of(text), {"command": text}),
    "runs": lambda text: runs_line(report_of(text)),
}


@pytest.mark.parametrize("text", TYPED)
@pytest.mark.parametrize("kind", TABLES)
def test_no_line_of_a_table_begins_a_formula(kind, text, tmp_path):
    """A lone carriage return begins a row in spreadsheets, also inside a field."""
    told = TABLES[kind](text, tmp_path)
    assert "\r" not in told
    rows = list(csv.reader(io.StringIO(told, newline="")))
    assert len(rows) > 1
    for line in (line.strip("\0 \t") for row in rows for cell in row for line in cell.split("\n")):
        is_number = re.fullmatch(r"-[0-9.]+", line)
        assert line[:1] not in ("=", "+", "-", "@") or is_number or len(line) == 1, line


@pytest.mark.parametrize("text", TYPED)
@pytest.mark.parametrize("kind", PAGES)
def test_texts_add_neither_lines_nor_columns_nor_html_to_markdown(kind, text):
    told, plain = PAGES[kind](text), PAGES[kind]("plain")
    assert len(told.splitlines()) == len(plain.splitlines())
    columns = [len(re.findall(r"(?<!\\)\|", line)) for line in told.split("\n")]
    assert columns == [len(re.findall(r"\|", line)) for line in plain.split("\n")]
    assert not re.search(r"(?<!\\)<", told)
    assert "](" not in told


def test_what_is_no_formula_stays():
    plain = ["", "-", "a=b", "1", "'=1", 3, -2.5, None]
    assert [csv_cell(value) for value in plain] == plain
    assert csv_text([(-1.5, "x,y")]) == '-1.5,"x,y"\n'
    assert markdown_text("random-grid 9x9 [0.1, 0.2]") == "random-grid 9x9 [0.1, 0.2]"


def test_tables_are_written_here_alone():
    """Recordings are apart: their cells are numbers and JSON, and are read again.

    The script that analyses an export stands alone; it prints what it read from neutral cells.
    """
    package = Path(didact.__file__).parent
    writers = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"csv\.(writer|DictWriter)|to_csv", path.read_text(encoding="utf-8"))
    }
    alone = "studies/people/analysis.py"
    assert writers == {"files/tables.py", "mdp/recordings/text.py", alone}
