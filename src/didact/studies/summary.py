"""What records come to: means with intervals, the paper's numbers beside them, and verdicts.

An interval is Student's, of 95%. The paper prints means without intervals, over n worlds of its
own; if its trials spread like ours, the difference of two such means is within
t s sqrt(1/ours + 1/n) in 95 of 100 cases, and then they agree.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from didact.numerics.intervals import mean_interval, student_reach
from didact.studies.figure import Figure
from didact.studies.paper.published import CLAIMS, Claim, Printed, printed
from didact.studies.study import Record

LEVEL = 0.95
Kind = Literal["number", "percent", "count"]
Verdict = Literal["agrees", "above", "below"]


@dataclass(frozen=True)
class Estimate:
    """A mean over n trials, their standard deviation, and the 95% interval of the mean."""

    mean: float
    low: float
    high: float
    spread: float
    n: int


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


def estimate(values: Iterable[float]) -> Estimate:
    """The mean of the values with its interval; of one value nothing but the value is known."""
    found = [float(value) for value in values]
    return Estimate(*mean_interval(found, LEVEL), len(found))


def verdict_on(ours: Estimate, paper: Printed) -> Verdict | None:
    """Whether ours agrees with a printed mean, or lies above or below it; None for lone values.

    A printed number is right to half of its last digit.
    """
    rounding = 0.5 * 10.0**-paper.decimals
    if ours.n < 2:
        return None
    reach = (
        student_reach(ours.n, LEVEL) * ours.spread * math.sqrt(1 / ours.n + 1 / paper.n) + rounding
    )
    difference = ours.mean - paper.value
    if abs(difference) <= reach:
        return "agrees"
    return "above" if difference > 0 else "below"


def compared(
    study: str, row: str, column: str, values: Iterable[float], *, papers: str | None = None
) -> Cell:
    """The cell of these values, beside the paper's number where it prints one.

    papers: the paper's row to compare with, where ours has another name.
    """
    ours = estimate(values)
    paper = printed(study, papers or row, column)
    return Cell(row, column, ours, paper, None if paper is None else verdict_on(ours, paper))


def finding(study: str, key: str, holds: bool | None, evidence: str) -> Finding:
    """What our numbers say to the paper's claim `key`."""
    return Finding(CLAIMS[study, key], None if holds is None else bool(holds), evidence)


def is_positive(difference: Estimate) -> bool | None:
    """Whether a mean is above 0: yes or no when its interval lies on one side, else None."""
    if difference.low > 0:
        return True
    return False if difference.high < 0 else None


def is_small(difference: Estimate, margin: float) -> bool | None:
    """Whether a mean is within a margin of 0: yes or no when its interval is in or out of it."""
    if -margin <= difference.low and difference.high <= margin:
        return True
    return False if difference.low > margin or difference.high < -margin else None


def all_of(answers: Iterable[bool | None]) -> bool | None:
    """Whether all hold: no when one does not, unknown when one is not decided."""
    found = list(answers)
    if False in found:
        return False
    return None if None in found or not found else True


def interval_text(found: Estimate, decimals: int = 2) -> str:
    """'2.93 (1.76 to 4.09)', or the number alone where nothing is known about its spread."""
    mean = f"{found.mean:.{decimals}f}"
    if not math.isfinite(found.low):
        return mean
    return f"{mean} ({found.low:.{decimals}f} to {found.high:.{decimals}f})"


def known(value: float) -> Estimate:
    """A number that is known, not estimated."""
    return Estimate(float(value), math.nan, math.nan, math.nan, 1)


def differences(records: Sequence[Record], one: Any, other: Any) -> Estimate:
    """The mean of one(record) - other(record): a paired comparison on the same trials."""
    return estimate(one(record) - other(record) for record in records)


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
