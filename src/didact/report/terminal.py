"""A world in a terminal: cells by feature, optimal actions as arrows, terminals, starts.

Every cell carries its feature's letter as well as its colour, so that it reads without colours too.
"""

from __future__ import annotations

import string
from collections.abc import Sequence

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from didact.mdp import MDP, Task
from didact.planning import Plan

ARROWS = ("↑", "↓", "←", "→")
CELL = 6
MOST_ROWS, MOST_STATES = 60, 25
COLOURS = (
    "grey93", "grey62", "light_pink3", "dark_sea_green3", "sky_blue3", "khaki3",
    "plum3", "dark_orange3", "turquoise4", "rosy_brown", "yellow4", "slate_blue3",
)  # fmt: skip


def draw_task(task: Task, plan: Plan, *, width: int = 80) -> RenderableType:
    """The world with its optimal actions, a legend, and how the plan was found."""
    picture = _grid(task, plan, width) if _is_grid(task) else _table(task, plan)
    return Group(_heading(task), "", picture, "", *_legend(task), _evidence(plan))


def _heading(task: Task) -> Text:
    mdp = task.mdp
    parts = [
        f"{mdp.n_states} states",
        f"{mdp.n_actions} actions",
        f"{mdp.n_features} features",
        f"discount {float(mdp.exact_discount):g}",
        "deterministic" if mdp.is_deterministic() else "stochastic",
    ]
    return Text.assemble((task.name, "bold"), ": ", ", ".join(parts))


def _is_grid(task: Task) -> bool:
    return task.layout is not None and task.mdp.n_actions == 4


def _grid(task: Task, plan: Plan, width: int) -> RenderableType:
    assert task.layout is not None
    rows, columns = task.layout["rows"], task.layout["columns"]
    cells = task.layout.get("cells") or range(task.mdp.n_states)
    state_at = {cell: state for state, cell in enumerate(cells)}
    shown_rows, shown_columns = min(rows, MOST_ROWS), min(columns, max(1, (width - 2) // CELL))
    letters = feature_letters(task.mdp)
    lines = []
    for row in range(shown_rows):
        line = Text("  ")
        for column in range(shown_columns):
            state = state_at.get(row * columns + column)
            line.append_text(_wall() if state is None else _cell(task.mdp, plan, state, letters))
        lines.append(line)
    if (shown_rows, shown_columns) != (rows, columns):
        lines.append(
            Text(f"  (the first {shown_rows} of {rows} rows, {shown_columns} of {columns} columns)")
        )
    return Group(*lines)


def _wall() -> Text:
    return Text("█" * CELL, style="grey23")


def _cell(mdp: MDP, plan: Plan, state: int, letters: Sequence[str]) -> Text:
    feature = active_feature(mdp, state)
    letter = " " if feature is None else letters[feature]
    if mdp.terminal[state]:
        inside = "◎"
    else:
        inside = "".join(ARROWS[a] for a in plan.optimal_actions(state))
    mark = "•" if _is_marked_start(mdp, state) else " "
    style = "default" if feature is None else f"black on {COLOURS[feature % len(COLOURS)]}"
    return Text(f"{letter}{mark}{inside:<4}"[:CELL], style=style)


def _is_marked_start(mdp: MDP, state: int) -> bool:
    """Starts are marked where not every state that goes on is one."""
    starts = mdp.start.floats > 0
    return bool(starts[state]) and not bool(starts[~mdp.terminal].all())


def active_feature(mdp: MDP, state: int) -> int | None:
    """The one feature that is on in a state, or None where that is not the picture."""
    if mdp.has_action_features:
        return None
    on = np.flatnonzero(mdp.features.floats[state])
    return int(on[0]) if on.size == 1 else None


def feature_letters(mdp: MDP) -> list[str]:
    """A letter for each feature: initials when they differ, else a, b, c ..."""
    initials = [mdp.feature_name(i)[:1].lower() for i in range(mdp.n_features)]
    if len(set(initials)) == len(initials) and "" not in initials:
        return initials
    letters = string.ascii_letters
    return [letters[i % len(letters)] for i in range(mdp.n_features)]


def _table(task: Task, plan: Plan) -> RenderableType:
    mdp = task.mdp
    table = Table(box=None, pad_edge=False, padding=(0, 2))
    table.add_column("  state")
    table.add_column("value", justify="right")
    table.add_column("optimal actions")
    for state in range(min(mdp.n_states, MOST_STATES)):
        names = ", ".join(mdp.action_name(a) for a in plan.optimal_actions(state))
        mark = "•" if mdp.start.floats[state] > 0 else " "
        ending = "◎ terminal" if mdp.terminal[state] else names
        table.add_row(f"{mark} {mdp.state_name(state)}", f"{plan.values[state]:.3f}", ending)
    if mdp.n_states <= MOST_STATES:
        return table
    return Group(table, Text(f"  ... and {mdp.n_states - MOST_STATES} more states"))


def _legend(task: Task) -> list[Text]:
    mdp, letters = task.mdp, feature_letters(task.mdp)
    coloured = _is_grid(task) and not mdp.has_action_features
    entries = []
    for i, weight in enumerate(task.weights):
        style = f"black on {COLOURS[i % len(COLOURS)]}" if coloured else "bold"
        entries.append(
            Text.assemble((f" {letters[i]} ", style), f" {mdp.feature_name(i)} {weight:.4g}")
        )
    weights = Text("  reward by feature: ").append_text(Text(",  ").join(entries))
    n_starts = int((mdp.start.floats[~mdp.terminal] > 0).sum())
    n_going = int((~mdp.terminal).sum())
    starts = "every state is a start" if n_starts == n_going else f"• {n_starts} starts"
    return [weights, Text(f"  arrows are optimal actions (all that tie), ◎ ends, {starts}")]


def _evidence(plan: Plan) -> Text:
    right_to = f"values right to {plan.error_bound:.1e}"
    if plan.arithmetic == "exact":
        how = "all comparisons decided in exact arithmetic"
    elif plan.is_proved and plan.n_close:
        how = f"{right_to}; {plan.n_settled} close comparisons settled in exact arithmetic"
    elif plan.is_proved:
        how = f"{right_to}, which settles every comparison"
    else:
        how = f"{right_to}; {plan.n_close} closer comparisons count as ties"
    return Text(f"  {how}", style="dim")
