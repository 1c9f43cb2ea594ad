"""Beliefs on paper: what is known of each weight, as intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from didact.learners.belief import Belief
from didact.mdp.model import as_weights
from didact.plots.drawing import FAINT, INK, SMALL, axes_of, colour, without_box

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
        drawn.plot(_scaled(belief, truth), places, "x", color=INK, markersize=6, label="truth")
    drawn.set_yticks(places, [belief.mdp.feature_name(i) for i in range(k)])
    drawn.set_ylim(k - 0.5, -0.5)
    drawn.set_xlabel("weight")
    drawn.set_title(f"{belief.learner}{'' if belief.is_mixed else ' (not mixed)'}")
    drawn.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=SMALL)
    without_box(drawn, grid="x")
    return drawn


def _scaled(belief: Belief, truth: Any) -> Any:
    """The true weights at the length of the most likely ones."""
    weights = as_weights(truth, belief.mdp.n_features).floats
    length = float(np.linalg.norm(weights)) or 1.0
    return weights * (float(np.linalg.norm(belief.map_weights)) / length)
