"""What records come to: estimates, figures as data, tables beside the paper's, and verdicts.

An interval of a mean over trials is Student's, of 95%. A question about a mean is answered yes or
no where the interval lies on one side, and left open (None) where it does not.

The paper prints means without intervals, over n worlds of its own; if its trials spread like ours,
the difference of two such means is within t s sqrt(1/ours + 1/n) in 95 of 100 cases, and then they
agree.

Figures are panels with axes, series, half-spaces or a world; renderers draw them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from didact.mdp import Task
from didact.numerics.intervals import mean_interval, student_reach
from didact.studies.study import Record

LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean over trials with its 95% interval; see `estimate`.

    mean: over the trials.
    low: the lower end of the interval.
    high: the upper end.
    spread: the standard deviation over trials.
    n: the number of trials.
    """

    mean: float
    low: float
    high: float
    spread: float
    n: int

    @property
    def is_positive(self) -> bool | None:
        """Whether the mean is above 0: yes or no when its interval lies on one side, else None."""
        if self.low > 0:
            return True
        return False if self.high < 0 else None

    def is_within(self, margin: float) -> bool | None:
        """Whether it is within a margin of 0: yes or no when its interval is in or out of it.

        margin: the largest distance from 0.
        """
        if -margin <= self.low and self.high <= margin:
            return True
        return False if self.low > margin or self.high < -margin else None

    def told(self, decimals: int = 2) -> str:
        """'2.93 (1.76 to 4.09)', or the number alone where nothing is known about its spread.

        decimals: after the point.
        """
        mean = f"{self.mean:.{decimals}f}"
        if not math.isfinite(self.low):
            return mean
        return f"{mean} ({self.low:.{decimals}f} to {self.high:.{decimals}f})"

    def either(self, fewer: str = "fewer", more: str = "more") -> tuple[str, str]:
        """A difference without its sign, and the word for it: ('42.60', 'more') of -42.6.

        fewer: the word where the mean is not below 0. more: the other one.
        """
        if self.mean >= 0 or math.isnan(self.mean):
            return self.told(), fewer
        other = replace(self, mean=-self.mean, low=-self.high, high=-self.low)
        return other.told(), more


def estimate(values: Iterable[float]) -> Estimate:
    """The mean of values with its 95% interval (Student's t); of one value only the value.

    values: one for each trial.
    """
    found = [float(value) for value in values]
    return Estimate(*mean_interval(found, LEVEL), len(found))


def known(value: float) -> Estimate:
    """A number that is known, not estimated."""
    return Estimate(float(value), math.nan, math.nan, math.nan, 1)


def differences(records: Sequence[Record], one: Any, other: Any) -> Estimate:
    """The mean of one(record) - other(record): a paired comparison on the same trials."""
    return estimate(one(record) - other(record) for record in records)


def all_of(answers: Iterable[bool | None]) -> bool | None:
    """Whether all hold: no when one does not, unknown when one is not decided."""
    found = list(answers)
    if False in found:
        return False
    return None if None in found or not found else True


@dataclass(frozen=True)
class Series:
    """A named line or group of bars.

    name: in the legend.
    xs: where each point is; for bars the number of the category.
    ys: the values.
    lows: the lower ends of the intervals; None where they are not known.
    highs: the upper ends.
    """

    name: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    lows: tuple[float, ...] | None = None
    highs: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Lines:
    """A panel of lines over numbers, with bands for their intervals.

    title: above the panel.
    x_title: of the x axis.
    y_title: of the y axis.
    series: the lines.
    log_y: whether the y axis is logarithmic.
    """

    title: str
    x_title: str
    y_title: str
    series: tuple[Series, ...]
    log_y: bool = False


@dataclass(frozen=True)
class Bars:
    """A panel of bars in groups: a group for each category, in it a bar for each series.

    title: above the panel.
    y_title: of the y axis.
    categories: names of the groups; the xs of a series are their numbers.
    series: the bars.
    """

    title: str
    y_title: str
    categories: tuple[str, ...]
    series: tuple[Series, ...]


@dataclass(frozen=True)
class Plane:
    """Half-spaces a w0 + b w1 >= 0 in the plane of two weights, their intersection shaded.

    normals: (a, b) of each half-space, with a label; points: named weights to mark.
    """

    title: str
    x_title: str
    y_title: str
    normals: tuple[tuple[float, float, str], ...]
    points: tuple[tuple[float, float, str], ...] = ()


