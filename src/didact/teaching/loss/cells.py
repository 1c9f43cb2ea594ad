"""Policy cells: classes of weights that share an optimal policy, enumerated one after the other.

In a cone. A cone of weights is cut into cells, one for each policy that some reward in it makes
optimal; inside a cell the loss is one number. Cells are joined through their own facets: whoever
starts in one and crosses every facet of every cell visits all of them (`CellSearch`). That is the
proof; nothing is sampled. A cell is known by its policy, in the one form that `Losses` gives. Its
rows are differences of successor features, its facets are found as those of a class are, and each
is crossed at a point that lies strictly inside all other rows. A step across must stay inside the
cone and come to a policy that is optimal at that very point: then it is the neighbour, however thin
the cell, and else the step is made shorter. Floats decide with room: whatever is too close to call
is counted, and a search with close calls proves nothing.

Everywhere. H(D), the rewards that make every pair shown optimal under their own values, is not
convex and may fall apart: a search inside it need not come to all of it. But the space of all
weights is connected, so a search over it visits every cell (`PolicyCells`); in small worlds there
are hundreds or thousands of them. In the cell K of a policy pi values are linear, and a pair (s, a)
is optimal at w in K exactly where its row mu_pi(s) - mu_pi(s, a) vanishes. So K meets H(D) in a
face of K, which is known by the extreme rays of K that lie in it. All over the inside of a face the
same pairs are optimal; at its edges more are, so that the best of them lose no more. So the most
that is lost in H(D) is the most that is lost inside such faces: of the cell's policy where all of K
fits, else of the best policy that takes optimal pairs only. The cells serve every lesson of a task.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.bec.facets import find_facets
from didact.bec.linear import Row, null_basis, primitive, row_reduced
from didact.bec.nnls import residuals_from_cone
from didact.numerics.exact import Floats
from didact.planning.successor import successor_features
from didact.random import stream
from didact.teaching.loss.space import SHOWS, VANISHES, Policy, WeightSpace, doubtful

STEP, SHORTER, STEPS = 1e-2, 1 / 4, 16
"""How far to step across a facet, by what to shorten the step, and how often."""


class Cell(NamedTuple):
    """A class of policies on a facet: its loss, its policy, and weights (k,) strictly inside."""

    loss: float
    policy: Policy
    weights: Floats


Look = Callable[[Cell, Floats, Floats], None]


@dataclass
class CellSearch:
    """Cells of one facet of C(D): those visited, and those still to be expanded, worst first.

    basis: (m, k), of the facet's space. rows: (n, m), of the lesson, in it. look: is told every
    cell, its rows and its facets, in the same space. It can be stopped and taken up again.
    """

    space: WeightSpace
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
        weights = points / np.linalg.norm(points, axis=1)[:, None] @ self.basis
        lost = self.space.losses.of(weights)
        for i in range(len(points)):
            self.n_close += int(lost.close[i])
            self._add(float(lost.losses[i]), lost.policies[i], weights[i])

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
        whole, sizes = self.space.rows_of(cell.policy)
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
            whole, sizes = self.space.rows_of(cell.policy)
            self._unit_rows(whole @ self.basis.T, whole, sizes)
        self.open.clear()

    def _step(self, crossings: Floats) -> Floats:
        """Visit the neighbours; the crossings whose step was too long, with a shorter one."""
        on, beyond = crossings[:, 0], crossings[:, 1]
        n = len(on)
        weights = np.concatenate([on, beyond]) @ self.basis
        lost = self.space.losses.of(weights)
        states = np.flatnonzero(self.space.states)
        fits = lost.optimal[:n][
            np.arange(n)[:, None], states[None], lost.policies[n:][:, states]
        ].all(axis=1)
        if len(self.rows):
            room = (on @ self.rows.T).min(axis=1)
            fits &= (beyond @ self.rows.T).min(axis=1) >= 0.5 * room
        for i in np.flatnonzero(fits).tolist():
            self.n_close += int(lost.close[n + i])
            self._add(float(lost.losses[n + i]), lost.policies[n + i], weights[n + i])
        left: Floats = crossings[~fits]
        left[:, 1] = left[:, 0] + SHORTER * (left[:, 1] - left[:, 0])
        return left

    def _add(self, loss: float, policy: Policy, weights: Floats) -> None:
        key = policy[self.space.states].tobytes()
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
        away = residuals_from_cone(facets)
    lengths = np.sqrt(np.einsum("ij,ij->i", away, away))[:, None]
    away = away / np.where(lengths > 0.0, lengths, np.nan)
    slack = facets @ inside
    shares = slack / (slack + np.einsum("ij,ij->i", facets, away))
    on = inside - shares[:, None] * (inside + away)
    on -= np.einsum("ij,ij->i", facets, on)[:, None] * facets
    on /= np.sqrt(np.einsum("ij,ij->i", on, on))[:, None]
    return np.stack([on, on - STEP * away], axis=1)


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


class WorstLoss(NamedTuple):
    """The most that is lost: how much, and by which weights (k,); None where nothing is lost.

    optimal: (S, A), the pairs that are for them. policy: of a cell whose edge they are on.
    """

    loss: float
    weights: Floats | None = None
    optimal: Mask | None = None
    policy: Policy | None = None


@dataclass
class PolicyCells:
    """The cells of all weights, visited one after the other; can be stopped and taken up again.

    cells: those whose facets were found. rays: (n, d) of each. ties: (n, bytes) of each, which
    pairs are optimal at its rays. least: of sets of optimal pairs, the least that they lose.
    """

    space: WeightSpace
    cells: list[Cell] = field(default_factory=list)
    rays: list[Floats] = field(default_factory=list)
    ties: list[Packed] = field(default_factory=list)
    least: dict[bytes, float] = field(default_factory=dict)
    n_close: int = 0

    @cached_property
    def walk(self) -> CellSearch:
        """Over all weights, begun."""
        d = self.space.dimension
        walk = CellSearch(self.space, self.space.basis, np.zeros((0, d)), look=self._look)
        if d == 1:
            walk.begin(np.array([[1.0], [-1.0]]))
            for _, _, cell in walk.open:
                rows, _ = self.space.rows_of(cell.policy)
                self._look(cell, rows @ self.space.basis.T, np.zeros((0, 1)))
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
        n_close = self.n_close + self.walk.n_close + self.space.n_close
        return self.walk.is_finished and not n_close

    def worst(self, shown: Mask, enough: float = math.inf) -> WorstLoss:
        """The most that is lost by weights for which the pairs shown (S, A) are optimal.

        enough: stop at the first that loses more.
        """
        worst = WorstLoss(0.0)
        if not self.cells:
            return worst
        wanted = np.packbits(shown[self.space.states].ravel())
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

    def worst_of_agents(self, best: Mask, others: Mask) -> WorstLoss | None:
        """The most that agents lose who hold pairs `best` (S, A) optimal and `others` not.

        Ties are broken as badly as can be: a cell counts as soon as its closure holds such weights.
        They are inside the face where `best` are optimal, where fewest others are. None where no
        weights are such.
        """
        wanted, unwanted = (np.packbits(m[self.space.states].ravel()) for m in (best, others))
        if not self.cells:  # every pair is optimal for all weights
            return None if unwanted.any() else WorstLoss(0.0)
        ties, first, order = self._stacked
        fits = ((ties & wanted) == wanted).all(axis=1)
        for number in order.tolist():
            in_face = fits[first[number] : first[number] + len(self.rays[number])]
            optimal = np.bitwise_and.reduce(self.ties[number][in_face], axis=0)
            if not (optimal & unwanted).any():
                weights = self.rays[number][in_face].sum(axis=0) @ self.space.basis
                return WorstLoss(self.cells[number].loss, weights)
        return None

    @cached_property
    def _stacked(self) -> tuple[Packed, NDArray[np.int64], NDArray[np.int64]]:
        """Ties of all rays; where those of each cell begin; cells by their loss, largest first."""
        sizes = [len(rays) for rays in self.rays]
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        order = np.argsort([-cell.loss for cell in self.cells], kind="stable")
        return np.concatenate(self.ties), first, order

    def _in_face(self, number: int, fits: Mask) -> WorstLoss:
        """What is lost inside the face of a cell that some of its rays span."""
        weights = self.rays[number][fits].sum(axis=0) @ self.space.basis
        packed = np.bitwise_and.reduce(self.ties[number][fits], axis=0)
        states = self.space.states
        optimal = np.ones((len(states), self.space.task.mdp.n_actions), dtype=np.bool_)
        taken = np.unpackbits(packed, count=int(states.sum()) * optimal.shape[1])
        optimal[states] = taken.reshape(-1, optimal.shape[1]).astype(np.bool_)
        if fits.all():
            return WorstLoss(self.cells[number].loss, weights, optimal, self.cells[number].policy)
        key = packed.tobytes()
        if key not in self.least:
            self.least[key] = self.space.losses.among(optimal)
        return WorstLoss(self.least[key], weights, optimal, self.cells[number].policy)

    def _look(self, cell: Cell, rows: Floats, facets: Floats) -> None:
        """Keep a cell with its extreme rays, and with the pairs that are optimal at them."""
        rays = self._rays_of(facets, self.space.basis @ cell.weights)
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


def affordable_cells(space: WeightSpace) -> PolicyCells | None:
    """No cells yet, where all of them can be visited; None where there are far too many.

    Of a family with several members there is none: a policy in each of them makes far too many.
    """
    if len(space.members) > 1:
        return None
    (space,) = space.single
    size = float(np.count_nonzero(space.states))
    return PolicyCells(space) if size ** max(space.dimension - 1, 0) <= IN_SIGHT else None


def exact_weights(space: WeightSpace, lost: WorstLoss) -> tuple[Fraction, ...]:
    """The weights of cells as fractions that keep every tie of theirs exactly.

    Pairs that are optimal at the edge of a policy's cell have rows that vanish there.
    """
    assert lost.weights is not None
    assert lost.optimal is not None
    assert lost.policy is not None
    # As probabilities: where there are as many states as features, numbers may also be weights.
    taken = np.eye(space.task.mdp.n_actions)[lost.policy.astype(int)]
    counts = successor_features(space.task.mdp, taken, arithmetic="exact")
    rows = {
        primitive([x - y for x, y in zip(counts.pairs[s][lost.policy[s]], row, strict=True)])
        for s in np.flatnonzero(space.states).tolist()
        for row in (counts.pairs[s][a] for a in np.flatnonzero(lost.optimal[s]).tolist())
    }
    found = weights_on_ties([row for row in sorted(rows) if any(row)], lost.weights)
    assert found is not None
    return found


def weights_on_ties(rows: Sequence[Row], weights: Floats) -> tuple[Fraction, ...] | None:
    """The fractions nearest to weights (k,) for which all rows are exactly 0; None where none are.

    A combination of an exact basis of the null space, with shares by least squares.
    """
    across = null_basis(*row_reduced(list(rows)), len(weights))
    if not across:
        return None
    unit = weights / np.linalg.norm(weights)
    basis = np.array([[float(x) for x in row] for row in across])
    lengths = np.linalg.norm(basis, axis=1)
    shares = np.linalg.lstsq((basis / lengths[:, None]).T, unit, rcond=None)[0] / lengths
    exact = [Fraction(repr(float(share))) for share in shares]
    columns = zip(*across, strict=True)
    return tuple(
        sum((c * x for c, x in zip(exact, col, strict=True)), Fraction(0)) for col in columns
    )
