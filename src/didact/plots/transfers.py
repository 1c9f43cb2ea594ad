"""How many worlds must be shown: shares of unseen worlds over numbers of members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from didact.errors import InvalidParameter
from didact.plots.curves import draw_line
from didact.plots.drawing import axes_of, without_box
from didact.teaching import Transfer

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def transfer(found: Transfer, ax: Axes | None = None, **style: Any) -> Axes:
    """The share of unseen worlds that are determined, over the number of members taught.

    found: of `didact.transfer`, with a curve.
    ax: Matplotlib axes, new ones by default; they are returned. Several curves can share them.
    style: of the line, as Matplotlib's plot takes it.
    """
    if not found.curve:
        raise InvalidParameter(
            "this transfer has no curve; give of=, the family that the lesson was made for"
        )
    drawn = axes_of(ax, 4.5, 3.0)
    sizes = [point.n_members for point in found.curve]
    shares = np.array([point.share for point in found.curve])
    lows, highs = ([getattr(point, end) for point in found.curve] for end in ("low", "high"))
    band = (None, None) if None in lows else (np.array(lows), np.array(highs))
    draw_line(drawn, len(drawn.get_lines()), sizes, shares, band, **style)
    drawn.set_xscale("log")
    drawn.set_xticks(sizes, [str(size) for size in sizes], minor=False)
    drawn.minorticks_off()
    drawn.set_ylim(0.0, 1.02)
    drawn.set_xlabel("members taught")
    drawn.set_ylabel("share of unseen worlds determined")
    drawn.set_title(found.lesson_name)
    without_box(drawn, grid="y")
    return drawn
