"""Any lesson in an order in which every prefix loses as little as possible.

From the whole lesson, the demonstration is put last without which the rest loses least, then the
same with the rest. Going forward would be blind: the first few demonstrations lose nearly
everything whichever they are, and only together they begin to count.

What a set of demonstrations loses is the largest loss of the rewards drawn so far that fit it. They
are drawn on the boundary of its cone, when it is about to be chosen: rewards that fit a set fit
every part of it, so the draws are shared. The order is a good one by a search, no claim is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from didact.bec.classes import Known, shown_pairs
from didact.mdp import Demonstration
from didact.numerics.exact import Floats
from didact.teaching.loss.fan import Fan, fan_of
from didact.teaching.loss.region import region_of
from didact.teaching.loss.search import boundary_rounds

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
    known: Known, demonstrations: Sequence[Demonstration], rng: np.random.Generator
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
