"""Tables in a terminal: the weights of a belief with bars, a run, the difficulty of tasks.

The bars of a table share one scale, so that its rows can be compared by eye. What a person is asked
is drawn on the world. `report.words` has the sentences and the cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from didact.active import Run, Situation
from didact.inputs import counted, shown_name
from didact.learners import Belief
from didact.learners.risk import Fit
from didact.mdp import MDP, Task
from didact.mdp.naming import state_words
from didact.mdp.task import active_feature, cell_of, feature_letters, is_grid
from didact.planning import Evaluation
from didact.report.terminal import wrapped_lines
from didact.report.terminal.worlds import (
    GAP,
    INDENT,
    MAX_ALL,
    MAX_ROWS,
    action_arrows,
    draw_grid,
    indented,
)
from didact.report.words.beliefs import (
    LONGEST_FEATURE,
    SURE,
    Scale,
    describe_belief,
    describe_run,
    run_table,
    weight_cells,
)
from didact.report.words.tasks import describe_ranking, ranking_table
from didact.teaching.rank import Difficulty

NARROWEST_BAR, WIDEST_BAR = 9, 61
MAX_WEIGHTS = 8
"""Features of a belief that fit a screen with all that is said of it."""
NARROWEST_NAME = len("feature")


def draw_belief(
    task: Task,
    belief: Belief,
    evaluation: Evaluation | None = None,
    fit: Fit | None = None,
    *,
    width: int = 80,
    details: bool = False,
) -> RenderableType:
    """Weights by feature, the certificate, warnings, the loss, and how well the data fit."""
    said = describe_belief(task, belief, evaluation, fit)
    return Group(
        *(Text(line, style="bold") for line in wrapped_lines([said.verdict], width)),
        *_weights(belief, width, MAX_ALL if details else MAX_WEIGHTS),
        *(Text(line) for line in wrapped_lines(said.following(details=details), width)),
    )


def _weights(belief: Belief, width: int, most: int) -> list[RenderableType]:
    """The table of features: numbers, a bar, and diagnostics where there are chains."""
    rows = belief.summary()
    cells = [weight_cells(belief, row) for row in rows[:most]]
    heads, room = _fitting(cells, width - INDENT)
    longest = max(NARROWEST_NAME, *(cell_len(c["feature"]) for c in cells))
    bar = room - GAP - min(longest, LONGEST_FEATURE)
    wide = min(bar, WIDEST_BAR) if bar >= NARROWEST_BAR else 0
    bars = _Bars(Scale.of(rows[:most]), wide)
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
    if len(rows) > most:
        parts.append(indented(f"({counted(len(rows) - most, 'more feature')})"))
    if bars.width:
        key = "= 90% of the draws, • most likely (MAP), | zero"
        parts.append(indented(Text("• weight, | zero" if belief.is_point else key, style="dim")))
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


NARROW = 72


def draw_run(task: Task, run: Run, *, width: int = 80, details: bool = False) -> RenderableType:
    """The result, then one row for each answer; of many answers the first and the last."""
    wide = width >= NARROW

    asked = [cell_len(state_words(task, s.state)) for s in run.steps if s.state is not None]
    longest, most = max(asked, default=0), width - OTHERS if wide else 8
    without: list[str] = []
    for name, taken in GIVES_WAY.items():
        if wide and longest > most:
            most, without = most + taken, [*without, name]

    def named(state: int) -> str:
        words = state_words(task, state)
        return words if cell_len(words) <= most else f"state {state}"

    said, rows, lines = describe_run(run), run_table(run, named), []
    if len(rows) > FIRST + LAST and not details:
        lines.append(f"  ({len(rows) - FIRST - LAST} more rows after {FIRST - 1}; --details)")
        rows = [*rows[:FIRST], *rows[-LAST:]]
    without += [] if wide and details else ["bound"]
    without += [] if wide else ["agreed"]
    without += ["VaR 95%"] if "loss" in rows[0] and width < 50 else []
    lines += said.following()
    return Group(
        *(Text(line, style="bold") for line in wrapped_lines([said.verdict], width)),
        "",
        _indented_table(rows, [name for name in rows[0] if name not in without], left="asked"),
        *(Text(line) for line in wrapped_lines(lines, width)),
    )


FIRST, LAST = 4, 12
"""Rows of a long run that are shown, from its beginning and its end."""
OTHERS = 50
"""What the other columns of a run take."""
GIVES_WAY = {"agreed": 8, "facets": 8}
"""Columns that make room for long names of states, and what they take."""


def _indented_table(
    rows: Sequence[Mapping[str, str]], names: Sequence[str], *, left: str
) -> RenderableType:
    """Cells by column, set in from the left; all columns but one end at the right."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in names:
        table.add_column(name, justify="left" if name == left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(row[name]) for name in names))
    return Padding(table, (0, 0, 0, INDENT), expand=False)


