"""A world or a lesson in a terminal: cells by feature, actions as arrows, terminals, starts.

Every cell carries its feature's letter as well as its colour, so that it reads without colours too.
Worlds that are no grid of moves become a table of states. A lesson has its verdict in one line, the
demonstrations drawn, the rest in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from didact.bec.halfspaces import demonstrated_pairs
from didact.inputs import counted, shown_name
from didact.mdp import MDP, Demonstration, Task
from didact.mdp.model import deciding_states, idle_states
from didact.mdp.naming import pair_words
from didact.mdp.task import (
    ARROW_OF,
    active_feature,
    feature_letters,
    marked_starts,
    states_by_cell,
)
from didact.planning import Plan
from didact.report.words.lessons import (
    closed_words,
    cost_words,
    hardest_words,
    lesson_line,
    probability_words,
    statement_words,
    within_lines,
    witness_line,
)
from didact.teaching import Lesson
from didact.teaching.lesson import FEWEST

ASCII = str.maketrans("↑↓←→·◎•█…", "^v<>.O*#~")
"""What stands for the signs of a drawing where the output cannot carry them."""

INDENT, GAP = 2, 2
MOST_ROWS, MOST_STATES, MOST_FEATURES = 60, 25, 24
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


def draw_task(task: Task, plan: Plan, *, width: int = 80) -> RenderableType:
    """The world with its optimal actions, a legend, and how the plan was found."""
    arrows = None if task.layout is None else action_arrows(task.mdp)
    if arrows is None:
        picture = _table(task, plan, width)
    else:
        picture = Group(*draw_grid(task, plan.optimal, arrows, width))
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


def draw_grid(task: Task, taken: Any, arrows: Sequence[str], width: int) -> list[Text]:
    """The grid line by line, with an arrow for each action taken (S, A)."""
    assert task.layout is not None
    rows, columns = task.layout["rows"], task.layout["columns"]
    state_at = states_by_cell(task)
    cell_width = 3 + max(2, int(taken[~idle_states(task.mdp)].sum(axis=1).max()))
    shown_rows = min(rows, MOST_ROWS)
    shown_columns = min(columns, max(1, (width - INDENT) // cell_width))
    letters, starts = feature_letters(task.mdp), marked_starts(task.mdp)
    lines = []
    for row in range(shown_rows):
        line = Text(" " * INDENT, no_wrap=True, overflow="crop")
        for column in range(shown_columns):
            state = int(state_at[row, column])
            if state < 0:
                line.append("█" * cell_width, style="grey23")
                continue
            drawn = "".join(arrows[action] for action in np.flatnonzero(taken[state]).tolist())
            inside = "◎" if task.mdp.terminal[state] else drawn
            mark = "•" if starts[state] else " "
            line.append_text(_cell(task.mdp, state, letters, f"{mark}{inside}", cell_width))
        lines.append(line)
    if (shown_rows, shown_columns) != (rows, columns):
        cut = f"the first {shown_rows} of {rows} rows, {shown_columns} of {columns} columns"
        lines.append(Text(f"{' ' * INDENT}({cut})"))
    return lines


def _cell(mdp: MDP, state: int, letters: Sequence[str], inside: str, width: int) -> Text:
    feature = active_feature(mdp, state)
    letter = " " if feature is None else letters[feature]
    style = "default" if feature is None else f"black on {COLOURS[feature % len(COLOURS)]}"
    return Text(f"{letter}{inside}".ljust(width), style=style)


def _table(task: Task, plan: Plan, width: int) -> RenderableType:
    mdp = task.mdp
    starts = marked_starts(mdp)
    used = np.flatnonzero(~idle_states(mdp)).tolist()
    listed = used[:MOST_STATES]
    form = _value_form(plan.values[listed])
    rows = [
        (
            f"{'•' if starts[state] else ' '} {shown_name(mdp.state_name(state))}",
            f"{plan.values[state]:{form}}",
            "◎" if mdp.terminal[state] else _listed_actions(mdp, plan, state),
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
    return Group(drawn, indented(f"  ({rest})"))


def _listed_actions(mdp: MDP, plan: Plan, state: int) -> str:
    return ", ".join(shown_name(mdp.action_name(a)) for a in plan.optimal_actions(state))


def _column_widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Widths that fit: values whole, actions at least a third of the rest, then the states."""
    states, values, actions = (max(map(cell_len, column)) for column in zip(*rows, strict=True))
    rest = width - values - 2 * GAP
    actions = min(actions, max(rest - states, rest // 3, 8))
    return [min(states, max(rest - actions, 8)), values, actions]


def _value_form(values: Any) -> str:
    largest = float(np.abs(values).max())
    return ".3f" if largest == 0 or 0.1 <= largest < 1e6 else ".4g"


def _rewards(task: Task, *, is_grid: bool, width: int) -> list[Text]:
    """The weights by feature, with the letter and the colour where cells carry them."""
    mdp, letters = task.mdp, feature_letters(task.mdp)
    lettered = is_grid and not mdp.has_action_features
    entries = [Text("reward by feature:")]
    for i, weight in enumerate(task.weights[:MOST_FEATURES]):
        named = f"{shown_name(mdp.feature_name(i))}: {weight:.4g}"
        letter = (f" {letters[i]} ", f"black on {COLOURS[i % len(COLOURS)]}")
        told = f"{weight:.4g}" if letters[i] == mdp.feature_name(i) else named
        entries.append(Text.assemble(letter, f" {told}") if lettered else Text(named))
    if mdp.n_features > MOST_FEATURES:
        entries.append(Text(f"({counted(mdp.n_features - MOST_FEATURES, 'more feature')})"))
    return _flowing(entries, width)


def letter_legend(task: Task, width: int) -> list[RenderableType]:
    """What the letters of a drawn grid mean, with their weights; nothing where there are none."""
    if task.layout is None or action_arrows(task.mdp) is None or task.mdp.has_action_features:
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
    if is_grid and task.layout is not None and (states_by_cell(task) < 0).any():
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


MOST_DRAWN, MAX_STEPS, MOST_WORDS = 6, 30, 40


def draw_lesson(
    task: Task, lesson: Lesson, verified: str | None, *, width: int = 80
) -> RenderableType:
    """Verdict, demonstrations, what each shows, bounds, and what stays open.

    The verdict is one line, however long: print it without cropping, a terminal wraps it itself.
    """
    line = lesson_line(task, lesson, verified)
    sections: list[list[RenderableType]] = [
        [Text(line, style="bold", no_wrap=True, overflow="ignore")],
        *_demonstrations(task, lesson, width),
        letter_legend(task, width) if lesson.demonstrations else [],
        [indented(line) for line in _size(lesson, verified)],
        _words(lesson) if lesson.within is None else [],
        _open(task, lesson) if lesson.within is None else [],
    ]
    parts = [part for section in sections if section for part in (*section, "")]
    return Group(*parts[:-1])


def _demonstrations(task: Task, lesson: Lesson, width: int) -> Iterator[list[RenderableType]]:
    shown = lesson.demonstrations
    if not shown:
        return
    if all(len(d) == 1 for d in shown):
        yield _picture(task, shown, width)
        return
    for number, demonstration in enumerate(shown[:MOST_DRAWN]):
        title = f"demonstration {number + 1}, {counted(len(demonstration), 'step')}"
        yield [indented(title), *_picture(task, [demonstration], width)]
    if len(shown) > MOST_DRAWN:
        yield [indented(f"(and {len(shown) - MOST_DRAWN} more)")]


def _picture(task: Task, shown: Sequence[Demonstration], width: int) -> list[RenderableType]:
    arrows = None if task.layout is None else action_arrows(task.mdp)
    if arrows is None:
        return _steps(task, shown)
    return list(draw_grid(task, demonstrated_pairs(task.mdp, shown), arrows, width))


def _steps(task: Task, shown: Sequence[Demonstration]) -> list[RenderableType]:
    pairs = [pair for demonstration in shown for pair in demonstration]
    lines: list[RenderableType] = [
        indented(f"{i + 1:3}. {pair_words(task, s, a)}")
        for i, (s, a) in enumerate(pairs[:MAX_STEPS])
    ]
    if len(pairs) > MAX_STEPS:
        lines.append(indented(f"     (and {len(pairs) - MAX_STEPS} more)"))
    return lines


def frames(task: Task, demonstration: Demonstration, width: int) -> Iterator[RenderableType]:
    """A demonstration step by step, for an animation."""
    for step in range(1, len(demonstration) + 1):
        yield Group(*_picture(task, [Demonstration(demonstration.pairs[:step])], width))


def _size(lesson: Lesson, verified: str | None) -> Iterator[str]:
    if lesson.within is None:
        yield from _known(lesson, verified)
    else:
        yield from within_lines(lesson, lesson.within)
    likely = probability_words(lesson)
    if likely is not None:
        yield likely
    if lesson.hardest is not None:
        yield hardest_words(lesson.hardest)


def _known(lesson: Lesson, verified: str | None) -> Iterator[str]:
    if lesson.is_complete and lesson.demonstrations:
        fewest = lesson.is_fewest if verified is None else FEWEST in verified
        yield cost_words(lesson, fewest=fewest)
    if lesson.n_close_calls:
        yield "exact arithmetic decides what floats cannot: arithmetic='exact'"
    if lesson.is_complete:
        yield closed_words(lesson.closed)
    if lesson.volumes is not None:
        yield "volume left by step: " + " ".join(f"{volume:.2g}" for volume in lesson.volumes)


def _words(lesson: Lesson) -> list[RenderableType]:
    facets = lesson.facets
    if not facets:
        return []
    parts: list[RenderableType] = [indented("what it says:")]
    for facet in facets[:MOST_WORDS]:
        covered = facet["covered_by"]
        by = "open" if covered is None else f"{covered + 1}"
        parts.append(indented(f"[{by:>4}] {facet['words']}"))
    if len(facets) > MOST_WORDS:
        parts.append(indented(f"(and {len(facets) - MOST_WORDS} more)"))
    return parts


def _open(task: Task, lesson: Lesson) -> list[RenderableType]:
    if lesson.is_complete or lesson.witness is None:
        return []
    parts: list[RenderableType] = [indented("what stays open:")]
    for missing in lesson.uncovered[:MOST_WORDS]:
        where = statement_words(task, missing.state, missing.action, missing.other)
        parts.append(indented(f"{where}: {missing.words} ({missing.reason})"))
    error = lesson.loss_error if lesson.is_loss_vague else 0.0
    parts.append(indented(witness_line(task, lesson.witness, lesson.loss, error=error)))
    return parts
