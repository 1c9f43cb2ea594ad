"""How much showing more is worth: demonstrations over the loss that they leave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from didact.plots.curves import draw_line
from didact.plots.drawing import axes_of, without_box
from didact.teaching import Frontier

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def frontier(found: Frontier, ax: Axes | None = None, **style: Any) -> Axes:
    """The fewest demonstrations over the bound on the loss; lower bounds as the edge of a band.

    found: of `didact.frontier`.
    ax: Matplotlib axes, new ones by default; they are returned. Several curves can share them.
    style: of the line, as Matplotlib's plot takes it.
    """
    drawn = axes_of(ax, 4.5, 3.0)
    places = list(range(len(found.points)))
    sizes = np.array([float(point.lesson.cost) for point in found.points])
    lows = np.array([float(point.lesson.lower_bound or 0.0) for point in found.points])
    draw_line(drawn, len(drawn.get_lines()), places, sizes, (lows, sizes), **style)
    drawn.set_xticks(places, [str(point.loss or "exact") for point in found.points])
    drawn.set_ylim(bottom=0.0)
    drawn.set_xlabel("loss that is left at most")
    drawn.set_ylabel("cost of the lesson")
    drawn.set_title(found.task_name)
    without_box(drawn, grid="y")
    return drawn
