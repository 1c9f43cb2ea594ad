"""Every class of policies there is, and the most that learners who plan lose among them.

H(D), the rewards that make every pair shown optimal under their own values, is not convex and may
fall apart: a walk inside it need not come to all of it. But the space of all weights is connected,
so a walk over it visits every cell; in small worlds there are hundreds or thousands of them.

In the cell K of a policy pi values are linear, and a pair (s, a) is optimal at w in K exactly where
its row mu_pi(s) - mu_pi(s, a) vanishes. So K meets H(D) in a face of K, which is known by the
extreme rays of K that lie in it. All over the inside of a face the same pairs are optimal; at its
edges more are, so that the best of them lose no more. So the most that is lost in H(D) is the most
that is lost inside such faces: of the cell's policy where all of K fits, else of the best policy
that takes optimal pairs only. The chart serves every lesson of a task.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.bec.linear import null_basis, primitive, row_reduced
from didact.numerics.exact import Floats
from didact.planning.successor import successor_features
from didact.random import stream
from didact.teaching.loss.cells import Cell, Walk
from didact.teaching.loss.fan import SHOWS, Fan, Policy

IN_SIGHT = 1e6
"""Tasks whose states to the power of dimensions less one are more have too many cells."""
MEETINGS = 20_000
"""Sets of facets of one cell whose meeting is looked at; with more, nothing is said."""
FIRM = 1e-6
"""Facets that meet at smaller angles have no firm ray."""
LIES, APART = 1e-9, 1e-7
"""A unit row vanishes at a unit ray below the first, and does not above the second."""

Mask = NDArray[np.bool_]
Packed = NDArray[np.uint8]


class Lost(NamedTuple):
    """The most that is lost: how much, and by which weights (k,); None where nothing is lost.

    optimal: (S, A), the pairs that are for them. policy: of a cell whose edge they are on.
    """

    loss: float
    weights: Floats | None = None
    optimal: Mask | None = None
    policy: Policy | None = None


@dataclass
class Chart:
    """The cells of all weights, visited one after the other; can be stopped and taken up again.

    cells: those whose facets were found. rays: (n, d) of each. ties: (n, bytes) of each, which
    pairs are optimal at its rays. least: of sets of optimal pairs, the least that they lose.
    """

    fan: Fan
    cells: list[Cell] = field(default_factory=list)
    rays: list[Floats] = field(default_factory=list)
    ties: list[Packed] = field(default_factory=list)
    least: dict[bytes, float] = field(default_factory=dict)
    n_close: int = 0

    @cached_property
    def walk(self) -> Walk:
        """Over all weights, begun."""
        d = self.fan.dimension
        walk = Walk(self.fan, self.fan.basis, np.zeros((0, d)), look=self._look)
        if d == 1:
            walk.begin(np.array([[1.0], [-1.0]]))
            for _, _, cell in walk.open:
                rows, _ = self.fan.rows_of(cell.policy)
                self._look(cell, rows @ self.fan.basis.T, np.zeros((0, 1)))
            walk.stop()
        elif d:
            walk.begin(stream(0, "chart").standard_normal((1, d)))
        return walk

    def finish(self, deadline: float = math.inf) -> bool:
        """Visit what is left until the time is up; whether all is known, beyond doubt."""
        walk = self.walk
        while walk.open and time.monotonic() <= deadline:
            walk.expand()
        return self.is_finished

    @property
    def is_finished(self) -> bool:
        """Whether every cell was visited, and no call was close."""
        n_close = self.n_close + self.walk.n_close + self.fan.n_close
        return self.walk.is_finished and not n_close

    def worst(self, shown: Mask, enough: float = math.inf) -> Lost:
        """The most that is lost by weights for which the pairs shown (S, A) are optimal.

        enough: stop at the first that loses more.
        """
        worst = Lost(0.0)
        if not self.cells:
            return worst
        wanted = np.packbits(shown[self.fan.states].ravel())
        ties, first, order = self._stacked
        fits = ((ties & wanted) == wanted).all(axis=1)
        some = np.logical_or.reduceat(fits, first)
        for number in order[some[order]].tolist():
            if self.cells[number].loss <= worst.loss or worst.loss > enough:
                break
            in_face = fits[first[number] : first[number] + len(self.rays[number])]
            found = self._in_face(number, in_face)
            worst = found if found.loss > worst.loss else worst
        return worst

    def worst_of_agents(self, best: Mask, others: Mask) -> Lost | None:
        """The most that agents lose who hold pairs `best` (S, A) optimal and `others` not.

        Ties are broken as badly as can be: a cell counts as soon as its closure holds such weights.
        They are inside the face where `best` are optimal, where fewest others are. None where no
        weights are such.
        """
        wanted, unwanted = (np.packbits(m[self.fan.states].ravel()) for m in (best, others))
        if not self.cells:  # every pair is optimal for all weights
            return None if unwanted.any() else Lost(0.0)
        ties, first, order = self._stacked
        fits = ((ties & wanted) == wanted).all(axis=1)
        for number in order.tolist():
            in_face = fits[first[number] : first[number] + len(self.rays[number])]
            optimal = np.bitwise_and.reduce(self.ties[number][in_face], axis=0)
            if not (optimal & unwanted).any():
                weights = self.rays[number][in_face].sum(axis=0) @ self.fan.basis
                return Lost(self.cells[number].loss, weights)
        return None

    @cached_property
    def _stacked(self) -> tuple[Packed, NDArray[np.int64], NDArray[np.int64]]:
        """Ties of all rays; where those of each cell begin; cells by their loss, largest first."""
        sizes = [len(rays) for rays in self.rays]
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        order = np.argsort([-cell.loss for cell in self.cells], kind="stable")
        return np.concatenate(self.ties), first, order

    def _in_face(self, number: int, fits: Mask) -> Lost:
        """What is lost inside the face of a cell that some of its rays span."""
        weights = self.rays[number][fits].sum(axis=0) @ self.fan.basis
        packed = np.bitwise_and.reduce(self.ties[number][fits], axis=0)
        states = self.fan.states
        optimal = np.ones((len(states), self.fan.task.mdp.n_actions), dtype=np.bool_)
        taken = np.unpackbits(packed, count=int(states.sum()) * optimal.shape[1])
        optimal[states] = taken.reshape(-1, optimal.shape[1]).astype(np.bool_)
        if fits.all():
            return Lost(self.cells[number].loss, weights, optimal, self.cells[number].policy)
        key = packed.tobytes()
        if key not in self.least:
            self.least[key] = self.fan.among(optimal)
        return Lost(self.least[key], weights, optimal, self.cells[number].policy)

    def _look(self, cell: Cell, rows: Floats, facets: Floats) -> None:
        """Keep a cell with its extreme rays, and with the pairs that are optimal at them."""
        rays = self._rays_of(facets, self.fan.basis @ cell.weights)
        lengths = np.linalg.norm(rows, axis=1)
        zero = lengths <= SHOWS * float(lengths.max(initial=1e-300))
        heights = np.abs(rays @ (rows / np.where(zero, 1.0, lengths)[:, None]).T)
        heights[:, zero] = 0.0
        self.n_close += int(np.count_nonzero((heights > LIES) & (heights <= APART)))
        self.cells.append(cell)
        self.rays.append(rays)
        self.ties.append(np.packbits(heights <= APART, axis=1))

    def _rays_of(self, facets: Floats, inside: Floats) -> Floats:
        """The extreme rays of a pointed cone: where all but one dimension of facets meet; (n, d).

        Those of facets that meet at small angles are doubtful, where no others are near.
        """
        d = len(inside)
        if d == 1:
            return inside[None] / np.linalg.norm(inside)
        if len(facets) < d or math.comb(len(facets), d - 1) > MEETINGS:
            self.n_close += 1  # a pointed cone has d facets; fewer are seen where scales differ
            return inside[None]
        meeting = facets[np.array(list(combinations(range(len(facets)), d - 1)))]
        _, sizes, across = np.linalg.svd(meeting)
        rays = across[:, -1] * np.where(across[:, -1] @ facets.sum(axis=0) < 0, -1.0, 1.0)[:, None]
        smallest, room = sizes[:, -1], (rays @ facets.T).min(axis=1)
        firm = smallest > FIRM
        self.n_close += int(np.count_nonzero(firm & (room < -LIES) & (room > -APART)))
        kept = rays[firm & (room >= -LIES)]
        _, first = np.unique(np.round(kept, 6) + 0.0, axis=0, return_index=True)
        doubtful = rays[~firm & (smallest > SHOWS) & (room > -FIRM)]
        if len(doubtful) and (not len(kept) or (doubtful @ kept.T).max(axis=1).min() < 1 - FIRM):
            self.n_close += 1
        return kept[first] if len(kept) else inside[None]


def chart_in_sight(fan: Fan) -> Chart | None:
    """An empty chart, where all cells can be visited; None where there are far too many.

    Of a family with several members there is none: a policy in each of them makes far too many.
    """
    if len(fan.members) > 1:
        return None
    (fan,) = fan.single
    size = float(np.count_nonzero(fan.states))
    return Chart(fan) if size ** max(fan.dimension - 1, 0) <= IN_SIGHT else None


def exact_weights(fan: Fan, lost: Lost) -> tuple[Fraction, ...]:
    """The weights of a chart as fractions that keep every tie of theirs exactly.

    Pairs that are optimal at the edge of a policy's cell have rows that vanish there.
    """
    assert lost.weights is not None
    assert lost.optimal is not None
    assert lost.policy is not None
    # As probabilities: where there are as many states as features, numbers may also be weights.
    taken = np.eye(fan.task.mdp.n_actions)[lost.policy.astype(int)]
    counts = successor_features(fan.task.mdp, taken, arithmetic="exact")
    rows = {
        primitive([x - y for x, y in zip(counts.pairs[s][lost.policy[s]], row, strict=True)])
        for s in np.flatnonzero(fan.states).tolist()
        for row in (counts.pairs[s][a] for a in np.flatnonzero(lost.optimal[s]).tolist())
    }
    width = len(lost.weights)
    across = null_basis(*row_reduced([row for row in sorted(rows) if any(row)]), width)
    unit = lost.weights / np.linalg.norm(lost.weights)
    basis = np.array([[float(x) for x in row] for row in across])
    lengths = np.linalg.norm(basis, axis=1)
    shares = np.linalg.lstsq((basis / lengths[:, None]).T, unit, rcond=None)[0] / lengths
    exact = [Fraction(repr(float(share))) for share in shares]
    columns = zip(*across, strict=True)
    return tuple(
        sum((c * x for c, x in zip(exact, col, strict=True)), Fraction(0)) for col in columns
    )
