"""A world or a lesson in a terminal: cells by feature, actions as arrows, terminals, starts.

Every cell carries its feature's letter as well as its colour, so that it reads without colours too.
Worlds that are no grid of moves become a table of states. A lesson has its verdict in one line, the
demonstrations drawn, the rest in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from didact.inputs import counted, shown_name
from didact.mdp import MDP, Demonstration, Task
from didact.mdp.model import deciding_states, idle_states
from didact.mdp.task import (
    ARROW_OF,
    active_feature,
    cell_of,
    feature_letters,
    is_grid,
    marked_starts,
    states_by_cell,
)
from didact.planning import Plan
from didact.report.terminal import wrapped_lines
from didact.report.words.lessons import describe_lesson
from didact.teaching import Lesson

ASCII = str.maketrans("↑↓←→·◎•█…", "^v<>.O*#~")
"""What stands for the signs of a drawing where the output cannot carry them."""

INDENT, GAP = 2, 2
MAX_ROWS, MAX_LESSON_ROWS, MAX_STATES = 12, 9, 12
"""Rows of a grid, of one with demonstrations, and of a table of states that fit a screen."""
MAX_ALL = 1000
"""The same with all details."""
MAX_FEATURES = 12
COLOURS = (
    "grey93",
    "grey62",
    "light_pink3",
    "dark_sea_green3",
    "sky_blue3",
    "khaki3",
    "plum3",
    "dark_orange3",
    "turquoise4",
    "rosy_brown",
    "yellow4",
    "slate_blue3",
)


def draw_task(task: Task, plan: Plan, *, width: int = 80, details: bool = False) -> RenderableType:
    """The world with its optimal actions, a legend, and how the plan was found."""
    arrows = action_arrows(task.mdp) if is_grid(task) else None
    if arrows is None:
        picture = _table(task, plan, width, MAX_ALL if details else MAX_STATES)
    else:
        most = MAX_ALL if details else MAX_ROWS
        picture = Group(*draw_grid(task, plan.optimal, arrows, width, most))
    return Group(
        Text(shown_name(task.name, 70), style="bold"),
        indented(_facts(task.mdp)),
        "",
        picture,
        "",
        *_rewards(task, is_grid=arrows is not None, width=width),
        indented(_key(task, is_grid=arrows is not None)),
        indented(_evidence(plan)),
    )


def action_arrows(mdp: MDP) -> tuple[str, ...] | None:
    """A different arrow for each action, by its name; None where some action is no move.

    Four actions without names are up, down, left, right, as in every grid world here.
    """
    if mdp.action_names is None:
        return ("↑", "↓", "←", "→") if mdp.n_actions == 4 else None
    arrows = [ARROW_OF.get(name.lower(), "") for name in mdp.action_names]
    return tuple(arrows) if "" not in arrows and len(set(arrows)) == len(arrows) else None


def indented(text: str | Text) -> Padding:
    """Text set in from the left."""
    return Padding(Text(text) if isinstance(text, str) else text, (0, 0, 0, INDENT), expand=False)


def _facts(mdp: MDP) -> str:
    parts = [
        counted(mdp.n_states, "state"),
        counted(mdp.n_actions, "action"),
        counted(mdp.n_features, "feature"),
        f"discount {mdp.discount}",
        "deterministic" if mdp.is_deterministic() else "stochastic",
    ]
    return ", ".join(parts)


def draw_grid(
    task: Task, taken: Any, arrows: Sequence[str], width: int, most_rows: int = MAX_ROWS
) -> list[Text]:
    """The grid line by line, with an arrow for each action taken (S, A)."""
    return _grid(
        task,
        {
            state: "".join(arrows[action] for action in np.flatnonzero(taken[state]).tolist())
            for state in np.flatnonzero(taken.any(axis=1)).tolist()
        },
        width,
        most_rows,
    )


def cell_width(task: Task, inside: Mapping[int, str]) -> int:
    """The columns of a cell: its letter, a start's mark, what stands in it, and a gap."""
    used = ~idle_states(task.mdp)
    return 3 + max(2, *(len(text) for state, text in inside.items() if used[state]), 0)