# What a person sees


def draw_question(
    task: Task, situation: Situation, state: int, path: Sequence[tuple[int, int]], width: int
) -> list[RenderableType]:
    """The world with what is known so far, `?` where it is asked, and the steps taken so far."""
    arrows = action_arrows(task.mdp) if is_grid(task) else None
    if arrows is None:
        return [indented(line) for line in _in_words(task, state)]
    taken = known_actions(situation)
    for shown_state, action in path:
        taken[shown_state] = False
        taken[shown_state, action] = True
    taken[state] = False
    lines = draw_grid(task, taken, arrows, width)
    meaning = "what it would do" if situation.belief.is_point else "what it is sure of"
    _mark(task, lines, state, 3 + max(2, int(taken.sum(axis=1).max())))
    return [*lines, indented(_features_legend(task.mdp)), indented(f"arrows: {meaning}")]


def known_actions(situation: Situation) -> Any:
    """What the learned policy does (S, A), only where the belief is sure of it."""
    taken = situation.belief.policy("map") > 0.0
    return taken & (situation.agreement >= SURE)[:, None]


def _mark(task: Task, lines: list[Text], state: int, wide: int) -> None:
    """Put a question mark into the cell of the state, `wide` signs wide, where it is drawn."""
    assert task.layout is not None
    row, column = cell_of(task, state)
    first = INDENT + column * wide
    if row >= min(task.layout["rows"], MAX_ROWS) or first + wide > len(lines[row].plain):
        return
    line = lines[row]
    marked = Text(f"{line.plain[first]}?".ljust(wide), style="bold reverse")
    lines[row] = Text.assemble(line[:first], marked, line[first + wide :], no_wrap=True)


def _features_legend(mdp: MDP) -> str:
    letters = feature_letters(mdp)
    on = sorted({f for s in range(mdp.n_states) if (f := active_feature(mdp, s)) is not None})
    return "  ".join(f"{letters[i]} {shown_name(mdp.feature_name(i))}" for i in on[:24])


def _in_words(task: Task, state: int) -> list[str]:
    mdp = task.mdp
    features = mdp.features.floats[state]
    lines = [state_words(task, state)]
    if features.ndim == 1:
        on = np.flatnonzero(features)[:12].tolist()
        listed = ", ".join(f"{shown_name(mdp.feature_name(i))} {features[i]:.3g}" for i in on)
        lines += [f"features: {listed}"] if on else []
    return lines


MAX_RANKED = 15
"""Tasks that are listed, unless all are asked for."""


def draw_rank(
    rows: Sequence[Difficulty], *, width: int = 80, details: bool = False
) -> RenderableType:
    """A line for each task that was ranked, and why others were not."""
    ranked = ranking_table(rows)
    shown = ranked if details else ranked[:MAX_RANKED]
    parts = [_indented_table(shown, list(shown[0]), left="task")] if shown else []
    lines = []
    if len(shown) < len(ranked):
        lines.append(f"  ({counted(len(ranked) - len(shown), 'more task')}; --details)")
    lines += describe_ranking(rows).following(details=details)
    return Group(*parts, *(Text(line) for line in wrapped_lines(lines, width)))
