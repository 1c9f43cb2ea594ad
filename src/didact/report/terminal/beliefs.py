"""A belief in a terminal: weights by feature, their spread, what it means.

All bars share one scale, marked at zero, so that features can be compared by eye.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from didact.inputs import counted, shown_name
from didact.learners import Belief
from didact.learners.files import size_in_words
from didact.learners.risk import Fit
from didact.mdp import Task
from didact.planning import Evaluation
from didact.report.beliefs import LONGEST_FEATURE, Scale, fit_lines, told_lines, weight_cells
from didact.report.terminal.worlds import GAP, INDENT, MOST_FEATURES, indented

NARROWEST_BAR, WIDEST_BAR = 9, 61
NARROWEST_NAME = len("feature")


def draw_belief(
    task: Task, belief: Belief, evaluation: Evaluation | None = None, *, width: int = 80
) -> RenderableType:
    """The learner in one line, weights by feature, the certificate, warnings, and the loss."""
    head = f"{shown_name(task.name)}: {size_in_words(belief)}"
    parts: list[RenderableType] = [Text(head, style="bold", no_wrap=True, overflow="ignore"), ""]
    parts += _weights(belief, width)
    parts += ["", *map(indented, told_lines(belief, evaluation, task))]
    parts += [indented(Text(f"warning: {line}", style="yellow")) for line in belief.warnings]
    return Group(*parts)


def draw_fit(task: Task, fit: Fit | None) -> RenderableType:
    """How well what was shown fits the learner's own confidence."""
    return Group(*(indented(Text(line)) for line in fit_lines(task, fit)))


def _weights(belief: Belief, width: int) -> list[RenderableType]:
    """The table of features: numbers, a bar, and diagnostics where there are chains."""
    rows = belief.summary()
    cells = [weight_cells(belief, row) for row in rows[:MOST_FEATURES]]
    heads, room = _fitting(cells, width - INDENT)
    longest = max(NARROWEST_NAME, *(cell_len(c["feature"]) for c in cells))
    bar = room - GAP - min(longest, LONGEST_FEATURE)
    wide = min(bar, WIDEST_BAR) if bar >= NARROWEST_BAR else 0
    bars = _Bars(Scale.of(rows[:MOST_FEATURES]), wide)
    name_width = min(longest, room - (bars.width + GAP if bars.width else 0))
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
    table.add_column("feature", no_wrap=True, max_width=max(name_width, NARROWEST_NAME))
    for head in heads:
        table.add_column(head, no_wrap=True, justify="right")
    if bars.width:
        table.add_column(bars.head(), no_wrap=True)
    for row, cell in zip(rows, cells, strict=False):
        drawn = [bars.bar(row)] if bars.width else []
        table.add_row(*map(Text, [cell["feature"], *(cell[head] for head in heads), *drawn]))
    parts: list[RenderableType] = [Padding(table, (0, 0, 0, INDENT), expand=False)]
    if len(rows) > MOST_FEATURES:
        parts.append(indented(f"({counted(len(rows) - MOST_FEATURES, 'more feature')})"))
    if bars.width:
        parts.append(indented(Text(_key(belief), style="dim")))
    return parts


def _fitting(cells: list[dict[str, str]], width: int) -> tuple[list[str], int]:
    """The columns of numbers that leave room for names, and that room; the mean goes first."""
    heads = list(cells[0])[1:]
    widths = {head: max(cell_len(head), *(cell_len(c[head]) for c in cells)) for head in heads}
    while True:
        room = width - sum(widths[head] + GAP for head in heads)
        if room >= NARROWEST_NAME or len(heads) == 1:
            return heads, room
        heads.remove("mean" if "mean" in heads else heads[-1])


def _key(belief: Belief) -> str:
    if belief.is_point:
        return "• weight, | zero"
    return "= 90% of the draws, • most likely (MAP), | zero"


@dataclass(frozen=True)
class _Bars:
    """Bars of some width on one scale."""

    scale: Scale
    width: int

    def place(self, value: float) -> int:
        """The column of a number, from 0 to width - 1."""
        return round(self.scale.place(value, self.width - 1))

    def head(self) -> str:
        """The ends of the scale, left and right above the bars."""
        low, high = f"{self.scale.low:.2g}", f"{self.scale.high:.2g}"
        if self.scale.high <= self.scale.low:
            return low
        return low + high.rjust(self.width - len(low))

    def bar(self, row: dict[str, Any]) -> str:
        """The interval, the most likely weight and zero, as signs."""
        signs = [" "] * self.width
        ends = (row["5%"], row["95%"]) if not np.isnan(row["5%"]) else (row["map"], row["map"])
        for i in range(self.place(ends[0]), self.place(ends[1]) + 1):
            signs[i] = "="
        signs[self.place(0.0)] = "|"
        signs[self.place(row["map"])] = "•"
        return "".join(signs)
