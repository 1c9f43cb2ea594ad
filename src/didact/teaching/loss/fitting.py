"""Rewards that answer as an agent did, rightly or wrongly: the most and the least that they lose.

Answers to comparisons make an open cone of weights. While all of them are right, the true weights
are in it; a wrong one leaves them outside. Loss never rises from w to w + t w*, wherever w is: so
the most is lost where rays along -w* leave the cone, on facets g with g.w* > 0, and the least where
rays along w* do, on facets with g.w* < 0. Where there are no such facets, the rays never end: all
that can be lost is, or nothing. Each facet is convex, so its cells are visited as a lesson's are.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from didact.bec.facets import find_facets
from didact.numerics.exact import Floats
from didact.numerics.geometry import null_space
from didact.teaching.loss.cells import Cell
from didact.teaching.loss.fan import SHOWS, VANISHES, Fan
from didact.teaching.loss.region import (
    TIED,
    Outcome,
    Region,
    nearly_tied,
    walks_of,
    well_inside,
)


def region_that_fits(fan: Fan, strict: Floats, ties: Floats) -> Region | None:
    """Weights with r.w > 0 for strict unit rows (n, k), and = 0 for ties (m, k), which w* keeps.

    None where there are none. Rows that see more than policies do are left out: then more fits.
    """
    strict, ties = (rows @ fan.basis.T for rows in (_seen(fan, strict), _seen(fan, ties)))
    space = null_space(ties, SHOWS)
    rows = strict @ space.T
    lengths = np.linalg.norm(rows, axis=1)
    n_close = fan.n_close + int(np.count_nonzero((lengths > VANISHES) & (lengths <= SHOWS)))
    if (lengths <= SHOWS).any():
        return None
    if not len(rows):
        truth = space @ fan.basis @ fan.truth
        return Region(fan, space @ fan.basis, rows, truth, (), n_close)
    rows /= lengths[:, None]
    inside = well_inside(rows)
    if float((rows @ inside).min()) <= SHOWS:
        return None
    cone = find_facets(rows, inside)
    facets = rows[cone.facets]
    slopes = facets @ (space @ fan.basis @ fan.truth)
    lower = tuple(np.flatnonzero(slopes > TIED).tolist())
    n_close += cone.n_unknown + nearly_tied(slopes)
    return Region(fan, space @ fan.basis, facets, inside, lower, n_close)


def least_cell(region: Region, enough: float = -1.0, *, deadline: float = math.inf) -> Outcome:
    """The class of policies in a cone that loses least; worst: that one, None where it is nothing.

    enough: stop at the first that loses no more. deadline: of the monotonic clock.
    """
    slopes = region.facets @ (region.basis @ region.fan.truth)
    upper = tuple(np.flatnonzero(slopes < -TIED).tolist())
    if not upper:
        return Outcome(None, True, 1, region.n_close)
    if len(region.inside) == 1:
        return _only_cell(region)
    walks = walks_of(replace(region, lower=upper))
    while True:
        least = min((w.least for w in walks if w.least), key=lambda cell: cell.loss, default=None)
        n_cells, n_open = sum(len(w.seen) for w in walks), sum(len(w.open) for w in walks)
        n_close = region.n_close + sum(w.n_close for w in walks)
        is_enough = least is not None and least.loss <= enough
        if is_enough or not n_open or time.monotonic() > deadline:
            return Outcome(least, not n_open, n_cells, n_close)
        next(walk for walk in walks if walk.open).expand()


def _only_cell(region: Region) -> Outcome:
    """What a half-line leads to."""
    weights = region.inside @ region.basis
    lost = region.fan.losses.of(weights[None])
    cell = Cell(float(lost.losses[0]), lost.policies[0], weights)
    return Outcome(cell, True, 1, region.n_close + int(lost.close[0]))


def _seen(fan: Fan, rows: Floats) -> Floats:
    """Those of the rows (n, k) that policies see all of."""
    beyond = rows - rows @ fan.basis.T @ fan.basis
    return np.asarray(rows[np.linalg.norm(beyond, axis=1) <= SHOWS])
