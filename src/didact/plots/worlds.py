"""Worlds and plans on paper: a grid of cells with arrows, or a table of states and actions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from didact.mdp import Task
from didact.planning import Plan
from didact.plots.drawing import INK, axes_of
from didact.plots.grids import Grid, Pair

if TYPE_CHECKING:
    from matplotlib.axes import Axes

THIN = {"color": INK, "width": 0.035}


def world(
    task: Task,
    ax: Axes | None = None,
    *,
    policy: Any = None,
    shown: Sequence[Iterable[Pair]] = (),
    marks: Mapping[int, str] | None = None,
    legend: bool = True,
    **style: Any,
) -> Axes:
    """The world of a task: cells by feature; a world that is no grid as its rewards.

    task: whose world it is.
    ax: Matplotlib axes, new ones by default; they are returned.
    policy: a plan, actions taken (S, A), or (state, action) pairs, drawn as thin arrows.
    shown: demonstrations, drawn as heavy arrows in numbered colours.
    marks: a short text for each of some states.
    legend: whether the features are named below.
    style: of the policy's arrows, as Matplotlib's quiver takes it.
    """
    if task.layout is None:
        return _rewards(task, ax, **style)
    n_rows, n_columns = int(task.layout["rows"]), int(task.layout["columns"])
    grid = Grid(axes_of(ax, *_size_of(n_rows, n_columns)), task)
    grid.draw_cells()
    grid.draw_signs()
    grid.draw_marks(marks or {})
    if policy is not None:
        drawn = [pair for pair in _pairs_of(policy) if pair[0] in grid.places]
        grid.draw_arrows(drawn, 0.0, {**THIN, **style})
    for number, demonstration in enumerate(shown):
        grid.draw_demonstration(list(demonstration), number, len(shown))
    grid.leave_only_cells()
    grid.ax.set_title(task.name)
    if legend:
        grid.draw_legend()
    return grid.ax


def plan(found: Plan, ax: Axes | None = None, *, task: Task | None = None, **style: Any) -> Axes:
    """A plan: arrows on the task's world, or without a task its values by state and action.

    found: of `didact.solve`.
    ax: Matplotlib axes, new ones by default; they are returned.
    task: whose plan it is.
    style: of the arrows, or of the image of values.
    """
    if task is not None and task.layout is not None:
        return world(task, ax, policy=found, **style)
    drawn = _table(found.action_values, ax, "value", **style)
    states, actions = found.optimal.nonzero()
    drawn.plot(actions, states, ".", color=INK, markersize=3)
    drawn.set_title("values; dots are optimal")
    return drawn


def _size_of(n_rows: int, n_columns: int) -> tuple[float, float]:
    """Inches for a grid: cells of a third of an inch while that fits a page."""
    cell = min(0.45, 6.0 / max(n_rows, n_columns))
    return max(3.2, n_columns * cell), max(1.0, n_rows * cell) + 0.8


def _pairs_of(policy: Any) -> list[Pair]:
    """The (state, action) pairs of a plan, of actions taken (S, A), or as given."""
    taken = policy.optimal if isinstance(policy, Plan) else policy
    if isinstance(taken, np.ndarray) and taken.ndim == 2 and taken.dtype == np.bool_:
        return [(int(s), int(a)) for s, a in np.argwhere(taken)]
    return [(int(state), int(action)) for state, action in taken]


def _rewards(task: Task, ax: Axes | None, **style: Any) -> Axes:
    """The rewards of a task without a grid, by state and action."""
    rewards = np.asarray(task.mdp.features.floats @ task.weights)
    if rewards.ndim == 1:
        rewards = rewards[:, None]
    drawn = _table(rewards, ax, "reward", **style)
    if rewards.shape[1] == 1:
        drawn.set_xticks([])
        drawn.set_xlabel("")
    drawn.set_title(task.name)
    return drawn


def _table(values: NDArray[Any], ax: Axes | None, what: str, **style: Any) -> Axes:
    """Numbers by state and action, as an image with its scale."""
    drawn = axes_of(ax, 3.5, 4.0)
    picture = drawn.imshow(
        values, **{"aspect": "auto", "interpolation": "nearest", "cmap": "cividis", **style}
    )
    drawn.set_xlabel("action")
    drawn.set_ylabel("state")
    drawn.get_figure().colorbar(picture, ax=drawn, label=what)  # type: ignore[union-attr]
    return drawn
