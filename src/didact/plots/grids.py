"""The pieces of a grid world on axes: cells, signs, arrows, demonstrations and their legend.

The middle of the cell in row r and column c is at x = c, y = r, and y grows downwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    marked_starts,
    states_by_cell,
)
from didact.plots.drawing import FAINT, INK, SMALL, colour, legend_below

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
MOST_CELLS = 2_500
"""More cells are drawn as an image, also in a vector file."""
MOST_NAMES = 24
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
        is_large = self.cells.size > MOST_CELLS
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
        """A star where episodes end, a ring where they start, unless they may start anywhere."""
        mdp, side = self.task.mdp, 60.0 / max(self.cells.shape)
        ends = self.points(np.flatnonzero(mdp.terminal).tolist())
        starts = self.points(np.flatnonzero(marked_starts(mdp) & ~mdp.terminal).tolist())
        if ends.size:
            self.ax.plot(*ends.T, "*", color=INK, markersize=min(9.0, side), zorder=3)
        if starts.size:
            size = min(14.0, 1.4 * side)
            self.ax.plot(*starts.T, "o", markersize=size, fillstyle="none", color=INK, zorder=3)

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
        """The features that cells show, as swatches with their names, and letters if others."""
        from matplotlib.patches import Patch

        mdp = self.task.mdp
        if mdp.n_features > MOST_NAMES or mdp.has_action_features:
            return
        letters = feature_letters(mdp)
        names = [mdp.feature_name(i) for i in range(mdp.n_features)]
        if letters != [name[:1].lower() for name in names]:
            names = [f"{letter}: {name}" for letter, name in zip(letters, names, strict=True)]
        swatches = [
            Patch(facecolor=self.colour_of(i), edgecolor=FAINT, label=name)
            for i, name in enumerate(names)
        ]
        legend_below(self.ax, swatches, drop=3)

    def leave_only_cells(self) -> None:
        """No axes, and cells that are squares."""
        n_rows, n_columns = self.cells.shape
        self.ax.set_aspect("equal", anchor="NW")
        self.ax.set_xlim(-0.52, n_columns - 0.48)
        self.ax.set_ylim(n_rows - 0.48, -0.52)
        self.ax.set_xticks([])
        self.ax.set_yticks([])
        self.ax.spines[:].set_visible(False)
