"""Tables with bars in a terminal: the weights of a belief, a run, the difficulty of tasks.

The bars of a table share one scale, so that its rows can be compared by eye. What a person is asked
is drawn on the world.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from didact.active import Run, Situation, Step, StrategyComparison
from didact.active.run import ENDINGS
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
from didact.report.words.beliefs import LONGEST_FEATURE, Scale, describe_belief, weight_cells
from didact.report.words.tasks import between
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
        parts.append(indented(Text(_bars_key(belief), style="dim")))
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


def _bars_key(belief: Belief) -> str:
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


SURE = 0.95
"""A state is known when so many of the draws agree with what the learned policy does there."""

BAR, NARROW = "█", 72


def run_line(run: Run) -> str:
    """The result in one line."""
    first, last = run.steps[0], run.steps[-1]
    asked = f"{shown_name(run.task_name)}: {counted(run.n_queries, 'question')} by {run.strategy}"
    end = f"{ENDINGS[run.ended][0].upper()}{ENDINGS[run.ended][1:]}."
    if last.policy_loss is None or first.policy_loss is None:
        return f"{asked}: {risk_words(last)}. {end}"
    loss = f"policy loss {first.policy_loss:.3g} -> {last.policy_loss:.3g}"
    wrong = f"wrong actions {first.wrong_actions:.0%} -> {last.wrong_actions:.0%}"
    return f"{asked}: {loss}, {wrong}. {end}"


def risk_words(step: Step) -> str:
    """What the learned policy may lose, as far as the belief tells."""
    if step.is_point:
        return "the learner gives one reward and does not say how sure it is"
    if step.value_at_risk == 0.0 and step.bound in (0.0, None):
        return "as far as it knows, the learned policy loses nothing"
    told = "" if step.bound is None else f" (at most {step.bound:.3g} at 95% confidence)"
    return f"in 95 of 100 cases the learned policy loses at most {step.value_at_risk:.3g}{told}"


def draw_run(task: Task, run: Run, *, width: int = 80, details: bool = False) -> RenderableType:
    """The result, then one row for each answer; of many answers the first and the last."""
    shown = list(run.steps)
    if len(shown) > FIRST + LAST and not details:
        shown = [*shown[:FIRST], *shown[-LAST:]]
    lines = []
    if len(shown) < len(run.steps):
        lines.append(f"  ({len(run.steps) - len(shown)} more rows after {FIRST - 1}; --details)")
    n_wrong = sum(not step.mixed for step in run.steps)
    if n_wrong:
        of = f"{n_wrong} of {counted(len(run.steps), 'step')} (!)"
        lines.append(f"  the chains had not mixed in {of}: run more steps")
    return Group(
        *(Text(line, style="bold") for line in wrapped_lines([run_line(run)], width)),
        "",
        _run_table(task, run, shown, width, details=details),
        *(Text(line) for line in wrapped_lines(lines, width)),
    )


FIRST, LAST = 4, 12
"""Rows of a long run that are shown, from its beginning and its end."""


def _run_table(
    task: Task, run: Run, shown: Sequence[Step], width: int, *, details: bool
) -> RenderableType:
    """Columns: answer, state asked, loss, wrong actions, risk, known states, facets.

    details: the 95% bound on the risk too, where there is room.
    """
    true = run.steps[0].policy_loss is not None
    wide = width >= NARROW
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    names = ["", "asked", *(["loss", "wrong"] if true else [])]
    risky = not true or width >= 50
    names += ["VaR 95%"] if risky else []
    names += ["bound"] if wide and details else []
    names += ["agreed"] if wide else []
    names += ["facets"] if true else []
    for name in names:
        table.add_column(name, justify="left" if name == "asked" else "right", no_wrap=True)
    for step in shown:
        cells = [
            f"{step.number}{' ' if step.mixed else '!'}",
            _asked(task, step, width - OTHERS if wide else 8),
        ]
        if true:
            cells += [_figure(step.policy_loss), f"{step.wrong_actions:.0%}"]
        cells += [_figure(step.value_at_risk)] if risky else []
        cells += [_figure(step.bound)] if wide and details else []
        cells += [f"{step.agreed:.0%}"] if wide else []
        cells += [f"{step.covered}/{step.n_elements}"] if true else []
        table.add_row(*map(Text, cells))
    return indented_table(table)


def indented_table(table: Table) -> RenderableType:
    """A table set in from the left."""
    from rich.padding import Padding

    return Padding(table, (0, 0, 0, INDENT), expand=False)


OTHERS = 50
"""What the other columns of a run take."""


def _asked(task: Task, step: Step, longest: int) -> str:
    """Where was asked; the state's number where its name is too long."""
    if step.state is None:
        return "-"
    words = state_words(task, step.state)
    return words if cell_len(words) <= longest else f"state {step.state}"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if abs(value) < 1e4 else f"{value:.2e}"


