"""Worlds and plans on paper: a grid of cells with arrows, or a table of states and actions.

The middle of the cell in row r and column c is at x = c, y = r, and y grows downwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from didact.mdp import Task
from didact.mdp.task import (
    action_directions,
    active_feature,
    feature_letters,
    is_grid,
    marked_starts,
    states_by_cell,
)
from didact.planning import Plan
from didact.planning.paths import END, GOAL, WORSE, kinds_of_ends
from didact.plots.drawing import FAINT, INK, SMALL, axes_of, colour, legend_below

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
WALL, PLAIN, WRONG = "#3b3b3b", "#ffffff", "#a33b00"
LETTERS_UP_TO = 30
"""No letters in the cells of pictures that are wider than this."""
MAX_CELLS = 2_500
"""More cells are drawn as an image, also in a vector file."""
MAX_NAMES = 24
"""No legend of more features than this."""
REACH, ASIDE, CORNER = 0.40, 0.09, 0.44
"""From the middle of a cell: how far arrows go, how far aside others lie, where texts stand."""
ARROW = {
    "angles": "xy",
    "scale_units": "xy",
    "scale": 1.0,
    "units": "xy",
    "zorder": 4,
    "headwidth": 4.5,
    "headlength": 4.5,
    "headaxislength": 4.0,
}
HEAVY = {"width": 0.085, "headwidth": 2.8, "headlength": 2.4, "headaxislength": 2.3}

SIGNS = {
    GOAL: "a goal",
    WORSE: "an end that pays less",
    END: "the episode ends",
    "start": "start",
}
"""What the legend calls signs."""

Pair = tuple[int, int]


@dataclass(frozen=True)
class Grid:
    """A grid world on axes."""

    ax: Axes
    task: Task

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """The state in each cell (rows, columns), -1 where there is none."""
        return states_by_cell(self.task)

    @cached_property
    def places(self) -> dict[int, tuple[float, float]]:
        """The middle of each state's cell, as x and y."""
        found = np.ndenumerate(self.cells)
        return {int(s): (float(column), float(row)) for (row, column), s in found if s >= 0}

    def points(self, states: Sequence[int]) -> NDArray[np.float64]:
        """The middles of some states' cells, shape (n, 2)."""
        return np.array([self.places[state] for state in states], dtype=float).reshape(-1, 2)

    def draw_cells(self) -> None:
        """Every cell in the colour of its feature, with its letter."""
        from matplotlib.colors import to_rgb

        letters = feature_letters(self.task.mdp)
        fill = np.empty((*self.cells.shape, 3))
        for (row, column), state in np.ndenumerate(self.cells):
            feature = None if state < 0 else active_feature(self.task.mdp, int(state))
            plain = WALL if state < 0 else PLAIN
            fill[row, column] = to_rgb(plain if feature is None else self.colour_of(feature))
            if feature is not None and max(self.cells.shape) <= LETTERS_UP_TO:
                self._write(column - CORNER, row - CORNER, letters[feature], INK, ha="left")
        n_rows, n_columns = self.cells.shape
        is_large = self.cells.size > MAX_CELLS
        self.ax.pcolormesh(
            np.arange(n_columns + 1) - 0.5,
            np.arange(n_rows + 1) - 0.5,
            fill,
            edgecolors="none" if is_large else FAINT,
            linewidth=0.5,
            rasterized=is_large,
            zorder=0,
        )

    def colour_of(self, feature: int) -> str:
        """The colour that a feature is named after, else one by its number."""
        return NAMED.get(self.task.mdp.feature_name(feature), PALE[feature % len(PALE)])

    def draw_signs(self) -> None:
        """A star where episodes end, a cross at ends that pay less, a ring where they start.

        Starts have no ring where episodes may start anywhere.
        """
        for kind, states in self.signs.items():
            points = self.points(states)
            self.ax.plot(*points.T, **self._style_of(kind))

    @cached_property
    def signs(self) -> dict[str, list[int]]:
        """The states that have a sign, by its kind: one of the ends' kinds, or 'start'."""
        mdp, found = self.task.mdp, dict[str, list[int]]()
        for end, kind in kinds_of_ends(self.task).items():
            if end in self.places:
                found.setdefault(kind, []).append(end)
        starts = np.flatnonzero(marked_starts(mdp) & ~mdp.terminal).tolist()
        return {**found, **({"start": starts} if starts else {})}

    def _style_of(self, kind: str) -> dict[str, Any]:
        """How Matplotlib draws a sign."""
        side = 60.0 / max(self.cells.shape)
        given = {"linestyle": "none", "zorder": 3, "label": SIGNS[kind]}
        if kind == "start":
            ring = {"marker": "o", "fillstyle": "none", "markersize": min(14.0, 1.4 * side)}
            return {**given, **ring, "color": INK}
        if kind == WORSE:
            return {**given, "marker": "X", "color": WRONG, "markersize": min(8.0, side)}
        return {**given, "marker": "*", "color": INK, "markersize": min(9.0, side)}

    def draw_marks(self, marks: Mapping[int, str]) -> None:
        """A short text in the corner of some states' cells."""
        for (x, y), text in zip(self.points(list(marks)), marks.values(), strict=True):
            self._write(x + CORNER, y - CORNER, text, WRONG, weight="bold")

    def _write(self, x: float, y: float, text: str, tint: str, **style: Any) -> None:
        """A text in the upper right corner of its place, unless the style says otherwise."""
        size = min(SMALL - 1.5, 100 / self.cells.shape[1])
        given = {"fontsize": size, "color": tint, "ha": "right", "va": "top", **style}
        self.ax.text(x, y, text, parse_math=False, zorder=6, **given)

    def draw_arrows(self, pairs: Sequence[Pair], aside: float, style: Mapping[str, Any]) -> None:
        """An arrow for each action that is a move, `aside` of the middle; a dot for any other."""
        directions = action_directions(self.task.mdp)
        points = self.points([state for state, _ in pairs])
        ways = [directions[action] for _, action in pairs]
        moves = [i for i, way in enumerate(ways) if way is not None]
        others = [i for i, way in enumerate(ways) if way is None]
        if moves:
            along = np.array([ways[i] for i in moves], dtype=float)
            tails = points[moves] + aside * along[:, ::-1]
            self.ax.quiver(*tails.T, *(REACH * along).T, **{**ARROW, **style})
        if others:
            self.ax.plot(*points[others].T, ".", color=style["color"], zorder=4)

    def draw_demonstration(self, pairs: Sequence[Pair], number: int, total: int) -> None:
        """Heavy arrows in the colour of a demonstration; of several, its number at the start."""
        if not pairs:
            return
        aside = 0.0 if total == 1 else ASIDE * (number % 3 - 1)
        self.draw_arrows(pairs, aside, {"color": colour(number), **HEAVY})
        if total > 1:
            x, y = self.places[pairs[0][0]]
            style = {"weight": "bold", "va": "bottom"}
            self._write(x + CORNER, y + CORNER, str(number + 1), colour(number), **style)

    def draw_legend(self) -> None:
        """The features that cells show, with their letters if others, and the signs."""
        from matplotlib.lines import Line2D

        size = {"markersize": 6.0}
        signs = [Line2D([], [], **{**self._style_of(kind), **size}) for kind in self.signs]
        handles = [*self._swatches(), *signs]
        if handles:
            legend_below(self.ax, handles, drop=3)

    def _swatches(self) -> list[Any]:
        """The colours of the features that cells show, with names; none where cells show none."""
        from matplotlib.patches import Patch

        mdp = self.task.mdp
        if mdp.n_features > MAX_NAMES or mdp.has_action_features:
            return []
        letters = feature_letters(mdp)
        names = [mdp.feature_name(i) for i in range(mdp.n_features)]
        if letters != [name[:1].lower() for name in names]:
            names = [f"{letter}: {name}" for letter, name in zip(letters, names, strict=True)]
        return [
            Patch(facecolor=self.colour_of(i), edgecolor=FAINT, label=name)
            for i, name in enumerate(names)
        ]

    def leave_only_cells(self) -> None:
        """No axes, and cells that are squares."""
        n_rows, n_columns = self.cells.shape
        self.ax.set_aspect("equal", anchor="NW")
        self.ax.set_xlim(-0.52, n_columns - 0.48)
        self.ax.set_ylim(n_rows - 0.48, -0.52)
        self.ax.set_xticks([])
        self.ax.set_yticks([])
        self.ax.spines[:].set_visible(False)


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
    if not is_grid(task):
        return _rewards(task, ax, **style)
    assert task.layout is not None
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
    if task is not None and is_grid(task):
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
    drawn.set(xlabel="action", ylabel="state")
    drawn.get_figure().colorbar(picture, ax=drawn, label=what)  # type: ignore[union-attr]
    return drawn
