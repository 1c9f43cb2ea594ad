"""Lines over numbers, with bands for their intervals: losses after each answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from didact.active.run import Run
from didact.errors import InvalidParameter
from didact.inputs import shown
from didact.plots.drawing import SMALL, axes_of, colour, count_axis, sign, without_box

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEASURES = {
    "policy_loss": "policy loss",
    "wrong_actions": "share of wrong actions",
    "value_at_risk": "value at risk",
    "covered": "constraints covered",
}


def curve(run: Run, ax: Axes | None = None, *, measure: str | None = None, **style: Any) -> Axes:
    """A measure before the first question and after each answer; runs can share axes.

    run: of `didact.ask`.
    ax: Matplotlib axes, new ones by default; they are returned.
    measure: 'policy_loss' (the default where the truth is known), 'wrong_actions', 'covered', or
        'value_at_risk' (else the default; a band reaches to its bound).
    style: of the line, as Matplotlib's plot takes it.
    """
    if measure is None:
        known = run.steps[0].policy_loss is not None
        measure = "policy_loss" if known else "value_at_risk"
    if measure not in MEASURES:
        raise InvalidParameter(f"measure must be {', '.join(MEASURES)}; it is {shown(measure)}")
    values = [getattr(step, measure) for step in run.steps]
    if all(value is None for value in values):
        raise InvalidParameter(
            f"{measure} is not known: nobody gave the true weights; take 'value_at_risk'"
        )
    ys = np.array([np.nan if value is None else value for value in values], dtype=float)
    bounds = [step.bound for step in run.steps] if measure == "value_at_risk" else []
    highs = None if None in bounds or not bounds else np.array(bounds, dtype=float)
    drawn = axes_of(ax, 4.5, 3.0)
    number = len(drawn.get_lines())
    style = {"label": run.strategy, **style}
    draw_line(drawn, number, range(len(ys)), ys, (ys, highs), **style)
    drawn.set_xlabel("queries answered")
    drawn.set_ylabel(MEASURES[measure])
    drawn.set_title(run.task_name)
    finish(drawn)
    return drawn


def draw_line(
    ax: Axes,
    number: int,
    xs: Sequence[float],
    ys: Any,
    band: tuple[Any, Any] = (None, None),
    **style: Any,
) -> None:
    """The line of a series by its number: a colour, a marker, and a band where it has one."""
    style = {"color": colour(number), "marker": sign(number), "markersize": 4, **style}
    ax.plot(xs, ys, **{"linewidth": 1.5, **style})
    lows, highs = band
    if lows is not None and highs is not None:
        ax.fill_between(xs, lows, highs, color=style["color"], alpha=0.15, linewidth=0)


def whole_decades(ax: Axes) -> None:
    """A logarithmic axis from one power of ten to another, in plain numbers."""
    drawn = [np.asarray(line.get_ydata(), dtype=float) for line in ax.get_lines()]
    positive = np.concatenate([values[values > 0] for values in drawn])
    ax.set_yscale("log")
    if positive.size:
        low, high = np.floor(np.log10(positive.min())), np.ceil(np.log10(positive.max()))
        ax.set_ylim(10.0**low, 10.0 ** max(high, low + 1))
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")


def finish(ax: Axes) -> None:
    """Zero at the bottom of a linear axis, whole numbers below, a legend inside."""
    if ax.get_yscale() == "linear":
        ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]) if _is_negative(ax) else 0.0)
    if all(float(x).is_integer() for line in ax.get_lines() for x in np.asarray(line.get_xdata())):
        count_axis(ax.xaxis)
    ax.legend(fontsize=SMALL, edgecolor="none", framealpha=0.85)
    without_box(ax, grid="y")


def _is_negative(ax: Axes) -> bool:
    lines = [np.asarray(line.get_ydata(), dtype=float) for line in ax.get_lines()]
    return any((line < 0).any() for line in lines)
