"""What demonstrations may still cost: the worst reward that fits them, for each kind of learner."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from didact.bec.classes import Known, shown_pairs
from didact.mdp import Demonstration
from didact.numerics.exact import Floats
from didact.random import stream
from didact.teaching.loss.chart import chart_in_sight
from didact.teaching.loss.fan import Fan, fan_of
from didact.teaching.loss.region import region_of, worst_cell
from didact.teaching.loss.search import boundary_rounds, largest, planner_rounds
from didact.teaching.within import ENUMERATED, TESTED

TIME_LIMIT = 20.0
"""Seconds for visiting cells, where none are given."""


class Worst(NamedTuple):
    """The most that a kind of learner was found to lose, and how that is known.

    status: 'enumerated': nothing loses more; 'tested': at least so much is lost, perhaps more.
    weights: (k,), of a reward that fits and loses it; None where nothing is lost. member: of a
    family the one where it is lost; loss and share are then what is lost in the unit of its fan.
    """

    learner: str
    loss: float
    share: float
    status: str
    weights: tuple[float, ...] | None
    member: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The same for machines."""
        weights = None if self.weights is None else list(self.weights)
        found = {**self._asdict(), "weights": weights}
        if self.member is None:
            del found["member"]
        return found


def remaining_loss(
    known: Known,
    demonstrations: Sequence[Demonstration],
    *,
    fan: Fan | None = None,
    time_limit: float = TIME_LIMIT,
) -> tuple[Worst, Worst]:
    """What the demonstrations, all of them right, may still cost: half-spaces, then planners.

    In a family losses are shares of the members' own spreads, unless its fan says otherwise.
    """
    fan = fan_of(known) if fan is None else fan
    shown = shown_pairs(known.parts, demonstrations)
    region = region_of(fan, known.rows.normals[known.rows.stated_by(shown)])
    rng = stream(0, "remaining")
    cells = worst_cell(region, deadline=time.monotonic() + time_limit)
    half = largest(boundary_rounds(region, rng)) if not cells.is_proved else (0.0, None)
    if cells.worst is not None and cells.worst.loss >= half[0]:
        half = cells.worst.loss, cells.worst.weights
    chart = chart_in_sight(fan)
    is_charted = chart is not None and chart.finish(time.monotonic() + time_limit)
    plans = largest(planner_rounds(fan, shown.ravel(), rng))
    if chart is not None and is_charted:
        plans = chart.worst(shown)[:2]
    spread = fan.spread or math.inf

    def worst(learner: str, found: tuple[float, Floats | None], status: str) -> Worst:
        loss, weights = found
        if weights is None or loss <= 0.0:
            return Worst(learner, loss, loss / spread, status, None)
        lost = [member.losses.of(weights[None]).losses[0] for member in fan.members]
        member = int(np.argmax(lost)) if lost else None
        return Worst(learner, loss, loss / spread, status, tuple(weights.tolist()), member)

    return (
        worst("half-spaces", half, ENUMERATED if cells.is_proved else TESTED),
        worst("planner", plans, ENUMERATED if is_charted else TESTED),
    )