def _grid(task: Task, inside: Mapping[int, str], width: int, most_rows: int) -> list[Text]:
    """The grid with a text in some cells; where it does not fit, the part that has the first."""
    assert task.layout is not None
    rows, columns = task.layout["rows"], task.layout["columns"]
    state_at = states_by_cell(task)
    wide = cell_width(task, inside)
    cells = [cell_of(task, state) for state in inside] or [(0, 0)]
    shown_rows = _window(rows, most_rows, min(row for row, _ in cells))
    shown_columns = _window(
        columns, max(1, (width - INDENT) // wide), min(column for _, column in cells)
    )
    letters, starts = feature_letters(task.mdp), marked_starts(task.mdp)
    lines = []
    for row in shown_rows:
        line = Text(" " * INDENT, no_wrap=True, overflow="crop")
        for column in shown_columns:
            state = int(state_at[row, column])
            if state < 0:
                line.append("█" * wide, style="grey23")
                continue
            drawn = "◎" if task.mdp.terminal[state] else inside.get(state, "")
            mark = "•" if starts[state] else " "
            line.append_text(_cell(task.mdp, state, letters, f"{mark}{drawn}", wide))
        lines.append(line)
    if (len(shown_rows), len(shown_columns)) != (rows, columns):
        lines.append(
            Text(
                f"{' ' * INDENT}(rows {shown_rows[0] + 1} to {shown_rows[-1] + 1} of {rows}, "
                f"columns {shown_columns[0] + 1} to {shown_columns[-1] + 1} of {columns})"
            )
        )
    return lines


def _window(n: int, most: int, first: int) -> range:
    """At most so many of n rows or columns; where not all fit, from the first that matters on."""
    begin = 0 if n <= most else min(first, n - most)
    return range(begin, min(begin + most, n))


def _cell(mdp: MDP, state: int, letters: Sequence[str], inside: str, width: int) -> Text:
    feature = active_feature(mdp, state)
    nothing = " " if inside.strip() else "·"  # where nothing is drawn, a dot says that a state is
    letter = nothing if feature is None else letters[feature]
    style = "default" if feature is None else f"black on {COLOURS[feature % len(COLOURS)]}"
    return Text(f"{letter}{inside}".ljust(width), style=style)


def _table(task: Task, plan: Plan, width: int, most_states: int) -> RenderableType:
    mdp = task.mdp
    starts = marked_starts(mdp)
    used = np.flatnonzero(~idle_states(mdp)).tolist()
    listed = used[:most_states]
    largest = float(np.abs(plan.values[listed]).max())
    form = ".3f" if largest == 0 or 0.1 <= largest < 1e6 else ".4g"
    rows = [
        (
            f"{'•' if starts[state] else ' '} {shown_name(mdp.state_name(state))}",
            f"{plan.values[state]:{form}}",
            "◎"
            if mdp.terminal[state]
            else ", ".join(shown_name(mdp.action_name(a)) for a in plan.optimal_actions(state)),
        )
        for state in listed
    ]
    widths = _column_widths([("  state", "value", "optimal actions"), *rows], width - INDENT)
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
    table.add_column("  state", no_wrap=True, max_width=widths[0])
    table.add_column("value", no_wrap=True, justify="right")
    table.add_column("optimal actions", no_wrap=True, max_width=widths[2])
    for row in rows:
        table.add_row(*map(Text, row))
    drawn = Padding(table, (0, 0, 0, INDENT), expand=False)
    if len(listed) == len(used):
        return drawn
    rest = counted(len(used) - len(listed), "more state")
    return Group(drawn, indented(f"  ({rest}; --details)"))


def _column_widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Widths that fit: values whole, actions at least a third of the rest, then the states."""
    states, values, actions = (max(map(cell_len, column)) for column in zip(*rows, strict=True))
    rest = width - values - 2 * GAP
    actions = min(actions, max(rest - states, rest // 3, 8))
    return [min(states, max(rest - actions, 8)), values, actions]


def _rewards(task: Task, *, is_grid: bool, width: int) -> list[Text]:
    """The weights by feature, with the letter and the colour where cells carry them."""
    mdp, letters = task.mdp, feature_letters(task.mdp)
    lettered = is_grid and not mdp.has_action_features
    entries = [Text("reward by feature:")]
    for i, weight in enumerate(task.weights[:MAX_FEATURES]):
        named = f"{shown_name(mdp.feature_name(i))}: {weight:.4g}"
        letter = (f" {letters[i]} ", f"black on {COLOURS[i % len(COLOURS)]}")
        told = f"{weight:.4g}" if letters[i] == mdp.feature_name(i) else named
        entries.append(Text.assemble(letter, f" {told}") if lettered else Text(named))
    if mdp.n_features > MAX_FEATURES:
        entries.append(Text(f"({counted(mdp.n_features - MAX_FEATURES, 'more feature')})"))
    return _flowing(entries, width)


def letter_legend(task: Task, width: int) -> list[RenderableType]:
    """What the letters of a drawn grid mean, with their weights; nothing where there are none."""
    if not is_grid(task) or action_arrows(task.mdp) is None or task.mdp.has_action_features:
        return []
    return list(_rewards(task, is_grid=True, width=width))


def _flowing(entries: Iterable[Text], width: int) -> list[Text]:
    """Entries side by side on as many lines as they need; none is broken while it fits a line."""
    lines: list[Text] = []
    for entry in entries:
        if lines and lines[-1].cell_len + 2 + entry.cell_len <= width:
            lines[-1].append("  ").append_text(entry)
        else:
            lines.append(Text(" " * INDENT).append_text(entry))
    return lines


def _key(task: Task, *, is_grid: bool) -> str:
    """What the signs of the picture mean, only those that stand in it."""
    mdp = task.mdp
    ends, starts = bool(mdp.terminal.any()), mdp.start.floats > 0
    parts = ["arrows: all optimal actions" if is_grid else "all optimal actions are listed"]
    if ends:
        parts.append("◎ ends")
    if is_grid and (states_by_cell(task) < 0).any():
        parts.append("█ is no state")
    if not starts[deciding_states(mdp)].all():
        parts.append(f"• {counted(int(starts.sum()), 'start')}")
    else:
        parts.append(f"every {'' if starts.all() else 'other '}state is a start")
    return "; ".join(parts)


def _evidence(plan: Plan) -> Text:
    right_to = f"values right to {plan.error_bound:.1e}"
    close = counted(plan.n_close, "close comparison")
    if plan.arithmetic == "exact":
        how = "all comparisons decided in exact arithmetic"
    elif plan.is_proved and plan.n_close:
        how = f"{right_to}; {close} settled in exact arithmetic"
    elif plan.is_proved:
        how = f"{right_to}, which settles every comparison"
    else:
        how = f"{right_to}; {close} left open and drawn as optimal"
    return Text(how, style="dim")


def draw_lesson(
    task: Task, lesson: Lesson, verified: str | None, *, width: int = 80, details: bool = False
) -> RenderableType:
    """Verdict, all demonstrations on one picture, and what `describe_lesson` says."""
    arrows = action_arrows(task.mdp) if is_grid(task) else None
    drawn = arrows is not None and bool(lesson.demonstrations)
    said = describe_lesson(task, lesson, verified, drawn=drawn)
    first, *rest = said.following(details=details)
    parts: list[RenderableType] = [
        *(Text(line, style="bold") for line in wrapped_lines([said.verdict], width)),
        *(Text(line) for line in wrapped_lines([first], width)),
    ]
    if arrows is not None and lesson.demonstrations:
        parts += ["", *draw_steps(task, lesson.demonstrations, arrows, width)]
        parts += [*letter_legend(task, width), ""]
    return Group(*parts, *(Text(line) for line in wrapped_lines(rest, width)))


def draw_steps(
    task: Task, shown: Sequence[Demonstration], arrows: Sequence[str], width: int
) -> list[Text]:
    """All demonstrations on one grid: an arrow for each step, with the demonstration's number."""
    inside: dict[int, str] = {}
    told: set[tuple[int, int]] = set()
    for number, demonstration in enumerate(shown, start=1):
        for state, action in demonstration:
            if (state, action) not in told:
                told.add((state, action))
                name = f"{number}" if len(shown) > 1 else ""
                inside[state] = inside.get(state, "") + arrows[action] + name
    lines = _grid(task, inside, width, MAX_LESSON_ROWS)
    if len(shown) > 1:
        n = len(shown)
        shared = len(told) < sum(map(len, shown))
        end = "; a repeated step has the lowest number" if shared else ""
        lines.append(Text(f"{' ' * INDENT}{arrows[0]}{n}: a step of demonstration {n}{end}"))
    return lines


def frames(task: Task, demonstration: Demonstration, width: int) -> Iterator[RenderableType]:
    """A demonstration on its grid step by step, for an animation."""
    arrows = action_arrows(task.mdp) or ()
    for step in range(1, len(demonstration) + 1 if arrows else 0):
        shown = Demonstration(demonstration.pairs[:step])
        yield Group(*draw_steps(task, [shown], arrows, width))
