"""Reports of studies: tables in Markdown and CSV, figures, and the page that collects them.

Tables, figures and records are the same bytes whenever the same trials were run. What no two runs
share - seconds, machine, date - stands in files of its own, NAME-times.md and NAME-times.csv. The
page is one file, pictures inside, and opens offline.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from didact.files.tables import csv_text, markdown_text
from didact.inputs import counted
from didact.report.page.templates import as_it_is, render
from didact.studies.paper.common import SECONDS, printed
from didact.studies.store import RunInfo
from didact.studies.study import BUILT_IN, Record, Study, departures, origins, told
from didact.studies.summary import (
    Column,
    Estimate,
    Figure,
    Finding,
    Summary,
    Table,
    TableCell,
    estimate,
)


@dataclass(frozen=True, eq=False)
class StudyReport:
    """All that is reported of a study: what it found, how, how long it took, what failed."""

    study: Study
    settings: Any
    summary: Summary
    records: Mapping[int, Record]
    seconds: Mapping[str, Sequence[float]]
    runs: Sequence[RunInfo]
    failed: Mapping[int, str]
    total: int

    @property
    def departures(self) -> list[str]:
        """What differs from the paper: settings first, then what always does."""
        return [*departures(self.settings), *self.study.departures]

    @property
    def time_figures(self) -> list[Figure]:
        """Figures of seconds, where the study draws any."""
        if self.study.draw_times is None or not self.seconds:
            return []
        return list(self.study.draw_times(self.settings, self.seconds))

    @property
    def time_findings(self) -> list[Finding]:
        """What is found about seconds; no two runs need agree."""
        if self.study.judge_times is None or not self.seconds:
            return []
        return list(self.study.judge_times(self.settings, self.seconds))

    @property
    def findings(self) -> list[Finding]:
        """All findings on the paper's claims."""
        return [*self.summary.findings, *self.time_findings]

    @property
    def is_the_papers(self) -> bool:
        """Whether the study is one of the paper's, and not somebody's own."""
        return self.study.name in BUILT_IN

    @property
    def has_printed(self) -> bool:
        """Whether the paper has a number for any cell."""
        return any(cell.printed for table in self.summary.tables for cell in table.cells)

    @property
    def efficiency(self) -> float | None:
        """The share of the workers' time that went into trials, over all runs."""
        offered = sum(run.wall * run.workers for run in self.runs)
        return sum(run.busy for run in self.runs) / offered if offered else None


def cell_parts(cell: TableCell | None, column: Column) -> tuple[str, str]:
    """Our number, and the paper's with the verdict where it has one: '14.65', '17.160: below'."""
    if cell is None:
        return "", ""
    if isinstance(cell.ours, str):
        return cell.ours, ""
    text = estimate_text(cell.ours, column)
    if cell.printed is None:
        return text, ""
    percent = "%" if column.kind == "percent" else ""
    verdict = "" if cell.verdict is None else f": {cell.verdict}"
    return text, f"{cell.printed.text}{percent}{verdict}"


def cell_text(cell: TableCell | None, column: Column) -> str:
    """'14.65 ± 1.02 (paper 17.160: below)'; '20 of 20' for counts."""
    ours, paper = cell_parts(cell, column)
    return f"{ours} (paper {paper})" if paper else ours


def estimate_text(ours: Estimate, column: Column) -> str:
    """A mean and half of its 95% interval."""
    if ours.n == 0:
        return "-"
    if column.kind == "count":
        return f"{round(ours.mean * ours.n)} of {ours.n}"
    percent = "%" if column.kind == "percent" else ""
    text = f"{ours.mean:.{column.decimals}f}{percent}"
    half = (ours.high - ours.low) / 2
    return f"{text} ± {half:.{column.decimals}f}" if math.isfinite(half) else text


def rows_markdown(heads: Sequence[str], rows: Iterable[Sequence[str]], others: str) -> str:
    """Rows of texts as a table in Markdown; others: how columns but the first are aligned."""
    lines = [f"| {' | '.join(map(markdown_text, row))} |" for row in (heads, *rows)]
    lines.insert(1, f"| --- |{f' {others} |' * (len(heads) - 1)}")
    return "\n".join(lines)


