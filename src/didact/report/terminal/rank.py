"""The teaching difficulty of tasks as a table and bars in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from didact.inputs import shown_name
from didact.report.terminal.worlds import INDENT, indented
from didact.report.verdicts import between
from didact.teaching.rank import Difficulty

COLUMNS = ("states", "k", "facets", "equal", "demos", "pairs", "shows", "time")
LONGEST_NAME, WIDEST_BAR = 26, 40
BAR, UNSURE = "█", "░"


def draw_rank(rows: Sequence[Difficulty], *, width: int = 80) -> RenderableType:
    """A line for each task that was ranked, bars of its pairs, and why others were not."""
    ranked = [row for row in rows if row.error is None]
    parts: list[RenderableType] = []
    if ranked:
        parts += [Padding(_table(ranked), (0, 0, 0, INDENT), expand=False), ""]
        parts += [indented("pairs that must be seen:"), *_bars(ranked, width), ""]
        parts += [indented(line) for line in _legend(ranked)]
    failed = [row for row in rows if row.error is not None]
    if failed:
        parts += [*([""] if ranked else []), indented("not ranked:")]
        parts += [indented(f"{shown_name(row.name)}: {row.error}") for row in failed]
    return Group(*parts)


def _table(rows: Sequence[Difficulty]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("task", no_wrap=True, max_width=LONGEST_NAME)
    for column in COLUMNS:
        table.add_column(column, no_wrap=True, justify="right")
    for row in rows:
        table.add_row(shown_name(row.name, LONGEST_NAME), *_cells(row))
    return table


def _cells(row: Difficulty) -> list[str]:
    return [
        f"{row.n_states}",
        f"{row.n_features}",
        f"{row.n_facets}",
        f"{row.n_equalities}",
        between(row.fewest_demonstrations, row.n_demonstrations),
        between(row.fewest_pairs, row.n_pairs),
        f"{100 * (row.share or 0):.0f}%",
        f"{row.seconds:.1f} s",
    ]


def _bars(rows: Sequence[Difficulty], width: int) -> list[Text]:
    """A bar for each task: full up to the proved bound, light from there to the lesson found."""
    names = [shown_name(row.name, LONGEST_NAME) for row in rows]
    left = max(map(len, names))
    room = max(8, min(WIDEST_BAR, width - INDENT - left - 8))
    most = max((row.n_pairs or 0 for row in rows), default=0) or 1
    lines = []
    for name, row in zip(names, rows, strict=True):
        sure, found = (_length(n, most, room) for n in (row.fewest_pairs, row.n_pairs))
        line = Text(f"{' ' * INDENT}{name:<{left}}  ")
        line.append(BAR * sure, style="dark_sea_green4" if row.status == "complete" else "red3")
        line.append(UNSURE * (found - sure)).append(f" {between(row.fewest_pairs, row.n_pairs)}")
        lines.append(line)
    return lines


def _length(n: int | None, most: int, room: int) -> int:
    return 0 if not n else max(1, round(n * room / most))


def _legend(rows: Sequence[Difficulty]) -> list[str]:
    """What the columns mean, only those that need it."""
    lines = ["demos: whole episodes from the task's own starts; pairs: steps from anywhere"]
    cells = [cell for row in rows for cell in _cells(row)[4:6]]
    if any(".." in cell for cell in cells):
        lines.append("2..3: at least 2, and 3 are enough")
    if any(row.status == "partial" for row in rows):
        lines.append("3+: whole episodes show only a part, of which `shows` is the share")
    if any(row.arithmetic == "float" for row in rows):
        named = ", ".join(shown_name(row.name) for row in rows if row.arithmetic == "float")
        lines.append(f"in floats, not proved: {named}")
    return lines
