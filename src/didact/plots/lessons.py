"""Lessons on paper: demonstrations on their worlds, and how much of the class they cover."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from didact.errors import InvalidParameter
from didact.inputs import counted, shown_name
from didact.mdp import MDP, Demonstration, Family, Task, as_family
from didact.mdp.naming import action_words
from didact.mdp.task import cell_of, is_grid
from didact.plots.drawing import SMALL, SOFT, axes_of, colour, count_axis, without_box
from didact.plots.worlds import world
from didact.teaching import Lesson, Selection

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_NAMED = 8
"""Actions beyond so many are not named below a picture of steps."""


def lesson(
    found: Lesson, ax: Axes | None = None, *, task: Task | None = None, **style: Any
) -> Axes:
    """A lesson's demonstrations, numbered in their order, on the world of its task.

    Where states share cells, as those of Taxi do, the way over the map; where the
    world is no grid at all, a row of steps for each demonstration, coloured by action.

    found: of `didact.teach`, or from a file.
    ax: Matplotlib axes, new ones by default; they are returned.
    task: needed only for a lesson from a file.
    style: options of `world`, such as a policy.
    """
    if task is None:
        if found.bec is None:
            raise InvalidParameter("a lesson from a file does not hold its task; give its task")
        task = found.bec.task
    shown = found.demonstrations
    if task.layout is None:
        drawn = steps(task.mdp, shown, ax, **style)
    elif not is_grid(task):
        drawn = _walks(task, shown, ax)
    else:
        drawn = world(task, ax, shown=[list(demonstration) for demonstration in shown], **style)
    drawn.set_title(f"{task.name}\n{len(shown)} shown, {found.status}")
    return drawn


def _walks(task: Task, shown: tuple[Demonstration, ...], ax: Axes | None) -> Axes:
    """The ways of demonstrations over a map; other actions than moves are named."""
    cells = [cell_of(task, state) for state in range(task.mdp.n_states)]
    rows, columns = (1 + max(cell[axis] for cell in cells) for axis in (0, 1))
    drawn = axes_of(ax, max(3.2, 0.6 * columns), max(2.0, 0.6 * rows) + 0.6)
    drawn.set_aspect("equal")
    drawn.set_xlim(-0.5, columns - 0.5)
    drawn.set_ylim(rows - 0.5, -0.5)
    drawn.set_xticks(range(columns), [str(n) for n in range(1, columns + 1)])
    drawn.set_yticks(range(rows), [str(n) for n in range(1, rows + 1)])
    drawn.set(xlabel="column", ylabel="row")
    for side in range(1, max(rows, columns)):
        drawn.axhline(side - 0.5, color=SOFT, linewidth=0.5)
        drawn.axvline(side - 0.5, color=SOFT, linewidth=0.5)
    for number, demonstration in enumerate(shown):
        aside = 0.12 * (number % 3 - 1) if len(shown) > 1 else 0.0
        at = [cells[state][::-1] for state, _ in demonstration.pairs]
        places = np.asarray(at, dtype=float) + aside
        drawn.plot(*places.T, "-", color=colour(number), linewidth=2, label=f"{number + 1}")
        drawn.plot(*places[0], "o", color=colour(number), markersize=7)
        for (_, action), (x, y), after in zip(
            demonstration.pairs, places, [*places[1:], None], strict=True
        ):
            if after is not None and tuple(after) != (x, y):
                middle = ((x + after[0]) / 2, (y + after[1]) / 2)
                arrow = {"arrowstyle": "->", "color": colour(number), "linewidth": 1.5}
                drawn.annotate("", middle, (x, y), arrowprops=arrow)
            else:
                words = action_words(task, action)
                drawn.annotate(words, (x, y), (x, y + 0.32), ha="center", fontsize=SMALL)
    return drawn


def steps(mdp: MDP, shown: tuple[Demonstration, ...], ax: Axes | None, **style: Any) -> Axes:
    """A row of squares for each demonstration, one for each step, coloured by action."""
    from matplotlib.lines import Line2D

    drawn = axes_of(ax, 6.0, 1.2 + 0.25 * len(shown))
    pairs = [
        (step + 1, number + 1, action)
        for number, demonstration in enumerate(shown)
        for step, (_, action) in enumerate(demonstration)
    ]
    style = {"marker": "s", "s": 40, **style}
    handles = []
    for action in sorted({action for *_, action in pairs}):
        places = np.array([(x, y) for x, y, a in pairs if a == action], dtype=float)
        drawn.scatter(*places.T, color=colour(action), **style)
        name = mdp.action_names[action] if mdp.action_names else f"action {action}"
        handles.append(Line2D([], [], marker="s", ls="none", color=colour(action), label=name))
    drawn.set_ylim(len(shown) + 0.6, 0.4)
    drawn.set_yticks(range(1, len(shown) + 1))
    count_axis(drawn.xaxis)
    drawn.set_xlim(0.4, max((x for x, *_ in pairs), default=1) + 0.6)
    drawn.set(xlabel="step", ylabel="demonstration")
    without_box(drawn)
    if handles and len(handles) <= MAX_NAMED:
        drawn.legend(
            handles=handles,
            fontsize=SMALL,
            frameon=False,
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
        )
    return drawn


def coverage(found: Lesson | Selection, ax: Axes | None = None, **style: Any) -> Axes:
    """How many facets and equalities are covered after each demonstration, of how many.

    found: a lesson, or episodes selected from a recording.
    ax: Matplotlib axes, new ones by default; they are returned.
    style: of the line, as Matplotlib's step takes it.
    """
    if isinstance(found, Lesson):
        total = found.n_facets + found.n_equalities
        what = "items shown" if found.is_mixed else "demonstrations shown"
    else:
        total, what = found.n_elements, "items shown" if found.is_mixed else "episodes shown"
    covered = np.concatenate(([0], np.cumsum(found.gains, dtype=np.int64)))
    drawn = axes_of(ax, 4.0, 3.0)
    drawn.axhline(total, color=SOFT, linewidth=1.0, linestyle=(0, (4, 3)))
    drawn.annotate(
        f"all {total}", (0, total), (0, 2), textcoords="offset points", fontsize=SMALL, color=SOFT
    )
    style = {"where": "post", "color": colour(0), "marker": "o", "markersize": 4, **style}
    drawn.step(range(len(covered)), covered, **style)
    drawn.set_ylim(0, 1.12 * max(total, 1))
    count_axis(drawn.xaxis)
    count_axis(drawn.yaxis)
    without_box(drawn, grid="y")
    drawn.set(xlabel=what, ylabel="constraints covered", title=found.task_name)
    return drawn


MAX_MEMBERS = 36
INCHES, GAP = 2.2, 0.06


def family(
    found: Lesson, ax: Axes | None = None, *, task: Family | None = None, **style: Any
) -> Axes:
    """The members that a family's lesson shows, side by side, each with its demonstrations.

    found: of `didact.teach` with a family, or from a file.
    ax: Matplotlib axes, new ones by default; they are returned, and hold axes for each member.
    task: the family, needed only for a lesson from a file.
    style: options of `world`, such as a policy.
    """
    if task is None and found.bec is None:
        raise InvalidParameter("a lesson from a file does not hold its family; give it as task=")
    members = found.bec.family if task is None else as_family(task, "task")
    used = sorted({d.member or 0 for d in found.demonstrations})[:MAX_MEMBERS]
    columns = max(1, math.ceil(math.sqrt(len(used))))
    rows = max(1, math.ceil(len(used) / columns))
    drawn = axes_of(ax, INCHES * columns, INCHES * rows + 0.5)
    drawn.set_axis_off()
    for place, member in enumerate(used):
        row, column = divmod(place, columns)
        share = ((1 - GAP) / columns, (1 - 2 * GAP) / rows)
        corner = (column / columns, 1 - (row + 1) / rows)
        inset = drawn.inset_axes((*corner, *share))
        own = [d for d in found.demonstrations if d.member == member]
        if not is_grid(members[member]):
            steps(members[member].mdp, tuple(own), inset, **style)
        else:
            world(members[member], inset, shown=[list(d) for d in own], **style)
        key = inset.get_legend()
        if key is not None and place < len(used) - 1:
            key.remove()  # one is enough: all members have the same features
        inset.set_title(shown_name(members.names[member], 30), fontsize=SMALL)
    n_used = len({d.member for d in found.demonstrations})
    shown = f"{counted(len(found.demonstrations), 'demonstration')}, {found.status}"
    drawn.set_title(f"{members.name}\n{n_used} of {len(members)} worlds shown: {shown}")
    return drawn
