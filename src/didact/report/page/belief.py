"""A belief as a piece of a page: a table of weights with drawn intervals, and what it means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from didact.inputs import counted
from didact.learners import Belief
from didact.learners.files import size_in_words
from didact.mdp import MDP, Task
from didact.planning import Evaluation
from didact.report.beliefs import Scale, told_lines, unsure_states, weight_cells
from didact.report.page.templates import render

MARGIN, LENGTH = 4, 192


@dataclass(frozen=True)
class Interval:
    """Places along a small picture: zero, the most likely weight, 90% of the draws if there are."""

    words: str
    zero: float
    best: float
    ends: tuple[float, float] | None


def belief_in_notebook(belief: Belief) -> str:
    """The table of a belief, places named by its task where that is known."""
    return _fragment(size_in_words(belief), belief, None, belief.where)


def belief_fragment(task: Task, belief: Belief, evaluation: Evaluation | None = None) -> str:
    """HTML that stands alone in any page: a table with drawn intervals, and words."""
    return _fragment(f"{task.name}: {size_in_words(belief)}", belief, evaluation, task)


def _fragment(title: str, belief: Belief, evaluation: Evaluation | None, where: MDP | Task) -> str:
    rows = belief.summary()
    unsure, n_agreed = unsure_states(belief, where)
    task = where if isinstance(where, Task) else None
    scale = Scale.of(rows)
    return render(
        "belief.html.jinja",
        title=title,
        heads=[*weight_cells(belief, rows[0]), "90% interval"],
        rows=[(weight_cells(belief, row).values(), _interval(scale, row)) for row in rows],
        unsure=unsure,
        agreed=f"In {counted(n_agreed, 'state')} the draws agree on what to do.",
        lines=[*told_lines(belief, evaluation, task), *(f"Warning: {w}" for w in belief.warnings)],
    )


def _interval(scale: Scale, row: dict[str, Any]) -> Interval:
    zero, best, low, high = (
        MARGIN + scale.place(value, LENGTH) for value in (0.0, row["map"], row["5%"], row["95%"])
    )
    words = f"most likely {row['map']:.3g}"
    if np.isnan(low):
        return Interval(words, zero, best, None)
    words += f", 90% from {row['5%']:.3g} to {row['95%']:.3g}"
    return Interval(words, zero, best, (low, high))
