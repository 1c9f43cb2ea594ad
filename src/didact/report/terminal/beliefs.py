"""A belief in a terminal and as a piece of a page: weights by feature, their spread, what it means.

All bars share one scale, marked at zero, so that features can be compared by eye.
"""

from __future__ import annotations

import html
from typing import Any

import numpy as np
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from didact.inputs import counted, shown_name
from didact.learners import Belief
from didact.learners.summary import size_in_words
from didact.mdp import Task
from didact.planning import Evaluation
from didact.report.terminal.worlds import GAP, INDENT, MOST_FEATURES, indented

NARROWEST_BAR, WIDEST_BAR = 9, 61
NARROWEST_NAME, LONGEST_FEATURE = len("feature"), 24


def draw_belief(
    task: Task, belief: Belief, evaluation: Evaluation | None = None, *, width: int = 80
) -> RenderableType:
    """The learner in one line, weights by feature, the certificate, warnings, and the loss."""
    head = f"{shown_name(task.name)}: {size_in_words(belief)}"
    parts: list[RenderableType] = [Text(head, style="bold", no_wrap=True, overflow="ignore"), ""]
    parts += _weights(belief, width)
    parts += ["", *map(indented, told_lines(belief, evaluation))]
    parts += [indented(Text(f"warning: {line}", style="yellow")) for line in belief.warnings]
    return Group(*parts)


def told_lines(belief: Belief, evaluation: Evaluation | None) -> list[str]:
    """The certificate, and how the policy of the most likely weights fares, in words."""
    lines = [] if belief.certificate is None else [str(belief.certificate)]
    return lines if evaluation is None else [*lines, evaluation_line(evaluation)]


def evaluation_line(evaluation: Evaluation) -> str:
    """How far the learned policy is from the true one."""
    if evaluation.worst_policy_loss == 0 and evaluation.worst_wrong_actions == 0:
        return "The learned policy is optimal in every state: it loses nothing."
    n_states = int(np.count_nonzero(evaluation.wrong_by_state))
    wrong = f"{100 * evaluation.wrong_actions:.3g}% of its actions are wrong"
    where = f", in {counted(n_states, 'state')}" if n_states else ""
    loss, worst = f"{evaluation.policy_loss:.3g}", f"{evaluation.worst_policy_loss:.3g}"
    ties = "" if loss == worst else f", with ties broken badly {worst}"
    return f"The learned policy loses {loss}{ties}; {wrong}{where}."


def _weights(belief: Belief, width: int) -> list[RenderableType]:
    """The table of features: numbers, a bar, and diagnostics where there are chains."""
    rows = belief.summary()
    cells = [_cells(belief, row) for row in rows[:MOST_FEATURES]]
    heads, room = _fitting(cells, width - INDENT)
    longest = max(NARROWEST_NAME, *(cell_len(c["feature"]) for c in cells))
    bar = room - GAP - min(longest, LONGEST_FEATURE)
    scale = _Scale(rows[:MOST_FEATURES], min(bar, WIDEST_BAR) if bar >= NARROWEST_BAR else 0)
    name_width = min(longest, room - (scale.width + GAP if scale.width else 0))
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
    table.add_column("feature", no_wrap=True, max_width=max(name_width, NARROWEST_NAME))
    for head in heads:
        table.add_column(head, no_wrap=True, justify="right")
    if scale.width:
        table.add_column(scale.head(), no_wrap=True)
    for row, cell in zip(rows, cells, strict=False):
        drawn = [scale.bar(row)] if scale.width else []
        table.add_row(*map(Text, [cell["feature"], *(cell[head] for head in heads), *drawn]))
    parts: list[RenderableType] = [Padding(table, (0, 0, 0, INDENT), expand=False)]
    if len(rows) > MOST_FEATURES:
        parts.append(indented(f"({counted(len(rows) - MOST_FEATURES, 'more feature')})"))
    if scale.width:
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


