"""The most that a lesson leaves to lose, by visiting every class of policies that fits it.

The cone C(D) of a lesson is cut into cells, one for each policy that some reward in it makes
optimal; inside a cell the loss is one number. Loss never rises from w to w + t w*, so the largest
is met where rays along -w* leave C(D): on its facets g with g.w* > 0. Each facet is a convex cone
of one dimension less, and the cells in it are joined through their own facets: whoever starts in
one and crosses every facet of every cell visits all of them. That is the proof; nothing is sampled.

A cell is known by its policy, in the one form that `Losses` gives. Its rows are differences of
feature counts, its facets are found as those of a class are, and each is crossed at a point that
lies strictly inside all other rows. A step across must stay inside the lesson's cone and come to a
policy that is optimal at that very point: then it is the neighbour, however thin the cell, and else
the step is made shorter.

Floats decide with room: whatever is too close to call is counted, and a walk with close calls
proves nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from didact.bec.facets import find_facets
from didact.bec.nnls import residuals_from_others
from didact.numerics.exact import Floats
from didact.teaching.loss.fan import SHOWS, VANISHES, Fan, Policy, doubtful

STEP, SHORTER, STEPS = 1e-2, 1 / 4, 16
"""How far to step across a facet, by what to shorten the step, and how often."""


class Cell(NamedTuple):
    """A class of policies on a facet: its loss, its policy, and weights (k,) strictly inside."""

    loss: float
    policy: Policy
    weights: Floats


Look = Callable[[Cell, Floats, Floats], None]


@dataclass
class Walk:
    """Cells of one facet of C(D): those visited, and those still to be expanded, worst first.

    basis: (m, k), of the facet's space. rows: (n, m), of the lesson, in it. look: is told every
    cell, its rows and its facets, in the same space. It can be stopped and taken up again.
    """

    fan: Fan
    basis: Floats
    rows: Floats
    open: list[tuple[float, int, Cell]] = field(default_factory=list)
    seen: set[bytes] = field(default_factory=set)
    n_close: int = 0
    worst: Cell | None = None
    least: Cell | None = None
    look: Look | None = None

    def begin(self, points: Floats) -> None:
        """Start at points (n, m) inside the facet; nowhere, where there are none."""
        if not len(points):
            return
        self._visit(points / np.linalg.norm(points, axis=1)[:, None])

    @property
    def is_finished(self) -> bool:
        """Whether every cell has been visited."""
        return not self.open

    def expand(self) -> None:
        """Cross every facet of the open cell that loses most."""
        _, _, cell = heapq.heappop(self.open)
        inside = cell.weights @ self.basis.T
        found = self._crossings(cell, inside)
        for _ in range(STEPS):
            if not len(found):
                return
            found = self._step(found)
        self.n_close += len(found)

    def _crossings(self, cell: Cell, inside: Floats) -> Floats:
        """For each facet of the cell that is none of the lesson a point on it and one beyond.

        Shape (n, 2, m).
        """
        whole, sizes = self.fan.rows_of(cell.policy)
        projected = whole @ self.basis.T
        own = self._unit_rows(projected, whole, sizes)
        if not len(own):
            return np.zeros((0, 2, len(inside)))
        given = len(self.rows)
        rows = np.concatenate([self.rows, own])
        if float((rows @ inside).min()) <= VANISHES:
            self.n_close += 1
            return np.zeros((0, 2, len(inside)))
        cone = find_facets(rows, inside)
        self.n_close += cone.n_unknown + int(not len(cone.facets))
        facets = rows[cone.facets]
        if self.look is not None:
            self.look(cell, projected, facets)
        if not len(facets):
            return np.zeros((0, 2, len(inside)))
        found = crossings(facets, inside)[cone.facets >= given]
        is_firm = np.isfinite(found).all(axis=(1, 2))
        self.n_close += int(np.count_nonzero(~is_firm))
        return np.asarray(found[is_firm])

    def _unit_rows(self, rows: Floats, whole: Floats, sizes: Floats) -> Floats:
        """Rows of length one; those that vanish on the facet are left out.

        whole: as they were before they were put on the facet. In a family all may vanish there.
        sizes: how long the counts are that they are differences of.
        """
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        longest = float(lengths.max(initial=1e-300))
        most = float(np.sqrt(np.einsum("ij,ij->i", whole, whole).max(initial=1e-300)))
        if longest <= SHOWS * most:
            self.n_close += doubtful(lengths, sizes, most)
            return rows[:0]
        self.n_close += doubtful(lengths, sizes, longest)
        kept = lengths > SHOWS * longest
        return np.asarray(rows[kept] / lengths[kept, None])

    def stop(self) -> None:
        """Expand no more cells; close calls among the rows of those that are open count."""
        for _, _, cell in self.open:
            whole, sizes = self.fan.rows_of(cell.policy)
            self._unit_rows(whole @ self.basis.T, whole, sizes)
        self.open.clear()

    def _step(self, crossings: Floats) -> Floats:
        """Visit the neighbours; the crossings whose step was too long, with a shorter one."""
        on, beyond = crossings[:, 0], crossings[:, 1]
        n = len(on)
        weights = np.concatenate([on, beyond]) @ self.basis
        lost = self.fan.losses.of(weights)
        states = np.flatnonzero(self.fan.states)
        fits = lost.optimal[:n][
            np.arange(n)[:, None], states[None], lost.policies[n:][:, states]
        ].all(axis=1)
        if len(self.rows):
            room = (on @ self.rows.T).min(axis=1)
            fits &= (beyond @ self.rows.T).min(axis=1) >= 0.5 * room
        for i in np.flatnonzero(fits).tolist():
            self.n_close += int(lost.close[n + i])
            self._add(float(lost.losses[n + i]), lost.policies[n + i], weights[n + i])
        left = crossings[~fits]
        left[:, 1] = left[:, 0] + SHORTER * (left[:, 1] - left[:, 0])
        return left

    def _visit(self, points: Floats) -> None:
        weights = points @ self.basis
        lost = self.fan.losses.of(weights)
        for i in range(len(points)):
            self.n_close += int(lost.close[i])
            self._add(float(lost.losses[i]), lost.policies[i], weights[i])

    def _add(self, loss: float, policy: Policy, weights: Floats) -> None:
        key = policy[self.fan.states].tobytes()
        if key in self.seen:
            return
        self.seen.add(key)
        cell = Cell(loss, policy, weights / np.linalg.norm(weights))
        heapq.heappush(self.open, (-loss, len(self.seen), cell))
        if self.worst is None or loss > self.worst.loss:
            self.worst = cell
        if self.least is None or loss < self.least.loss:
            self.least = cell


def crossings(facets: Floats, inside: Floats) -> Floats:
    """For each facet a point on it strictly inside all others, and one just beyond; (n, 2, m).

    The residual of a facet from the cone of the others is a direction that leaves through it alone.
    NaN where it vanishes in floats.
    """
    if len(facets) == 1:
        aside = np.roll(np.eye(1, len(inside), int(np.argmax(np.abs(facets[0]))))[0], 1)
        inside, away = inside + aside, facets
    else:
        away = residuals_from_others(facets)
    lengths = np.sqrt(np.einsum("ij,ij->i", away, away))[:, None]
    away = away / np.where(lengths > 0.0, lengths, np.nan)
    slack = facets @ inside
    shares = slack / (slack + np.einsum("ij,ij->i", facets, away))
    on = inside - shares[:, None] * (inside + away)
    on -= np.einsum("ij,ij->i", facets, on)[:, None] * facets
    on /= np.sqrt(np.einsum("ij,ij->i", on, on))[:, None]
    return np.stack([on, on - STEP * away], axis=1)
