"""What demonstrations may still cost, and an order in which every prefix loses little.

The remaining loss is that of the worst reward that fits, for each kind of learner.

The order: from the whole lesson, the demonstration is put last without which the rest loses least,
then the same with the rest. Going forward would be blind: the first few demonstrations lose nearly
everything whichever they are, and only together they begin to count. What a set of demonstrations
loses is the largest loss of the rewards drawn so far that fit it. They are drawn on the boundary of
its cone, when it is about to be chosen: rewards that fit a set fit every part of it, so the draws
are shared. The order is a good one by a search, no claim is made.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.bec.classes import EquivalenceClass, shown_pairs
from didact.mdp import Demonstration
from didact.numerics.exact import Floats
from didact.random import stream
from didact.teaching.lesson import ENUMERATED, TESTED
from didact.teaching.loss.cells import affordable_cells
from didact.teaching.loss.fan import Fan, fan_of
from didact.teaching.loss.region import region_of, worst_cell
from didact.teaching.loss.search import boundary_rounds, largest, planner_rounds

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
    known: EquivalenceClass,
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
    chart = affordable_cells(fan)
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


EXCLUDED = -1e-9
"""Unit weights whose product with a unit row is below it do not fit the row."""
KEPT = 60
"""So many of the worst rewards of each round of a search are kept."""
ALIKE = 1e-9
"""Losses that differ by a smaller share of the spread are alike: the later one goes last."""


@dataclass
class _Pool:
    """Rewards drawn so far: their losses (n,), and which demonstrations exclude them (n, m)."""

    fan: Fan
    rows: Sequence[Floats]
    rng: np.random.Generator
    losses: Floats = field(default_factory=lambda: np.zeros(0))
    excluded: NDArray[np.bool_] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.bool_))
    searched: set[frozenset[int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.excluded = np.zeros((0, len(self.rows)), dtype=np.bool_)

    def largest(self, chosen: Sequence[int]) -> float:
        """The largest loss of a reward that fits the chosen demonstrations."""
        fits = ~self.excluded[:, list(chosen)].any(axis=1)
        return float(self.losses[fits].max(initial=0.0))

    def search(self, chosen: Sequence[int]) -> bool:
        """Draw rewards that fit the chosen demonstrations; whether that was not done before."""
        if frozenset(chosen) in self.searched:
            return False
        self.searched.add(frozenset(chosen))
        region = region_of(self.fan, np.concatenate([self.rows[number] for number in chosen]))
        for weights, lost in boundary_rounds(region, self.rng):
            worst = np.argsort(-lost.losses)[:KEPT]
            self._add(weights[worst], lost.losses[worst])
        return True

    def _add(self, weights: Floats, losses: Floats) -> None:
        weights = weights / np.linalg.norm(weights, axis=1)[:, None]
        outside = [(weights @ rows.T < EXCLUDED).any(axis=1) for rows in self.rows]
        self.excluded = np.concatenate([self.excluded, np.column_stack(outside)])
        self.losses = np.concatenate([self.losses, losses])


def order_by_loss(
    known: EquivalenceClass, demonstrations: Sequence[Demonstration], rng: np.random.Generator
) -> tuple[int, ...]:
    """The numbers of the demonstrations in an order whose prefixes lose little."""
    fan = fan_of(known)
    rows = [
        known.rows.normals[known.rows.stated_by(shown_pairs(known.parts, [shown]))]
        for shown in demonstrations
    ]
    pool, left, last = _Pool(fan, rows, rng), list(range(len(demonstrations))), []
    while len(left) > 1:
        chosen = _least_missed(pool, left)
        last.append(chosen)
        left.remove(chosen)
    return (*left, *reversed(last))


def _least_missed(pool: _Pool, left: Sequence[int]) -> int:
    """The one without which the others lose least, after a search that finds nothing worse."""
    while True:
        without = {number: [n for n in left if n != number] for number in left}
        losses = {number: pool.largest(rest) for number, rest in without.items()}
        enough = min(losses.values()) + ALIKE * pool.fan.spread
        chosen = max(number for number, loss in losses.items() if loss <= enough)
        if not pool.search(without[chosen]):
            return chosen
