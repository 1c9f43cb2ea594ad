"""What records come to: tables with the paper's numbers beside ours, findings, verdicts.

The paper prints means without intervals, over n worlds of its own; if its trials spread like ours,
the difference of two such means is within t s sqrt(1/ours + 1/n) in 95 of 100 cases, and then they
agree.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from didact.numerics.intervals import student_reach
from didact.studies.estimates import LEVEL, Estimate, estimate
from didact.studies.figure import Figure
from didact.studies.study import Record

Kind = Literal["number", "percent", "count"]
Verdict = Literal["agrees", "above", "below"]


@dataclass(frozen=True)
class Printed:
    """A number as printed: in which study, row and column, over how many worlds, and where."""

    study: str
    row: str
    column: str
    text: str
    n: int
    source: str

    @property
    def value(self) -> float:
        """The printed number."""
        return float(self.text)

    @property
    def decimals(self) -> int:
        """How many digits stand after the point."""
        return len(self.text.partition(".")[2])


@dataclass(frozen=True)
class Claim:
    """What the paper says in words about a study, and where."""

    study: str
    key: str
    words: str
    source: str


@dataclass(frozen=True)
class Column:
    """A column of a table: what it is called and how its numbers are written.

    A 'percent' is a share times 100; a 'count' is how many of the trials hold.
    """

    name: str
    kind: Kind = "number"
    decimals: int = 2


@dataclass(frozen=True)
class Cell:
    """A place in a table: our estimate or a text, and what the paper prints there."""

    row: str
    column: str
    ours: Estimate | str
    printed: Printed | None = None
    verdict: Verdict | None = None


@dataclass(frozen=True)
class Table:
    """Cells by row and column; rows_are says what the first column lists."""

    title: str
    rows_are: str
    columns: tuple[Column, ...]
    cells: tuple[Cell, ...]

    @property
    def rows(self) -> list[str]:
        """The names of the rows, in the order they first stand in."""
        return list(dict.fromkeys(cell.row for cell in self.cells))

    def cell(self, row: str, column: str) -> Cell | None:
        """The cell at a place, if there is one."""
        places = (c for c in self.cells if c.row == row and c.column == column)
        return next(places, None)


@dataclass(frozen=True)
class Finding:
    """What our records say to a claim of the paper: whether it holds, and the numbers.

    holds is None where our trials do not decide.
    """

    claim: Claim
    holds: bool | None
    evidence: str

    @property
    def verdict(self) -> str:
        """'holds', 'does not hold' or 'not decided'."""
        return {True: "holds", False: "does not hold", None: "not decided"}[self.holds]


@dataclass(frozen=True)
class Summary:
    """What a study found: tables, figures, and findings on the paper's claims, and remarks."""

    tables: tuple[Table, ...]
    figures: tuple[Figure, ...] = ()
    findings: tuple[Finding, ...] = ()
    remarks: tuple[str, ...] = ()


def verdict_on(ours: Estimate, paper: Printed) -> Verdict | None:
    """Whether ours agrees with a printed mean, or lies above or below it; None for lone values.

    A printed number is right to half of its last digit.
    """
    rounding = 0.5 * 10.0**-paper.decimals
    if ours.n < 2:
        return None
    spread = ours.spread * math.sqrt(1 / ours.n + 1 / paper.n)
    difference = ours.mean - paper.value
    if abs(difference) <= student_reach(ours.n, LEVEL) * spread + rounding:
        return "agrees"
    return "above" if difference > 0 else "below"


def means_of(settings: Any, records: Sequence[Record]) -> Summary:
    """The summary of a study that brings none: the mean of every number in its records.

    A record may nest: {"scot": {"pairs": 3}} is the row scot and the column pairs; plain numbers
    stand in a row of their own.
    """
    cells: dict[tuple[str, str], list[float]] = {}
    for record in records:
        for row, column, value in _numbers(record):
            cells.setdefault((row, column), []).append(value)
    columns = dict.fromkeys(column for _, column in cells)
    ordered = sorted(cells, key=lambda place: place[0] != "all")
    return Summary(
        (
            Table(
                "Means over trials",
                "row",
                tuple(Column(name, decimals=3) for name in columns),
                tuple(Cell(row, column, estimate(cells[row, column])) for row, column in ordered),
            ),
        )
    )


def _numbers(record: Mapping[str, Any]) -> Iterable[tuple[str, str, float]]:
    for name, value in record.items():
        if isinstance(value, Mapping):
            for column, entry in value.items():
                if isinstance(entry, bool | int | float):
                    yield name, column, float(entry)
        elif isinstance(value, bool | int | float):
            yield "all", name, float(value)