def table_markdown(table: Table) -> str:
    """A table in Markdown."""
    columns = table.columns
    rows = (
        [row, *(cell_text(table.cell(row, column.name), column) for column in columns)]
        for row in table.rows
    )
    return rows_markdown([table.rows_are, *(column.name for column in columns)], rows, "---:")


def report_markdown(report: StudyReport) -> str:
    """Tables, what the paper claims and what we find, settings and departures: no seconds."""
    parts = [f"# {report.study.title or report.study.name}", _trials_line(report)]
    for figure in report.summary.figures:
        parts.append(f"![{figure.title}]({figure.name}.svg)")
    for table in report.summary.tables:
        parts += [f"## {markdown_text(table.title)}", table_markdown(table)]
    if report.has_printed:
        parts.append(VERDICTS)
    parts += list(report.summary.remarks)
    if report.summary.findings:
        parts += ["## What the paper says", findings_markdown(report.summary.findings)]
    parts += ["## Settings", settings_markdown(report)]
    if report.departures:
        lines = "\n".join(f"- {line}" for line in report.departures)
        parts += [f"## {departures_title(report)}", lines]
    return "\n\n".join(parts) + "\n"


VERDICTS = (
    "± is half of the 95% interval of our mean. A printed mean *agrees* when it is as near as 95 "
    "of 100 means of as many worlds would be, if its worlds spread like ours; otherwise ours is "
    "*above* or *below* it."
)


def _trials_line(report: StudyReport) -> str:
    done = f"{len(report.records)} of {report.total} trials."
    if not report.failed:
        return done
    first, reason = next(iter(sorted(report.failed.items())))
    others = "" if len(report.failed) == 1 else f" and {len(report.failed) - 1} more"
    return f"{done} Left out after three failures: trial {first} ({markdown_text(reason)}){others}."


def departures_title(report: StudyReport) -> str:
    """What the list of departures is called."""
    return "Departures from the paper" if report.is_the_papers else "Changed settings"


def findings_markdown(findings: Sequence[Finding]) -> str:
    """A table of claims, verdicts and numbers."""
    rows = ((f"{f.claim.words} ({f.claim.source})", f.verdict, f.evidence) for f in findings)
    return rows_markdown(("the paper", "here", "numbers"), rows, "---")


def settings_markdown(report: StudyReport) -> str:
    """Every setting with its value and where it comes from."""
    return rows_markdown(("setting", "value", "from"), settings_rows(report), "---")


def report_csv(report: StudyReport) -> str:
    """Every cell of every table in one line of its own, with full precision."""
    rows: list[Sequence[Any]] = [
        ("table", "row", "column", "mean", "low", "high", "n", "text", "paper", "verdict")
    ]
    for table in report.summary.tables:
        for cell in table.cells:
            ours = cell.ours
            numbers = ("",) * 4 if isinstance(ours, str) else _as_numbers(ours)
            paper = "" if cell.printed is None else cell.printed.text
            text = ours if isinstance(ours, str) else ""
            rows.append(
                (table.title, cell.row, cell.column, *numbers, text, paper, cell.verdict or "")
            )
    return csv_text(rows)


def _as_numbers(ours: Estimate) -> tuple[Any, ...]:
    """Mean, bounds and how many, as numbers; empty where one is not finite."""
    numbers = (float(ours.mean), float(ours.low), float(ours.high))
    return *(number if math.isfinite(number) else "" for number in numbers), ours.n


def report_records(report: StudyReport) -> str:
    """The records as JSON lines, in the order of the trials."""
    return "".join(
        json.dumps({**record, "trial": number}, ensure_ascii=False, sort_keys=True) + "\n"
        for number, record in sorted(report.records.items())
    )


