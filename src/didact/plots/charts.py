"""Charts on paper: lines with bands, bars with bounds, weights with intervals.

Lines: losses after each answer of a run, costs over losses, determined worlds over members.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from didact.active.run import Run
from didact.errors import InvalidParameter
from didact.inputs import shown, shown_name
from didact.learners.belief import Belief
from didact.learners.chains.informativeness import Informativeness
from didact.mdp.model import as_weights
from didact.plots.drawing import (
    FAINT,
    INK,
    SMALL,
    axes_of,
    colour,
    count_axis,
    legend_below,
    sign,
    without_box,
)
from didact.teaching import Attack, Difficulty, Frontier, Identification, Transfer

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
    drawn.set(xlabel="queries answered", ylabel=MEASURES[measure], title=run.task_name)
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
        drawn = [np.asarray(line.get_ydata(), dtype=float) for line in ax.get_lines()]
        is_negative = any((values < 0).any() for values in drawn)
        ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]) if is_negative else 0.0)
    if all(float(x).is_integer() for line in ax.get_lines() for x in np.asarray(line.get_xdata())):
        count_axis(ax.xaxis)
    ax.legend(fontsize=SMALL, edgecolor="none", framealpha=0.85)
    without_box(ax, grid="y")


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
    drawn.set(
        xlabel="loss that is left at most", ylabel="cost of the lesson", title=found.task_name
    )
    without_box(drawn, grid="y")
    return drawn


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
    drawn.set(
        xlabel="members taught", ylabel="share of unseen worlds determined", title=found.lesson_name
    )
    without_box(drawn, grid="y")
    return drawn


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


LONGEST_LABEL = 48
"""Signs of a constraint beside its bar."""
QUANTILES = (0.025, 0.25, 0.75, 0.975)
"""The ends of the thin line (95% of the draws) and of the thick one (the middle half)."""


def posterior(belief: Belief, ax: Axes | None = None, *, truth: Any = None, **style: Any) -> Axes:
    """Each weight's draws: 95% thin, the middle half thick, mean and most likely value.

    A point learner has a point for each weight.

    belief: of `didact.learn`.
    ax: Matplotlib axes, new ones by default; they are returned.
    truth: weights to mark, scaled to the length of the most likely ones, since a reward is known
        only up to a factor.
    style: of the lines, as Matplotlib's hlines takes it.
    """
    k = belief.mdp.n_features
    places = np.arange(k)
    drawn = axes_of(ax, 4.5, 1.2 + 0.32 * k)
    tint = style.pop("color", colour(0))
    drawn.axvline(0, color=FAINT, linewidth=0.8, zorder=0)
    if not belief.is_point:
        low, first, third, high = np.quantile(belief.samples_flat, QUANTILES, axis=0)
        drawn.hlines(places, low, high, **{"color": tint, "linewidth": 1.2, **style})
        drawn.hlines(places, first, third, **{"color": tint, **style, "linewidth": 4.5})
        drawn.plot(
            belief.mean_weights,
            places,
            "o",
            color="white",
            markeredgecolor=tint,
            markersize=5,
            label="mean",
        )
    drawn.plot(belief.map_weights, places, "D", color=colour(1), markersize=4, label="most likely")
    if truth is not None:
        weights = as_weights(truth, k).floats
        length = float(np.linalg.norm(weights)) or 1.0
        weights = weights * (float(np.linalg.norm(belief.map_weights)) / length)
        drawn.plot(weights, places, "x", color=INK, markersize=6, label="truth")
    drawn.set_yticks(places, [belief.mdp.feature_name(i) for i in range(k)])
    drawn.set_ylim(k - 0.5, -0.5)
    drawn.set(xlabel="weight", title=f"{belief.learner}{'' if belief.is_mixed else ' (not mixed)'}")
    drawn.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=SMALL)
    without_box(drawn, grid="x")
    return drawn


def trust(found: Informativeness, ax: Axes | None = None, **style: Any) -> Axes:
    """The posterior density of the trust of a teacher, over log lambda; its interval shaded.

    found: of `didact.informativeness`.
    ax: Matplotlib axes, new ones by default; they are returned.
    style: of the line, as Matplotlib's plot takes it.
    """
    axes = axes_of(ax)
    edges = np.sqrt(found.trusts[1:] * found.trusts[:-1])
    shares = found.density[1:-1] / np.diff(np.log(edges))
    middle = found.trusts[1:-1]
    axes.plot(middle, shares, **{"color": INK, **style})
    inside = (middle >= found.trust.low) & (middle <= found.trust.high)
    axes.fill_between(middle[inside], shares[inside], color=FAINT)
    axes.set_xscale("log")
    axes.set(
        xlabel="trust (lambda), if teaching",
        ylabel="posterior density of log trust",
        title=f"probability of teaching {found.probability:.2g}: {found.verdict}",
    )
    axes.set_ylim(bottom=0)
    without_box(axes)
    return axes


def bounds(found: Identification, ax: Axes | None = None, **style: Any) -> Axes:
    """What each weight can be within the BEC; a line that leaves the picture has no end.

    found: of `didact.identify`.
    ax: Matplotlib axes, new ones by default; they are returned.
    style: of the lines, as Matplotlib's hlines takes it.
    """
    ends = [[None if e.value is None else float(e.value) for e in pair] for pair in found.bounds]
    known = [0.0, *(end for pair in ends for end in pair if end is not None)]
    room = 0.1 * ((max(known) - min(known)) or 1.0)
    low, high = min(known) - room, max(known) + room
    drawn = axes_of(ax, 4.5, 1.2 + 0.32 * len(ends))
    drawn.axvline(0, color=FAINT, linewidth=0.8, zorder=0)
    lows = [low if pair[0] is None else pair[0] for pair in ends]
    highs = [high if pair[1] is None else pair[1] for pair in ends]
    style = {"color": colour(0), "linewidth": 4.5, **style}
    drawn.hlines(range(len(ends)), lows, highs, **style)
    fixed = [i for i, (a, b) in enumerate(zip(lows, highs, strict=True)) if a == b]
    drawn.plot([lows[i] for i in fixed], fixed, "D", color=colour(1), markersize=4)
    drawn.set_yticks(range(len(ends)), [found.mdp.feature_name(i) for i in range(len(ends))])
    drawn.set_ylim(len(ends) - 0.5, -0.5)
    drawn.set_xlim(low, high)
    told = f"{len(found.invisible)} invisible of {found.mdp.n_features} directions"
    if found.angles is not None and found.angles[0] is not None:
        told = f"rewards within the BEC: up to {found.angles[0]:.3g} degrees from the weights"
    drawn.set(xlabel=f"weight, in units of {found.mdp.feature_name(found.unit)}", title=told)
    without_box(drawn, grid="x")
    return drawn


def stated(found: Attack, ax: Axes | None = None, **style: Any) -> Axes:
    """How many demonstrations state each constraint, with a line at the fewest an attack needs.

    found: of `didact.attack`.
    ax: Matplotlib axes, new ones by default; they are returned.
    style: of the bars, as Matplotlib's barh takes it.
    """
    counts = [n for _, n in found.stated]
    drawn = axes_of(ax, 5.5, 1.0 + 0.3 * len(counts))
    drawn.barh(range(len(counts)), counts, **{"color": colour(0), "height": SHARE, **style})
    drawn.axvline(len(found.demonstrations), color=INK, linewidth=1.0)
    name_groups(drawn, [shown_name(words, LONGEST_LABEL) for words, _ in found.stated])
    drawn.set_xlabel("demonstrations that state it; line: those that the attack needs")
    count_axis(drawn.xaxis)
    drawn.set_title(found.task_name)
    return drawn
