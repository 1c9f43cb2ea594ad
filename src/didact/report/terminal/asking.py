"""Questions in a terminal: a run as a table with bars, a comparison, and what a person is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from didact.active import Run, Situation, Step, StrategyComparison
from didact.active.run import ENDINGS
from didact.inputs import counted, shown_name
from didact.mdp import MDP, Task
from didact.mdp.naming import state_words
from didact.mdp.task import active_feature, cell_of, feature_letters
from didact.report.terminal.worlds import (
    INDENT,
    MOST_ROWS,
    action_arrows,
    draw_grid,
    indented,
)

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


def draw_run(task: Task, run: Run, *, width: int = 80) -> RenderableType:
    """The result, then one row for each answer, with the loss as a bar."""
    parts: list[RenderableType] = [
        Text(run_line(run), style="bold", no_wrap=True, overflow="ignore"),
        "",
        _run_table(task, run, width),
    ]
    wrong = [step.number for step in run.steps if not step.mixed]
    if wrong:
        listed = ", ".join(map(str, wrong[:12])) + (", ..." if len(wrong) > 12 else "")
        parts += [indented(f"! the draws after {listed} are not the posterior: run more steps")]
    return Group(*parts)


def _run_table(task: Task, run: Run, width: int) -> RenderableType:
    """Columns: answer, state asked, loss with a bar, wrong actions, risk, known states, facets."""
    true = run.steps[0].policy_loss is not None
    wide = width >= NARROW
    losses = [step.policy_loss if true else step.value_at_risk for step in run.steps]
    scale = max((loss for loss in losses if loss is not None), default=0.0)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    names = ["", "asked", *(["loss", "wrong"] if true else [])]
    risky = not true or width >= 50
    names += ["VaR 95%"] if risky else []
    names += ["bound", "known"] if wide else []
    names += ["facets"] if true else []
    for name in names:
        table.add_column(name, justify="left" if name == "asked" else "right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for step, loss in zip(run.steps, losses, strict=True):
        cells = [
            f"{step.number}{' ' if step.mixed else '!'}",
            _asked(task, step, 18 if wide else 8),
        ]
        if true:
            cells += [_figure(step.policy_loss), f"{step.wrong_actions:.0%}"]
        cells += [_figure(step.value_at_risk)] if risky else []
        cells += [_figure(step.bound), f"{step.agreed:.0%}"] if wide else []
        cells += [f"{step.covered}/{step.n_elements}"] if true else []
        room = width // 8 if width >= 50 else 0
        table.add_row(*map(Text, cells), Text(bar(loss, scale, room), style="cyan"))
    return indented_table(table)


def indented_table(table: Table) -> RenderableType:
    """A table set in from the left."""
    from rich.padding import Padding

    return Padding(table, (0, 0, 0, INDENT), expand=False)


def _asked(task: Task, step: Step, longest: int) -> str:
    return "-" if step.state is None else state_words(task, step.state, longest)


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
    arrows = None if task.layout is None else action_arrows(task.mdp)
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
    return [*lines, indented(_legend(task.mdp)), indented(f"arrows: {meaning}")]


def known_actions(situation: Situation) -> Any:
    """What the learned policy does (S, A), only where the belief is sure of it."""
    taken = situation.belief.policy("map") > 0.0
    return taken & (situation.agreement >= SURE)[:, None]


def _mark(task: Task, lines: list[Text], state: int, wide: int) -> None:
    """Put a question mark into the cell of the state, `wide` signs wide, where it is drawn."""
    assert task.layout is not None
    row, column = cell_of(task, state)
    first = INDENT + column * wide
    if row >= min(task.layout["rows"], MOST_ROWS) or first + wide > len(lines[row].plain):
        return
    line = lines[row]
    marked = Text(f"{line.plain[first]}?".ljust(wide), style="bold reverse")
    lines[row] = Text.assemble(line[:first], marked, line[first + wide :], no_wrap=True)


def _legend(mdp: MDP) -> str:
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