def bar(value: float | None, scale: float, room: int) -> str:
    """A bar of at most `room` signs; a small dot for what is above 0 and too short for one."""
    if value is None or value <= 0.0 or scale <= 0.0 or not room:
        return ""
    return BAR * round(room * value / scale) or "·"


# Comparisons


def draw_comparison(found: StrategyComparison, *, width: int = 80) -> RenderableType:
    """One row for each strategy: area under the loss curve and the difference to the baseline."""
    rows = found.table()
    scale = max(row["area"] for row in rows)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("strategy", "area", "difference (95%)", "last", ""):
        left = name in ("strategy", "")
        table.add_column(name, justify="left" if left else "right", no_wrap=True)
    for row in rows:
        interval = f"{row['difference']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]"
        is_baseline = row["difference"] == row["low"] == row["high"] == 0.0
        cells = [row["strategy"], f"{row['area']:.3f}", "-" if is_baseline else interval]
        drawn = bar(row["area"], scale, max(width // 5, 6))
        table.add_row(*cells, f"{row['last']:.3f}", Text(drawn, style="cyan"))
    title = f"{counted(len(found.tasks), 'world')}, {counted(found.n_queries, 'question')} each"
    return Group(Text(title, style="bold"), "", indented_table(table))


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


def belief_line(step: Step, situation: Situation) -> str:
    """What is believed after an answer, in one line."""
    states = np.flatnonzero(~situation.mdp.terminal)
    n_known = int((situation.agreement[states] >= SURE).sum())
    known = f"sure of {n_known} of {counted(len(states), 'state')}"
    n_answers = len(situation.demonstrations) + len(situation.belief.feedback)
    after = f"after {counted(n_answers, 'answer')}"
    if step.is_point:
        return f"{after}: {risk_words(step)}"
    end = "" if step.mixed else "; the chains have not mixed, so take it with care"
    return f"{after}: {known}; {risk_words(step)}{end}"


COLUMNS = ("states", "k", "facets", "equal", "demos", "pairs", "shows", "time")
LONGEST_NAME = 26
MAX_RANKED, MAX_FAILED = 15, 2
"""Tasks that are listed, and those that could not be ranked, unless all are asked for."""


def draw_rank(
    rows: Sequence[Difficulty], *, width: int = 80, details: bool = False
) -> RenderableType:
    """A line for each task that was ranked, and why others were not."""
    ranked = [row for row in rows if row.error is None]
    shown = ranked if details else ranked[:MAX_RANKED]
    parts: list[RenderableType] = []
    if shown:
        parts.append(Padding(_table(shown), (0, 0, 0, INDENT), expand=False))
    lines = []
    if len(shown) < len(ranked):
        lines.append(f"  ({counted(len(ranked) - len(shown), 'more task')}; --details)")
    lines += [f"  {line}" for line in _legend(shown)] if shown else []
    failed = [row for row in rows if row.error is not None]
    told = failed if details else failed[:MAX_FAILED]
    lines += [f"  not ranked: {shown_name(row.name)}: {row.error}" for row in told]
    if len(told) < len(failed):
        lines.append(f"  ({counted(len(failed) - len(told), 'more')}; --details)")
    return Group(*parts, *(Text(line) for line in wrapped_lines(lines, width)))


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
