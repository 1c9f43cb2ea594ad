"""Bars on paper: groups of them with intervals, and how hard tasks are to teach."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from didact.plots.drawing import INK, axes_of, colour, count_axis, legend_below, without_box
from didact.teaching import Difficulty

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHARE = 0.8
"""Of the room of a group, so much is bars."""


def difficulty(
    rows: Difficulty | Iterable[Difficulty], ax: Axes | None = None, **style: Any
) -> Axes:
    """How hard tasks are to teach: pairs and demonstrations, with a line at the proved bound.

    rows: of `didact.rank`, drawn from the top; a task that could not be taught has no bars.
    ax: Matplotlib axes, new ones by default; they are returned.
    style: of the bars, as Matplotlib's barh takes it.
    """
    listed = [rows] if isinstance(rows, Difficulty) else list(rows)
    drawn = axes_of(ax, 5.5, 1.0 + 0.42 * len(listed))
    pairs = [(row.n_pairs, row.fewest_pairs) for row in listed]
    whole = [(row.n_demonstrations, row.fewest_demonstrations) for row in listed]
    handles: list[Any] = []
    for number, (name, found) in enumerate((("pairs", pairs), ("demonstrations", whole))):
        places = bar_places(range(len(listed)), number, 2)
        given = {"height": SHARE / 2, "color": colour(number), "label": name, **style}
        handles.append(drawn.barh(places, [float(size or 0) for size, _ in found], **given))
        bounds = [np.nan if bound is None else bound for _, bound in found]
        lines = drawn.plot(bounds, places, "|", color=INK, markersize=12, label="none has fewer")
    name_groups(drawn, [row.name for row in listed])
    drawn.set_xlabel("the smallest lesson found")
    count_axis(drawn.xaxis)
    legend_below(drawn, [*handles, *lines], drop=32, across=0.5)
    return drawn


def bar_places(groups: Sequence[float], number: int, n_series: int) -> Any:
    """Where the bars of series `number` stand in their groups."""
    width = SHARE / n_series
    return np.asarray(groups, dtype=float) + (number - (n_series - 1) / 2) * width


def draw_bars(
    ax: Axes,
    places: Any,
    lengths: Sequence[float],
    interval: tuple[Sequence[float] | None, Sequence[float] | None] = (None, None),
    **style: Any,
) -> None:
    """Bars to the right, with a line for the interval of each that has one."""
    ax.barh(places, lengths, **style)
    lows, highs = interval
    if lows is not None and highs is not None:
        known = np.isfinite(highs)
        left = np.maximum(0.0, np.asarray(lows, dtype=float)[known])
        ax.hlines(
            np.asarray(places)[known],
            left,
            np.asarray(highs, dtype=float)[known],
            color=INK,
            linewidth=1.0,
        )


def name_groups(ax: Axes, names: Sequence[str]) -> None:
    """The groups' names down the left side, the first at the top; lengths from zero."""
    ax.set_yticks(range(len(names)), list(names))
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlim(left=0.0)
    ax.tick_params(axis="y", length=0)
    without_box(ax, grid="x")
