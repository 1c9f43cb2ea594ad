"""The page that collects the reports of studies: one file, pictures inside, opens offline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from didact.report.page.templates import as_it_is, render
from didact.report.studies.reports import (
    VERDICTS,
    StudyReport,
    cell_text,
    departures_title,
    runs_line,
    times_table,
)
from didact.studies.study import origins, told
from didact.studies.summary import Column, Table, TableCell


@dataclass(frozen=True)
class TableGrid:
    """A table as the page shows it: heads, and rows of a name and cells, ours and the paper's."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


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
        has_printed=_has_printed,
        runs_line=runs_line,
        settings=_settings,
        times_table=times_table,
    )


def _grid(table: Table) -> TableGrid:
    columns = table.columns
    return TableGrid(
        title=table.title,
        heads=(table.rows_are, *(column.name for column in columns)),
        rows=tuple(
            (row, tuple(_parts(table.cell(row, column.name), column) for column in columns))
            for row in table.rows
        ),
    )


def _parts(cell: TableCell | None, column: Column) -> tuple[str, str]:
    """Our number, and the paper's with the verdict where it has one."""
    ours, _, paper = cell_text(cell, column).partition(" (paper ")
    return ours, paper.removesuffix(")")


def _has_printed(report: StudyReport) -> bool:
    """Whether the paper has a number for any cell."""
    return any(cell.printed for table in report.summary.tables for cell in table.cells)


def _settings(report: StudyReport) -> list[tuple[str, str, str]]:
    """Every setting with its value in words and where it comes from."""
    return [(name, told(value), source) for name, value, source in origins(report.settings)]
