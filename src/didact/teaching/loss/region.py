"""The cone C(D) of a lesson, its facets, the worst reward in it, and what is lost in it on average.

Loss never rises from w to w + t w*, so the most is lost where rays along -w* leave C(D): on its
facets g with g.w* > 0. Each is a convex cone of one dimension less, whose cells are visited. Facets
with g.w* = 0 (one side of a tie is shown, not the other) are never the first that a ray along -w*
meets; where there are no others, such rays never leave C(D), and the worst policy of all fits.

Answers of an agent, right or wrong, make an open cone too (`region_that_fits`). A wrong answer
leaves the true weights outside. Still loss never rises towards them: the least is lost where rays
along w* leave the cone, on facets with g.w* < 0; where there are none, nothing need be lost.

The mean loss is over directions drawn evenly by hit-and-run inside the cone and the unit ball: from
a point along a random line, to a place drawn evenly on what the cone and the ball leave of it. It
is an estimate, no bound. A small mean says nothing of the worst.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from didact.bec.facets import find_facets
from didact.bec.nnls import max_margin_point
from didact.numerics.exact import Floats
from didact.numerics.geometry import null_space
from didact.random import stream
from didact.teaching.loss.cells import Cell, CellSearch, crossings
from didact.teaching.loss.space import SHOWS, VANISHES, WeightSpace

TIED, TIED_SURELY = 1e-10, 1e-13
"""Unit rows with a smaller product with the true weights vanish there; between both it is close."""

SHORT = 1e-6
"""What is left of a point is not used where rounding would turn it: shorter than this share."""
ROUNDING = 1e-14
"""Points of length one so far outside of a facet lie on it."""

Progress = Callable[[int, int], None]
"""Told the numbers of cells visited and of cells still open."""


@dataclass(frozen=True, eq=False)
class Region:
    """C(D) in the space of weights that matter.

    basis: (m, k), orthonormal, of the space that the equalities shown leave. facets: (n, m), unit
    rows in it. inside: (m,), a point strictly inside them. lower: the facets that rays along -w*
    meet. n_close: what floats could not decide.
    """

    space: WeightSpace
    basis: Floats
    facets: Floats
    inside: Floats
    lower: tuple[int, ...]
    n_close: int

    def onto_boundary(self, points: Floats) -> Floats:
        """Points (n, m) moved along -w* to the boundary, of length one; those outside are left out.

        None are there when such rays never end.
        """
        if not self.lower:
            return np.zeros((0, len(self.inside)))
        moved = self._moved(points)
        lengths = np.linalg.norm(moved, axis=1)
        moved = moved[lengths > SHORT * np.linalg.norm(points, axis=1)]
        moved = self._moved(moved / np.linalg.norm(moved, axis=1)[:, None])
        return np.asarray(moved[(moved @ self.facets.T).min(axis=1, initial=1.0) >= -ROUNDING])

    def _moved(self, points: Floats) -> Floats:
        """Points moved along -w* until they meet a facet; rounding is as large as they are."""
        truth, lower = self.space.truth @ self.basis.T, list(self.lower)
        heights, slopes = points @ self.facets[lower].T, self.facets[lower] @ truth
        steps = (heights / slopes).min(axis=1)
        return np.asarray(points - steps[:, None] * truth)


def region_of(space: WeightSpace, rows: Floats) -> Region:
    """C(D) of unit rows (n, k)."""
    inner = rows @ space.basis.T
    truth = space.truth @ space.basis.T
    d = space.dimension
    # The true weights satisfy every row; where floats say otherwise, scales are too far apart.
    seen = (np.linalg.norm(inner, axis=1) > SHOWS) & (inner @ truth > -TIED)
    inner, n_unseen = inner[seen], int(np.count_nonzero(~seen))
    if not len(inner) or not d:
        return Region(space, space.basis, np.zeros((0, d)), truth, (), space.n_close + n_unseen)
    cone = find_facets(inner, truth)
    kernel = null_space(cone.lineality.reshape(-1, d), 0.0)
    facets = inner[cone.facets] @ kernel.T
    facets /= np.linalg.norm(facets, axis=1)[:, None]
    n_close = space.n_close + n_unseen + cone.n_unknown
    region = _region(space, kernel @ space.basis, facets, truth @ kernel.T, n_close)
    if len(region.lower) < len(facets):
        region = replace(region, inside=max_margin_point(facets))
    return region


def _region(
    space: WeightSpace, basis: Floats, facets: Floats, inside: Floats, n_close: int
) -> Region:
    """The region of facets, with those that rays along -w* meet; near ties are close calls."""
    slopes = facets @ (basis @ space.truth)
    sizes = np.abs(slopes)
    n_close += int(np.count_nonzero((sizes > TIED_SURELY) & (sizes <= TIED)))
    lower = tuple(np.flatnonzero(slopes > TIED).tolist())
    return Region(space, basis, facets, inside, lower, n_close)


def searches_of(region: Region) -> list[CellSearch]:
    """A search for each facet that rays along -w* meet, begun at a point inside of it.

    In a family one for each member: what is lost most is lost in some member's cells.
    """
    searches = []
    for number in region.lower:
        kernel = null_space(region.facets[number][None], 0.0)
        if not len(kernel):
            continue
        others = np.delete(region.facets, number, axis=0) @ kernel.T
        others /= np.linalg.norm(others, axis=1)[:, None]
        starts = _starts(region, number, kernel, others)
        for space in region.space.single:
            search = CellSearch(space, kernel @ region.basis, others)
            search.begin(starts)
            search.n_close += int(not len(starts))
            if len(kernel) == 1:
                search.stop()
            searches.append(search)
    return searches


def _starts(region: Region, number: int, kernel: Floats, others: Floats) -> Floats:
    """Points inside a facet: one, or the sides of a line that fit."""
    if len(kernel) == 1:
        sides = np.array([[1.0], [-1.0]])
        return np.asarray(sides[(sides @ others.T).min(axis=1, initial=1.0) > 0.0])
    point = kernel @ crossings(region.facets, region.inside)[number, 0]
    if not np.isfinite(point).all():
        return np.zeros((0, len(kernel)))
    room = float((others @ point).min(initial=1.0))
    aside = stream(0, "cells", "start").standard_normal(len(point))
    return np.asarray((point + 0.1 * room * aside / np.linalg.norm(aside))[None])


class VisitedCells(NamedTuple):
    """What visiting the cells of C(D) found.

    worst: the cell that loses most of those visited; None where nothing can be lost. finished:
    whether every cell was visited. n_cells: how many were. n_close: what floats could not decide.
    """

    worst: Cell | None
    finished: bool
    n_cells: int
    n_close: int

    @property
    def is_proved(self) -> bool:
        """Whether the worst is the worst of all."""
        return self.finished and self.n_close == 0


def worst_cell(
    region: Region,
    enough: float = math.inf,
    *,
    deadline: float = math.inf,
    most_cells: float = math.inf,
    progress: Progress | None = None,
) -> VisitedCells:
    """The class of policies in C(D) that loses most, highest losses first.

    enough: stop at the first that loses more. deadline: of the monotonic clock.
    """
    space = region.space
    if not region.lower:
        weights = -space.truth
        policy = space.losses.of(weights[None]).policies[0]
        worst = Cell(space.worst, policy, weights) if space.worst > 0.0 else None
        return VisitedCells(worst, True, 1, region.n_close)
    return _visited(
        region,
        searches_of(region),
        lambda searches: max(
            (s.worst for s in searches if s.worst), key=lambda cell: cell.loss, default=None
        ),
        lambda cell, n_cells: cell.loss > enough or n_cells > most_cells,
        deadline,
        progress,
    )


def _visited(
    region: Region,
    searches: Sequence[CellSearch],
    extreme: Callable[[Sequence[CellSearch]], Cell | None],
    is_enough: Callable[[Cell, int], bool],
    deadline: float,
    progress: Progress | None = None,
) -> VisitedCells:
    """The extreme cell of those visited, highest losses first, until it is enough or time is up."""
    while True:
        found = extreme(searches)
        n_cells, n_open = sum(len(s.seen) for s in searches), sum(len(s.open) for s in searches)
        stops = found is not None and is_enough(found, n_cells)
        if stops or not n_open or time.monotonic() > deadline:
            n_close = region.n_close + sum(s.n_close for s in searches)
            return VisitedCells(found, not n_open, n_cells, n_close)
        if progress is not None:
            progress(n_cells, n_open)
        min((s for s in searches if s.open), key=lambda s: s.open[0][0]).expand()


def region_that_fits(space: WeightSpace, strict: Floats, ties: Floats) -> Region | None:
    """Weights with r.w > 0 for strict unit rows (n, k), and = 0 for ties (m, k), which w* keeps.

    None where there are none. Rows that see more than policies do are left out: then more fits.
    """
    strict, ties = (rows @ space.basis.T for rows in (_seen(space, strict), _seen(space, ties)))
    kernel = null_space(ties, SHOWS)
    rows = strict @ kernel.T
    lengths = np.linalg.norm(rows, axis=1)
    n_close = space.n_close + int(np.count_nonzero((lengths > VANISHES) & (lengths <= SHOWS)))
    if (lengths <= SHOWS).any():
        return None
    if not len(rows):
        truth = kernel @ space.basis @ space.truth
        return Region(space, kernel @ space.basis, rows, truth, (), n_close)
    rows /= lengths[:, None]
    inside = max_margin_point(rows)
    if float((rows @ inside).min()) <= SHOWS:
        return None
    cone = find_facets(rows, inside)
    basis = kernel @ space.basis
    return _region(space, basis, rows[cone.facets], inside, n_close + cone.n_unknown)


def least_cell(region: Region, enough: float = -1.0, *, deadline: float = math.inf) -> VisitedCells:
    """The class of policies in a cone that loses least; worst: that one, None where it is nothing.

    enough: stop at the first that loses no more. deadline: of the monotonic clock.
    """
    slopes = region.facets @ (region.basis @ region.space.truth)
    upper = tuple(np.flatnonzero(slopes < -TIED).tolist())
    if not upper:
        return VisitedCells(None, True, 1, region.n_close)
    if len(region.inside) == 1:
        # What a half-line leads to.
        weights = region.inside @ region.basis
        lost = region.space.losses.of(weights[None])
        cell = Cell(float(lost.losses[0]), lost.policies[0], weights)
        return VisitedCells(cell, True, 1, region.n_close + int(lost.close[0]))
    return _visited(
        region,
        searches_of(replace(region, lower=upper)),
        lambda searches: min(
            (s.least for s in searches if s.least), key=lambda cell: cell.loss, default=None
        ),
        lambda cell, _: cell.loss <= enough,
        deadline,
    )


def _seen(space: WeightSpace, rows: Floats) -> Floats:
    """Those of the rows (n, k) that policies see all of."""
    beyond = rows - rows @ space.basis.T @ space.basis
    return np.asarray(rows[np.linalg.norm(beyond, axis=1) <= SHOWS])


DRAWS = 400
"""Rewards that are drawn."""
WALKS = 40
"""Walks side by side, each of which draws its part of them."""
STEPS = 4
"""Steps between two draws of a walk, for each dimension."""
WARM_UP = 50
"""Steps before the first of them, for each dimension."""


def mean_loss(region: Region, rng: np.random.Generator, draws: int = DRAWS) -> float:
    """The mean loss of rewards drawn from C(D), all directions alike."""
    if not len(region.inside):
        return 0.0
    points = drawn_inside(region, rng, draws)
    return float(region.space.losses.of(points @ region.basis).losses.mean())


def drawn_inside(region: Region, rng: np.random.Generator, draws: int) -> Floats:
    """Unit points of C(D), (n, m), every direction of it alike."""
    m = len(region.inside)
    # True weights of 0 state no row: there are no facets, and any point of the ball will do.
    length = float(np.linalg.norm(region.inside)) or 1.0
    points = np.repeat(0.5 * region.inside[None] / length, WALKS, axis=0)
    rounds = -(-draws // WALKS)
    found = np.empty((rounds, WALKS, m))
    for _ in range(m * WARM_UP):
        points = _stepped(region, points, rng)
    for draw in range(rounds):
        for _ in range(m * STEPS):
            points = _stepped(region, points, rng)
        found[draw] = points
    drawn = found.reshape(-1, m)[:draws]
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1)[:, None])


def _stepped(region: Region, points: Floats, rng: np.random.Generator) -> Floats:
    """Points (n, m), each moved along a random line to a place that is inside."""
    lines = rng.standard_normal(points.shape)
    lines /= np.linalg.norm(lines, axis=1)[:, None]
    # From where to where points + t lines are in the unit ball.
    along = np.einsum("ij,ij->i", points, lines)
    beyond = np.einsum("ij,ij->i", points, points) - 1.0
    root = np.sqrt(np.maximum(along * along - beyond, 0.0))
    low, high = -along - root, -along + root
    rise, slack = lines @ region.facets.T, np.maximum(points @ region.facets.T, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = -slack / rise
    low = np.maximum(low, np.where(rise > 0.0, ends, -np.inf).max(axis=1, initial=-np.inf))
    high = np.minimum(high, np.where(rise < 0.0, ends, np.inf).min(axis=1, initial=np.inf))
    places = low + rng.random(len(points)) * (high - low)
    return np.asarray(points + places[:, None] * lines)
