"""Worlds on paper: cells by feature, arrows for a policy, demonstrations in heavy arrows.

Every cell carries its feature's letter as well as its colour. A world that is no grid is a table of
states and actions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from didact.mdp import Task
from didact.mdp.layout import (
    action_directions,
    active_feature,
    feature_letters,
    marked_starts,
    states_by_cell,
)
from didact.planning import Plan
from didact.plots.drawing import FAINT, INK, SMALL, SOFT, axes_of, colour, legend_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMED = {
    "white": "#ffffff", "grey": "#b5b5b5", "gray": "#b5b5b5", "black": "#8c8c8c", "red": "#e8837a",
    "orange": "#f3b562", "table": "#f4ead8",
}  # fmt: skip
PALE = (
    "#f2f2f2", "#c6dbef", "#fdd0a2", "#c7e9c0", "#dadaeb", "#fbc9d4", "#e6d8b5", "#cfe8e6",
    "#ffffff", "#d0d0d0", "#f7e6a1", "#bcd0c7",
)  # fmt: skip
WALL, PLAIN = "#3b3b3b", "#ffffff"
LETTERS_UP_TO = 30
"""No letters in the cells of pictures that are wider than this."""
MOST_CELLS = 2_500
"""More cells are drawn as an image, also in a vector file."""
MOST_NAMES = 24
"""No legend of more features than this."""
REACH, ASIDE = 0.40, 0.09
"""How far an arrow goes from the middle of its cell, and how far apart two on one way lie."""

Pair = tuple[int, int]


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
    cells = states_by_cell(task)
    n_rows, n_columns = cells.shape
    drawn = axes_of(ax, *_size_of(n_rows, n_columns))
    _draw_cells(drawn, task, cells)
    _draw_signs(drawn, task, cells, marks or {})
    if policy is not None:
        plain = {"color": SOFT, "width": 0.035, **style}
        _draw_arrows(drawn, task, cells, _pairs_of(policy), 0.0, plain)
    for number, demonstration in enumerate(shown):
        _draw_demonstration(drawn, task, cells, list(demonstration), number, len(shown))
    _leave_only_cells(drawn, n_rows, n_columns)
    drawn.set_title(task.name)
    if legend:
        _draw_legend(drawn, task)
    return drawn


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


def _draw_cells(ax: Axes, task: Task, cells: NDArray[np.int64]) -> None:
    """Every cell in the colour of its feature, with its letter."""
    from matplotlib.colors import to_rgb

    n_rows, n_columns = cells.shape
    letters = feature_letters(task.mdp)
    fill = np.empty((n_rows, n_columns, 3))
    for (row, column), state in np.ndenumerate(cells):
        feature = None if state < 0 else active_feature(task.mdp, int(state))
        name = WALL if state < 0 else PLAIN if feature is None else _colour_of(task, feature)
        fill[row, column] = to_rgb(name)
        if feature is not None and max(cells.shape) <= LETTERS_UP_TO:
            ax.text(
                column - 0.44, row - 0.44, letters[feature],
                fontsize=min(SMALL - 2, 100 / n_columns), color=SOFT, ha="left", va="top",
                parse_math=False,
            )  # fmt: skip
    edges = np.arange(n_columns + 1) - 0.5, np.arange(n_rows + 1) - 0.5
    is_large = cells.size > MOST_CELLS
    ax.pcolormesh(
        *edges, fill,
        edgecolors="none" if is_large else FAINT, linewidth=0.5, rasterized=is_large, zorder=0,
    )  # fmt: skip


def _colour_of(task: Task, feature: int) -> str:
    """The colour that a feature is named after, else one by its number."""
    return NAMED.get(task.mdp.feature_name(feature), PALE[feature % len(PALE)])


def _draw_signs(ax: Axes, task: Task, cells: NDArray[np.int64], marks: Mapping[int, str]) -> None:
    """A star where episodes end, a dotted ring where they start, texts where asked."""
    mdp = task.mdp
    ends, starts = (_places(cells, np.flatnonzero(found).tolist()) for found in (
        mdp.terminal, marked_starts(mdp) & ~mdp.terminal,
    ))  # fmt: skip
    side = 60.0 / max(cells.shape)
    if ends.size:
        ax.plot(*ends.T, "*", color=INK, markersize=min(9.0, side), zorder=3)
    if starts.size:
        ax.plot(
            *starts.T, "o", markersize=min(14.0, 1.4 * side), zorder=3, markerfacecolor="none",
            markeredgecolor=INK, markeredgewidth=0.8, linestyle="none",
        )  # fmt: skip
    for (x, y), text in zip(_places(cells, list(marks)), marks.values(), strict=True):
        ax.text(
            x + 0.44, y - 0.44, text, fontsize=SMALL - 1.5, color="#a33b00", weight="bold",
            ha="right", va="top", parse_math=False, zorder=6,
        )  # fmt: skip


def _places(cells: NDArray[np.int64], states: Sequence[int]) -> NDArray[np.float64]:
    """The middle of each state's cell as x and y, shape (n, 2)."""
    where = {int(state): place for place, state in np.ndenumerate(cells) if state >= 0}
    return np.array([where[state][::-1] for state in states], dtype=float).reshape(-1, 2)


