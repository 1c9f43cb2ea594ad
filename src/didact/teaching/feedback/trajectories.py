"""Statements of a class as two trajectories that people can be shown.

Both begin in the same state, one with each action, go on with best actions, and stop where they
meet at the same time or have both ended. What they count differs by the row of the comparison, up
to the equalities, because best actions that tie differ by equalities only. With unequal lengths an
answer would also fix the zero of the reward, which says nothing of behaviour.

A comparison whose trajectories never meet, or depend on chance, cannot be shown so.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from didact.bec.families import Known
from didact.bec.parts import Part, part_with
from didact.mdp import Demonstration
from didact.planning.rationals import exact_model


class Pair(NamedTuple):
    """Two trajectories of a part, the one of the better action first, and what they differ by."""

    part: Part
    better: Demonstration
    other: Demonstration
    difference: tuple[Any, ...]


def statements_of(known: Known, rows: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """(row, state, action, other) of all who state one of the rows."""
    hit = np.flatnonzero(np.isin(known.rows.number, list(rows)))
    return [(int(known.rows.number[i]), *known.rows.statements[i].tolist()) for i in hit.tolist()]


def shortest_pair(known: Known, rows: Sequence[int]) -> Pair | None:
    """The shortest two trajectories that state one of the rows."""
    pairs = [pair_of(known, *statement) for _, *statement in statements_of(known, rows)]
    found = [pair for pair in pairs if pair is not None]
    return min(found, key=lambda pair: len(pair.better) + len(pair.other), default=None)


def pair_of(known: Known, state: int, action: int, other: int) -> Pair | None:
    """The two trajectories of a statement; None where they depend on chance or never meet."""
    part = part_with(known.parts, state)
    at_home = state - part.first
    walks = [_Walk(part, at_home, first) for first in (action, other)]
    for _ in range(part.task.mdp.n_states):
        if any(walk.is_open for walk in walks):
            return None
        if all(walk.at is None for walk in walks) or walks[0].at == walks[1].at:
            better, worse = (Demonstration(walk.pairs) for walk in walks)
            counted = zip(walks[0].counts, walks[1].counts, strict=True)
            return Pair(part, better, worse, tuple(a - b for a, b in counted))
        for walk in walks:
            walk.step()
    return None


class _Walk:
    """A trajectory from a first action on, with the first of the best actions after it."""

    def __init__(self, part: Part, state: int, action: int):
        self.part, self.model = part, exact_model(part.task.mdp)
        self.counts = [0 * x for x in self.model.payment(state, action)]
        self.pairs: list[tuple[int, int]] = []
        self.at: int | None = state
        self.is_open, self.weight = False, Fraction(1)
        self._take(state, action)

    def step(self) -> None:
        """One best action more; nothing after the end."""
        if self.at is not None:
            self._take(self.at, self.part.plan.optimal_actions(self.at)[0])

    def _take(self, state: int, action: int) -> None:
        mdp = self.part.task.mdp
        self.pairs.append((state, action))
        self._count(state, action)
        row = state * mdp.n_actions + action
        moves = mdp.transitions
        targets = moves.successors[moves.offsets[row] : moves.offsets[row + 1]].tolist()
        self.is_open = len(targets) != 1
        self.weight *= mdp.exact_discount
        self.at = targets[0]
        if mdp.terminal[targets[0]]:
            self._count(targets[0], 0)
            self.at = None

    def _count(self, state: int, action: int) -> None:
        from flint import fmpq

        weight = fmpq(self.weight.numerator, self.weight.denominator)
        paid = self.model.payment(state, action)
        self.counts = [c + weight * x for c, x in zip(self.counts, paid, strict=True)]