def _cells(belief: Belief, row: dict[str, Any]) -> dict[str, str]:
    name = shown_name(row["name"], LONGEST_FEATURE)
    if belief.is_point:
        return {"feature": name, "weight": f"{row['map']:.3f}"}
    return {
        "feature": name,
        "MAP": f"{row['map']:.3f}",
        "mean": f"{row['mean']:.3f}",
        "R-hat": "-" if np.isnan(row["r_hat"]) else f"{row['r_hat']:.2f}",
        "ESS": "-" if np.isnan(row["ess_bulk"]) else f"{row['ess_bulk']:.0f}",
    }


def _key(belief: Belief) -> str:
    if belief.is_point:
        return "• weight, | zero"
    return "= 90% of the draws, • most likely (MAP), | zero"


class _Scale:
    """Where numbers lie on a bar of some width that shows them all, and zero."""

    def __init__(self, rows: list[dict[str, Any]], width: int):
        numbers = [0.0] + [row[name] for row in rows for name in ("map", "5%", "95%")]
        self.low, self.high = float(np.nanmin(numbers)), float(np.nanmax(numbers))
        self.width = width

    def place(self, value: float) -> int:
        """The column of a number, from 0 to width - 1."""
        span = self.high - self.low
        return round((self.width - 1) * (value - self.low) / span) if span > 0 else 0

    def head(self) -> str:
        """The ends of the scale, left and right above the bars."""
        low, high = f"{self.low:.2g}", f"{self.high:.2g}"
        return low + high.rjust(self.width - len(low)) if self.high > self.low else low

    def bar(self, row: dict[str, Any]) -> str:
        """The interval, the most likely weight and zero, as signs."""
        signs = [" "] * self.width
        ends = (row["5%"], row["95%"]) if not np.isnan(row["5%"]) else (row["map"], row["map"])
        for i in range(self.place(ends[0]), self.place(ends[1]) + 1):
            signs[i] = "="
        signs[self.place(0.0)] = "|"
        signs[self.place(row["map"])] = "•"
        return "".join(signs)


def belief_fragment(task: Task, belief: Belief, evaluation: Evaluation | None = None) -> str:
    """The same as HTML that stands alone in any page: a table with drawn intervals, and words."""
    rows = belief.summary()
    scale = _Scale(rows, 101)
    heads = list(_cells(belief, rows[0]))
    body = "".join(
        "<tr>"
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(belief, row).values())
        + f"<td>{_drawn(scale, row)}</td></tr>"
        for row in rows
    )
    title = html.escape(f"{task.name}: {size_in_words(belief)}")
    told = [*told_lines(belief, evaluation), *(f"Warning: {line}" for line in belief.warnings)]
    return (
        f'<section class="belief"><h2>{title}</h2><table><thead><tr>'
        + "".join(f"<th>{html.escape(head)}</th>" for head in [*heads, "90% interval"])
        + f"</tr></thead><tbody>{body}</tbody></table>"
        + "".join(f"<p>{html.escape(line)}</p>" for line in told)
        + "</section>"
    )


def _drawn(scale: _Scale, row: dict[str, Any]) -> str:
    """An inline picture: the interval as a bar, the most likely weight as a dot, zero as a line."""
    span = scale.high - scale.low or 1.0
    zero, best = (4 + 192 * (value - scale.low) / span for value in (0.0, row["map"]))
    low, high = (4 + 192 * (row[name] - scale.low) / span for name in ("5%", "95%"))
    interval = (
        ""
        if np.isnan(low)
        else f'<rect x="{low:.1f}" y="6" width="{high - low:.1f}" height="4" fill="#8aa9c9"/>'
    )
    told = f"most likely {row['map']:.3g}"
    if interval:
        told += f", 90% from {row['5%']:.3g} to {row['95%']:.3g}"
    return (
        f'<svg width="200" height="16" role="img" aria-label="{told}">'
        f'<line x1="{zero:.1f}" y1="0" x2="{zero:.1f}" y2="16" stroke="#999"/>'
        f'{interval}<circle cx="{best:.1f}" cy="8" r="3" fill="#1f4e79"/></svg>'
    )