def _pairs_of(policy: Any) -> list[Pair]:
    """The (state, action) pairs of a plan, of actions taken (S, A), or as given."""
    taken = policy.optimal if isinstance(policy, Plan) else policy
    if isinstance(taken, np.ndarray) and taken.ndim == 2 and taken.dtype == np.bool_:
        return [(int(s), int(a)) for s, a in np.argwhere(taken)]
    return [(int(state), int(action)) for state, action in taken]


def _draw_arrows(
    ax: Axes,
    task: Task,
    cells: NDArray[np.int64],
    pairs: Sequence[Pair],
    aside: float,
    style: Mapping[str, Any],
) -> None:
    """An arrow for each action that is a move, `aside` of the middle; a dot for any other."""
    directions = action_directions(task.mdp)
    points = _places(cells, [state for state, _ in pairs])
    ways = [directions[action] for _, action in pairs]
    moves = [i for i, way in enumerate(ways) if way is not None]
    others = [i for i, way in enumerate(ways) if way is None]
    if moves:
        along = np.array([ways[i] for i in moves], dtype=float)
        tails = points[moves] + aside * along[:, ::-1]
        ax.quiver(
            *tails.T, *(REACH * along).T,
            **{
                "angles": "xy", "scale_units": "xy", "scale": 1.0, "units": "xy", "zorder": 4,
                "headwidth": 4.5, "headlength": 4.5, "headaxislength": 4.0, **style,
            },
        )  # fmt: skip
    if others:
        ax.plot(*points[others].T, ".", color=style["color"], zorder=4)


def _draw_demonstration(
    ax: Axes,
    task: Task,
    cells: NDArray[np.int64],
    pairs: Sequence[Pair],
    number: int,
    total: int,
) -> None:
    """Heavy arrows in the colour of a demonstration, its number where it starts."""
    if not pairs:
        return
    aside = 0.0 if total == 1 else ASIDE * (number % 3 - 1)
    heavy = {"width": 0.085, "headwidth": 2.8, "headlength": 2.4, "headaxislength": 2.3}
    _draw_arrows(ax, task, cells, pairs, aside, {"color": colour(number), **heavy})
    if total > 1:
        ((x, y),) = _places(cells, [pairs[0][0]])
        ax.text(
            x + 0.43, y + 0.43, str(number + 1), fontsize=SMALL - 1.5, color=colour(number),
            weight="bold", ha="right", va="bottom", zorder=6,
        )  # fmt: skip


def _leave_only_cells(ax: Axes, n_rows: int, n_columns: int) -> None:
    ax.set_aspect("equal", anchor="NW")
    ax.set_xlim(-0.52, n_columns - 0.48)
    ax.set_ylim(n_rows - 0.48, -0.52)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)


def _draw_legend(ax: Axes, task: Task) -> None:
    """The features that cells show, as swatches with their names, and letters that are others."""
    from matplotlib.patches import Patch

    mdp = task.mdp
    if mdp.n_features > MOST_NAMES or mdp.has_action_features:
        return
    letters = feature_letters(mdp)
    names = [mdp.feature_name(i) for i in range(mdp.n_features)]
    if letters != [name[:1].lower() for name in names]:
        names = [f"{letter}: {name}" for letter, name in zip(letters, names, strict=True)]
    swatches = [
        Patch(facecolor=_colour_of(task, i), edgecolor=FAINT, label=name)
        for i, name in enumerate(names)
    ]
    legend_below(ax, swatches, drop=3)


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
