"""The facets of a cone of weights, in time that depends on how many there are (Clarkson 1994).

The cone is B = {w : r.w >= 0 for all rows r}; its dual is C = cone(rows), and L = C meet -C is the
lineality space, whose rows are equalities of B. A row is a facet when it spans an extreme ray of
the pointed quotient C/L. Each row is tested against the facets known so far, by its distance from
their cone. If it is outside, a ray from inside B leaves through a half-space that cannot be one of
them, and the first half-space it meets is a new facet. Ties of first meetings may add rows that are
no facets; a last pass tests every facet against the others. So rays only save time, and every
answer rests on distances.

A row is redundant if turning it and the facets it combines by ROUNDING each could make the
combination exact: distance <= ROUNDING * (1 + sum of multipliers), and never above TOLERANCE.
Farther than TOLERANCE it is not redundant. Between the two, or when a solve did not converge, it is
undecided: it is kept and counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from didact.bec.directions import TOLERANCE, label_units, unit_rows
from didact.bec.facet_scan import IS_EQUALITY, IS_ZERO, Scan, scan_rows
from didact.bec.nnls import (
    NearestPoint,
    nearest_in_cone,
)
from didact.errors import InvalidNumber, InvalidParameter

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


_FIRM_MULTIPLIER = 1e-3


@dataclass(frozen=True)
class FloatCone:
    """Facets and lineality of a cone of weights, found in floats, and what they rest on."""

    lineality: Floats
    """(l, k) orthonormal basis of L; w lies in B only if it is orthogonal to them."""
    equalities: Indices
    """Rows that lie in L."""
    facets: Indices
    """One row for each extreme ray of C/L: the first of its class, in increasing order."""
    facet_of: Indices
    """(n,) number of the facet a row repeats modulo L, or IS_REDUNDANT, IS_EQUALITY, IS_ZERO."""
    margin: float
    """Decided facets are at least so far from the cone of the others; infinite without facets."""
    largest_residual: float
    """Largest distance that was taken for zero: of redundant rows, and of equalities from L."""
    n_unknown: int
    """Facets kept although their test was undecided."""


def find_facets(
    rows: ArrayLike,
    inside: ArrayLike,
    *,
    zero_below: float | None = None,
    are_distinct: bool = False,
) -> FloatCone:
    """The facets and the lineality space of {w : rows w >= 0}, which has the point `inside`.

    `rows` is (n, k); rows that vanish at `inside` may be equalities. Zero rows are those of
    `unit_rows`. The answer is a set: permuting rows only renames it.
    are_distinct: none is zero, and no two have one direction, as in a catalogue of rows.
    """
    matrix = np.asarray(rows, dtype=np.float64)
    units, kept = unit_rows(matrix, zero_below)
    point = _unit_point(inside, matrix.shape[1])
    if are_distinct:
        lineality, scan = _scan(units, point, kept)
        facet_of, facets = scan.facet_of, scan.facets
    else:
        labels, first = label_units(units)
        lineality, scan = _scan(units[first], point, kept[first])
        facet_of, facets = np.full(len(matrix), IS_ZERO), kept[first[scan.facets]]
        facet_of[kept] = scan.facet_of[labels]
    equalities = (facet_of == IS_EQUALITY).nonzero()[0]
    for array in (lineality, equalities, facets, facet_of):
        array.setflags(write=False)
    return FloatCone(
        *(lineality, equalities, facets, facet_of),
        *(scan.margin, scan.largest_residual, scan.n_unknown),
    )


def all_hold(rows: Floats, point: ArrayLike) -> bool:
    """Whether a point satisfies unit rows (n, k) up to the tolerance, as `find_facets` needs it."""
    return not len(rows) or bool((rows @ _unit_point(point, rows.shape[1])).min() >= -TOLERANCE)


def _scan(distinct: Floats, point: Floats, numbers: Indices) -> tuple[Floats, Scan]:
    """L, and the scan of distinct unit rows; numbers: theirs, to name one that is violated."""
    slack = distinct @ point
    _require_inside(slack, numbers)
    ties = slack <= TOLERANCE
    if ties.any():
        return _scan_with_ties(distinct, point, ties)
    return np.zeros((0, distinct.shape[1])), scan_rows(distinct, slack)


def _scan_with_ties(
    distinct: Floats, point: Floats, ties: NDArray[np.bool_]
) -> tuple[Floats, Scan]:
    """L, and the scan when rows vanish at the point: divide by L, and move off the other ties."""
    lineality, inward, residual, n_unknown = _split_ties(distinct[ties])
    across = _project_out(distinct, lineality)
    lengths = np.sqrt(np.einsum("ij,ij->i", across, across))
    outside = np.flatnonzero(lengths > TOLERANCE)
    quotient = across[outside] / lengths[outside, None]
    labels, first = label_units(quotient)
    slack = _slack_off_ties(quotient[first], _project_out(point, lineality), inward)
    scan = scan_rows(quotient[first], slack)
    facet_of = np.full(len(distinct), IS_EQUALITY)
    facet_of[outside] = scan.facet_of[labels]
    equality_residual = float(np.delete(lengths, outside).max(initial=0.0))
    return lineality, Scan(
        outside[first[scan.facets]],
        facet_of,
        scan.margin,
        max(residual, equality_residual, scan.largest_residual),
        scan.n_unknown + n_unknown,
    )


def _split_ties(ties: Floats) -> tuple[Floats, Floats, float, int]:
    """Basis of L, a direction strictly inside all other ties, largest residual, undecided tests.

    A tie r lies in L exactly when -r lies in the cone of the ties. If it does, so do the rows that
    combine to -r, and all rows in their span. If not, the residual y of -r has y.t <= 0 for all
    ties t, and every t with y.t < 0 is outside L as well: each test settles many rows.
    """
    n, k = ties.shape
    inward = np.zeros(k)
    labels, _ = label_units(np.concatenate([ties, -ties]))
    if np.isin(labels[:n], labels[n:]).all():
        return _orthonormal(ties), inward, 0.0, 0
    lineality = np.zeros((0, k))
    undecided = np.ones(n, dtype=np.bool_)
    largest, n_unknown = 0.0, 0
    while undecided.any():
        row = int(np.argmax(undecided))
        nearest = nearest_in_cone(ties, -ties[row])
        if nearest.distance <= TOLERANCE:
            largest = max(largest, nearest.distance)
            lineality = _orthonormal(np.vstack([lineality, ties[[row, *_firm(nearest)]]]))
            undecided[row] = False
            undecided &= np.linalg.norm(_project_out(ties, lineality), axis=1) > TOLERANCE
            continue
        undecided[row] = False
        n_unknown += not nearest.converged
        if nearest.converged:
            toward = -nearest.residual / nearest.distance
            undecided &= ties @ toward <= TOLERANCE / nearest.distance
            inward += toward
    return lineality, inward, largest, n_unknown


def _firm(nearest: NearestPoint) -> Indices:
    """Generators that the nearest point surely needs."""
    return nearest.support[nearest.multipliers > _FIRM_MULTIPLIER]


def _orthonormal(rows: Floats) -> Floats:
    """Orthonormal basis, (l, k), of a space that no row leaves by more than TOLERANCE.

    Gram-Schmidt that takes the row farthest from the space so far.
    """
    basis = np.zeros((0, rows.shape[1]))
    remaining = rows
    while len(basis) < rows.shape[1]:
        lengths = np.linalg.norm(remaining, axis=1)
        farthest = int(np.argmax(lengths))
        if lengths[farthest] <= TOLERANCE:
            break
        direction = _project_out(remaining[farthest] / lengths[farthest], basis)
        basis = np.vstack([basis, direction / np.linalg.norm(direction)])
        remaining = _project_out(rows, basis)
    return basis


def _project_out(rows: Floats, basis: Floats) -> Floats:
    """Rows less their part in the span of an orthonormal basis; twice, to be rid of rounding."""
    for _ in range(2):
        rows = rows - (rows @ basis.T) @ basis
    return rows


def _slack_off_ties(rows: Floats, point: Floats, inward: Floats) -> Floats:
    """Slack of the rows at a point moved from `point` along `inward`, off the ties, still inside.

    A slack that should be positive and is not costs speed only: such rows are met first.
    """
    slack = np.maximum(rows @ point, 0.0)
    push = rows @ (inward / max(float(np.linalg.norm(inward)), 1.0))
    strict = (slack > TOLERANCE) & (push < 0.0)
    step = min(1.0, 0.5 * float((slack[strict] / -push[strict]).min(initial=np.inf)))
    moved: Floats = np.maximum(slack + step * push, 0.0)
    return moved


def _unit_point(inside: ArrayLike, k: int) -> Floats:
    """The point scaled to unit length; the origin stays."""
    point = np.asarray(inside, dtype=np.float64)
    if point.shape != (k,):
        raise InvalidParameter(f"inside must have shape ({k},); it has shape {point.shape}")
    if not np.isfinite(point).all():
        raise InvalidNumber(f"inside must be finite numbers; it is {point}")
    largest = float(np.abs(point).max(initial=0.0))
    if largest == 0.0:
        return point
    scaled = point / largest
    unit: Floats = scaled / math.sqrt(scaled @ scaled)
    return unit


def _require_inside(slack: Floats, indices: Indices) -> None:
    if len(slack) and slack.min() < -TOLERANCE:
        worst = int(np.argmin(slack))
        raise InvalidParameter(
            f"inside must satisfy every row; row {indices[worst]} is violated by an angle of "
            f"{-slack[worst]:.3g}"
        )
