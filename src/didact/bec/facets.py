"""The facets of a cone of weights in floats (Clarkson 1994): time grows with how many there are.

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
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from didact.bec.directions import TOLERANCE, fixed_direction, label_units, lengths_of, unit_rows
from didact.bec.nnls import (
    EXCLUDED,
    FREE,
    Workspace,
    nearest_in_cone,
    new_workspace,
    solve_nonnegative,
)
from didact.errors import InvalidParameter
from didact.numerics.compiled import kernel
from didact.numerics.exact import Floats

Indices = NDArray[np.int64]

ROUNDING = 1e-12
"""Angle by which rounding may have turned a row: what differences of successor features bear."""

INSIDE, OUTSIDE, UNKNOWN = 0, 1, 2
"""Where a row lies to the cone of the facets known so far."""

IS_REDUNDANT, IS_EQUALITY = -1, -2
"""What `facet_of` says of a row that belongs to no facet."""

_JOLT = 0.25
"""Share of the smallest slack by which the start of rays is moved: ties of first meetings go."""

_FIRM_MULTIPLIER = 1e-3
"""A generator with a smaller multiplier may be rounding; it is not taken into L on its account."""


@dataclass(frozen=True)
class FloatCone:
    """Facets and lineality of a cone of weights, found in floats, and what they rest on."""

    lineality: Floats
    """(l, k) orthonormal basis of L; w lies in B only if it is orthogonal to them."""
    facets: Indices
    """One row for each extreme ray of C/L: the first of its class, in increasing order."""
    facet_of: Indices
    """(n,) number of the facet a row repeats modulo L, or IS_REDUNDANT, or IS_EQUALITY."""
    margin: float
    """Decided facets are at least so far from the cone of the others; infinite without facets."""
    largest_residual: float
    """Largest distance that was taken for zero: of redundant rows, and of equalities from L."""
    n_unknown: int
    """Facets kept although their test was undecided."""

    @property
    def equalities(self) -> Indices:
        """Rows that lie in L."""
        return np.flatnonzero(self.facet_of == IS_EQUALITY)


def find_facets(rows: ArrayLike, inside: ArrayLike) -> FloatCone:
    """The facets and the lineality space of {w : rows w >= 0}, which has the point `inside`.

    `rows` is (n, k), none of them zero; rows that vanish at `inside` may be equalities. The answer
    is a set: permuting rows only renames it.
    """
    units, point = unit_rows(np.asarray(rows, dtype=np.float64)), _unit_point(inside)
    labels, first = label_units(units)
    distinct = units[first]
    slack = distinct @ point
    if len(slack) and slack.min() < -TOLERANCE:
        worst = int(np.argmin(slack))
        raise InvalidParameter(
            f"inside must satisfy every row; row {first[worst]} is violated by an angle of "
            f"{-slack[worst]:.3g}"
        )
    ties = slack <= TOLERANCE
    scan = _with_ties(distinct, point, ties) if ties.any() else _pointed(distinct, slack)
    return replace(scan, facets=first[scan.facets], facet_of=scan.facet_of[labels])


def all_hold(rows: Floats, point: ArrayLike) -> bool:
    """Whether a point satisfies unit rows (n, k) up to the tolerance, as `find_facets` needs it."""
    return not len(rows) or bool((rows @ _unit_point(point)).min() >= -TOLERANCE)


def _with_ties(distinct: Floats, point: Floats, ties: NDArray[np.bool_]) -> FloatCone:
    """The cone of distinct unit rows, some of which vanish at the point.

    It is divided by L, and the point moves off the other ties.
    """
    lineality, inward, residual, n_unknown = _split_ties(distinct[ties])
    across = _project_out(distinct, lineality)
    lengths = lengths_of(across)
    outside = np.flatnonzero(lengths > TOLERANCE)
    quotient = across[outside] / lengths[outside, None]
    labels, first = label_units(quotient)
    slack = _slack_off_ties(quotient[first], _project_out(point, lineality), inward)
    scan = _pointed(quotient[first], slack)
    facet_of = np.full(len(distinct), IS_EQUALITY)
    facet_of[outside] = scan.facet_of[labels]
    equality_residual = float(np.delete(lengths, outside).max(initial=0.0))
    return FloatCone(
        lineality,
        outside[first[scan.facets]],
        facet_of,
        scan.margin,
        max(residual, equality_residual, scan.largest_residual),
        scan.n_unknown + n_unknown,
    )


def _pointed(rows: Floats, slack: Floats) -> FloatCone:
    """The extreme rays among distinct unit rows of a pointed cone; `slack` at a point inside.

    Rows deep inside come first: they are redundant or lead to facets that serve many others, which
    halves the time where features are many.
    """
    n, k = rows.shape
    facet_of, lineality = np.full(n, IS_REDUNDANT), np.zeros((0, k))
    if n == 0:
        return FloatCone(lineality, facet_of, facet_of, np.inf, 0.0, 0)
    # No two half-spaces meet all rays from a point moved in a random direction.
    slack = slack + _JOLT * float(slack.min()) * (rows @ fixed_direction("clarkson", k))
    order = (-slack).argsort(kind="stable")
    rows, slack = np.ascontiguousarray(rows[order]), slack[order]
    settled, evidence = np.zeros(n, dtype=np.bool_), np.zeros(1)
    facets: list[int] = []
    generators, work = np.zeros((k, 0)), new_workspace(0, k)
    while True:
        if len(facets) == generators.shape[1]:  # grown twofold, so that copies cost little
            capacity = max(64, 2 * len(facets))
            generators = np.pad(generators, ((0, 0), (0, capacity - len(facets))))
            work = new_workspace(capacity, k)
        row, verdict = settle_rows.run(
            40 * k * k * n, rows, settled, generators, len(facets), work, evidence
        )
        if row == n:
            break
        found = _first_met(rows, slack, settled, row, work.residual) if verdict == OUTSIDE else row
        settled[found] = True
        generators[:, len(facets)] = rows[found]
        facets.append(found)
    kept, margin, largest, n_unknown = _minimal(rows[facets])
    extreme = np.sort(order[np.array(facets)[kept]])
    facet_of[extreme] = np.arange(len(extreme))
    largest = max(largest, float(evidence[0]))
    return FloatCone(lineality, extreme, facet_of, margin, largest, n_unknown)


@kernel
def settle_rows(
    rows: Any, settled: Any, generators: Any, n_facets: int, work: Workspace, evidence: Any
) -> tuple[int, int]:
    """Settle rows that the facets imply; the first one that they do not imply, and its verdict.

    Its residual is in the workspace. The number of rows where none is left.
    """
    for row in range(len(rows)):
        if not settled[row]:
            distance, verdict = measure(rows, row, generators, n_facets, work)
            if verdict != INSIDE:
                return row, verdict
            settled[row] = True
            evidence[0] = max(evidence[0], distance)
    return len(rows), INSIDE


@kernel
def measure(
    rows: Any, row: int, generators: Any, n_facets: int, work: Workspace
) -> tuple[float, int]:
    """The distance of a row from the cone, and INSIDE, OUTSIDE or UNKNOWN."""
    size, distance, converged = solve_nonnegative(generators, n_facets, rows, row, work)
    total = 1.0
    for c in range(size):
        total += work.multipliers[c]
    if distance <= min(TOLERANCE, ROUNDING * total):
        return distance, INSIDE
    return distance, OUTSIDE if converged and distance > TOLERANCE else UNKNOWN


def _first_met(rows: Floats, slack: Floats, settled: Any, row: int, separator: Floats) -> int:
    """The open row whose half-space a ray along -separator leaves first; `row` is one it leaves."""
    speeds = rows @ separator
    # What is left of a row is across its projection: but for rounding its square is the same.
    speeds[row] = speeds[row] if speeds[row] > 0.0 else separator @ separator
    left = np.flatnonzero((speeds > 0.0) & ~settled)
    return int(left[np.argmin(slack[left] / speeds[left])])


def _minimal(facets: Floats) -> tuple[list[int], float, float, int]:
    """Facets that the others do not imply, tested one at a time, and the evidence.

    Where rays met two half-spaces at once, a row that is no facet may have been taken for one. The
    smallest distance of a kept facet from the others' cone; the largest of one that goes; how many
    are undecided, and kept.
    """
    n, k = facets.shape
    work, generators = new_workspace(n, k), np.ascontiguousarray(facets.T)
    kept: list[int] = []
    margin, largest, n_unknown = np.inf, 0.0, 0
    for facet in range(n):
        work.state[facet] = EXCLUDED
        distance, verdict = measure.run(4 * facets.size * k, facets, facet, generators, n, work)
        if verdict == INSIDE:
            largest = max(largest, distance)
            continue
        work.state[facet] = FREE
        kept.append(facet)
        n_unknown += verdict == UNKNOWN
        margin = min(margin, distance) if verdict == OUTSIDE else margin
    return kept, float(margin), float(largest), n_unknown


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
            firm = nearest.support[nearest.multipliers > _FIRM_MULTIPLIER]
            lineality = _orthonormal(np.vstack([lineality, ties[[row, *firm]]]))
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


def _unit_point(inside: ArrayLike) -> Floats:
    """The point scaled to unit length; the origin stays."""
    point = np.asarray(inside, dtype=np.float64)
    scaled = point / (float(np.abs(point).max(initial=0.0)) or 1.0)  # squares must not overflow
    return np.asarray(scaled / (math.sqrt(scaled @ scaled) or 1.0))