def times_table(report: StudyReport) -> Table:
    """Mean seconds of everything the trials timed, beside the paper's."""
    cells = []
    for name in sorted(report.seconds, key=_natural_order(report)):
        paper = printed(report.study.name, name, SECONDS)
        cells.append(TableCell(name, SECONDS, estimate(report.seconds[name]), paper))
    return Table("Seconds", "what", (Column(SECONDS, decimals=3),), tuple(cells))


def _natural_order(report: StudyReport) -> Callable[[str], Any]:
    """As the rows of the first table stand, then by words and numbers in them."""
    rows = report.summary.tables[0].rows if report.summary.tables else []

    def place(name: str) -> tuple[int, list[tuple[int, str]]]:
        parts = re.findall(r"\d+|\D+", name)
        numbers = [(int(part), "") if part.isdigit() else (-1, part) for part in parts]
        return rows.index(name) if name in rows else len(rows), numbers

    return place


def times_csv(report: StudyReport) -> str:
    """Seconds in one line each."""
    rows: list[Sequence[Any]] = [("what", "mean", "low", "high", "n", "paper")]
    for cell in times_table(report).cells:
        assert isinstance(cell.ours, Estimate)
        paper = "" if cell.printed is None else cell.printed.text
        rows.append((cell.row, *_as_numbers(cell.ours), paper))
    return csv_text(rows)


def times_markdown(report: StudyReport, made: Mapping[str, str]) -> str:
    """How it was made and how long it took; made: command, machine, versions, date."""
    facts = {**made, **({"trials from": report.runs[0].began} if report.runs else {})}
    how = "\n".join(f"- {name}: {markdown_text(text)}" for name, text in facts.items())
    parts = [f"# {report.study.name}: how it was made", how, runs_line(report)]
    parts += [f"![{figure.title}]({figure.name}.svg)" for figure in report.time_figures]
    if report.seconds:
        parts.append(table_markdown(times_table(report)))
    if report.time_findings:
        parts += ["## What the paper says", findings_markdown(report.time_findings)]
    return "\n\n".join(parts) + "\n"


def runs_line(report: StudyReport) -> str:
    """'20 trials in 1 run on 2 workers (local processes): 130 s, workers busy 93% of it.'"""
    if not report.runs:
        return "No run was finished."
    wall = sum(run.wall for run in report.runs)
    trials = sum(run.trials for run in report.runs)
    workers = "/".join(dict.fromkeys(str(run.workers) for run in report.runs))
    places = ", ".join(dict.fromkeys(markdown_text(run.place) for run in report.runs))
    share = report.efficiency
    busy = "" if share is None else f"; the workers were busy {100 * share:.0f}% of that"
    noun = "worker" if workers == "1" else "workers"
    return (
        f"{counted(trials, 'trial')} in {counted(len(report.runs), 'run')} on {workers} {noun} "
        f"({places}): {wall:.0f} s{busy}."
    )


def index_page(
    reports: Sequence[StudyReport], made: Mapping[str, str], drawn: Mapping[str, str]
) -> str:
    """All reports on one page, with how they were made at the end.

    drawn: figures as SVG by name; one that is not there is left out.
    """
    return render(
        "studies.html.jinja",
        is_the_papers=all(report.is_the_papers for report in reports),
        reports=reports,
        made=made,
        drawn={name: as_it_is(svg) for name, svg in drawn.items()},
        verdicts=VERDICTS.replace("*", ""),
        departures_title=departures_title,
        grid=_grid,
        runs_line=runs_line,
        settings=settings_rows,
        times_table=times_table,
    )


def _grid(table: Table) -> dict[str, Any]:
    """A table as the page shows it: heads, and rows of a name and cells, ours and the paper's."""
    columns = table.columns
    return {
        "title": table.title,
        "heads": [table.rows_are, *(column.name for column in columns)],
        "rows": [
            (row, [cell_parts(table.cell(row, column.name), column) for column in columns])
            for row in table.rows
        ],
    }


def settings_rows(report: StudyReport) -> list[tuple[str, str, str]]:
    """Every setting with its value in words and where it comes from."""
    return [(name, told(value), source) for name, value, source in origins(report.settings)]