@dataclass(frozen=True)
class WorldPanel:
    """A grid world: thin arrows for a policy, heavy ones for what is shown, short texts on states.

    policy, shown: (state, action) pairs. marks: (state, text).
    """

    title: str
    task: Task
    policy: tuple[tuple[int, int], ...] = ()
    shown: tuple[tuple[int, int], ...] = ()
    marks: tuple[tuple[int, str], ...] = ()


Panel = Lines | Bars | Plane | WorldPanel


@dataclass(frozen=True)
class Figure:
    """A figure: panels side by side under one title, drawn by `didact reproduce`.

    name: of its files, without ending.
    title: above the panels.
    panels: `Lines`, `Bars`, half-planes or worlds.
    """

    name: str
    title: str
    panels: tuple[Panel, ...]


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
    """A column of a table.

    name: its head.
    kind: 'number'; 'percent', a share times 100; or 'count', how many of the trials hold.
    decimals: of its numbers.
    """

    name: str
    kind: Kind = "number"
    decimals: int = 2


@dataclass(frozen=True)
class TableCell:
    """A cell of a table.

    row: its row.
    column: its column.
    ours: an `Estimate` or a text.
    printed: the number that the paper prints there, if it prints one.
    verdict: 'agrees', 'above' or 'below' the paper's number.
    """

    row: str
    column: str
    ours: Estimate | str
    printed: Printed | None = None
    verdict: Verdict | None = None


@dataclass(frozen=True)
class Table:
    """A table: cells by row and column.

    title: above the table.
    rows_are: the head of the first column, which names the rows.
    columns: the other columns.
    cells: in any order; rows come in the order of their first cells.
    """

    title: str
    rows_are: str
    columns: tuple[Column, ...]
    cells: tuple[TableCell, ...]

    @property
    def rows(self) -> list[str]:
        """The names of the rows, in the order they first stand in."""
        return list(dict.fromkeys(cell.row for cell in self.cells))

    def cell(self, row: str, column: str) -> TableCell | None:
        """The cell at a place; None where there is none.

        row: the name of the row.
        column: the name of the column.
        """
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
    """What the records of a study come to: what its `summarise` returns.

    tables: of `Table`.
    figures: of `Figure`.
    findings: on the paper's claims.
    remarks: sentences for the report.
    """

    tables: tuple[Table, ...]
    figures: tuple[Figure, ...] = ()
    findings: tuple[Finding, ...] = ()
    remarks: tuple[str, ...] = ()


def series_of(
    name: str,
    xs: Iterable[float],
    means: Sequence[Estimate],
    *,
    least: float = -math.inf,
    most: float = math.inf,
) -> Series:
    """A line or bars through means, with their intervals where all of them are known.

    least, most: what intervals cannot exceed, as 0 and 1 of shares.
    """
    ys = tuple(mean.mean for mean in means)
    if not all(math.isfinite(mean.low) and math.isfinite(mean.high) for mean in means):
        return Series(name, tuple(map(float, xs)), ys)
    lows = tuple(max(mean.low, least) for mean in means)
    highs = tuple(min(mean.high, most) for mean in means)
    return Series(name, tuple(map(float, xs)), ys, lows, highs)


def table_of(
    title: str,
    rows_are: str,
    rows: Iterable[object],
    columns: Mapping[Column, Sequence[Estimate | TableCell | str | None]],
) -> Table:
    """A table from its columns, each with an entry for each row.

    An entry may be a cell, which knows what the paper prints there, or None where nothing stands.
    """
    cells = [
        entry if isinstance(entry, TableCell) else TableCell(str(row), column.name, entry)
        for place, row in enumerate(rows)
        for column, entries in columns.items()
        if (entry := entries[place]) is not None
    ]
    return Table(title, rows_are, tuple(columns), tuple(cells))


def by_case(records: Iterable[Record]) -> dict[str, list[Record]]:
    """The records of each case, in the order in which cases first come."""
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record["case"], []).append(record)
    return found


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
                tuple(
                    TableCell(row, column, estimate(cells[row, column])) for row, column in ordered
                ),
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
