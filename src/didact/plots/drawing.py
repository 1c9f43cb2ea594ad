"""What every picture shares: Matplotlib when it is needed, colours, signs, and small print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from didact.files.extras import require_package

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, SOFT, FAINT = "#222222", "#555555", "#b8b8b8"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555")
"""Seven that people with any colour vision tell apart (Okabe and Ito), without yellow."""
SIGNS = ("s", "^", "D", "v", "o", "*")
"""Markers, a different one for each of six lines in turn: colour alone tells nothing."""
SMALL = 8.0
"""Points: the size of what is written inside a picture."""
LINE = 48
"""So many letters of that size stand side by side on half a page."""


def axes_of(ax: Axes | None, width: float = 5.0, height: float = 3.5) -> Axes:
    """The axes given, or new ones of so many inches; without Matplotlib, what to install."""
    pyplot: Any = require_package("matplotlib.pyplot", "plots", "pictures")
    if ax is not None:
        return ax
    found: Axes = pyplot.subplots(figsize=(width, height), layout="constrained")[1]
    return found


def colour(number: int) -> str:
    """The colour of a line, a bar or a demonstration by its number."""
    return COLOURS[number % len(COLOURS)]


def sign(number: int) -> str:
    """The marker of a line by its number."""
    return SIGNS[number % len(SIGNS)]


def without_box(ax: Axes, *, grid: str | None = None) -> None:
    """Leave only the left and lower edge; grid: 'x' or 'y', faint lines behind everything."""
    ax.spines[["top", "right"]].set_visible(False)
    if grid is not None:
        ax.grid(axis="x" if grid == "x" else "y", color=FAINT, linewidth=0.5)
        ax.set_axisbelow(True)


def count_axis(axis: Any) -> None:
    """Ticks at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))


def legend_below(ax: Axes, handles: Sequence[Any], *, drop: float, across: float = 0.0) -> None:
    """A legend under the axes, `drop` points below them, in as many columns as fit their width.

    across: 0 for the left edge, 0.5 for the middle.
    """
    from matplotlib.transforms import ScaledTranslation

    sheet = ax.get_figure()
    assert sheet is not None
    longest = max(len(str(handle.get_label())) for handle in handles)
    lower = ScaledTranslation(0.0, -drop / 72, sheet.dpi_scale_trans)
    ax.legend(
        handles=list(handles),
        loc="upper left" if across == 0 else "upper center",
        bbox_to_anchor=(across, 0.0),
        bbox_transform=ax.transAxes + lower,
        ncols=max(1, min(len(handles), LINE // (longest + 5))),
        frameon=False,
        fontsize=SMALL,
        handlelength=1.4,
        columnspacing=1.2,
        borderaxespad=0.0,
        borderpad=0.2,
    )
