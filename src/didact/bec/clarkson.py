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

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from didact.bec.directions import TOLERANCE, label_units, unit_rows
from didact.bec.nnls import (
    DRIFT,
    EXCLUDED,
    FREE,
    USED,
    Fit,
    Generators,
    NearestPoint,
    descend,
    nearest_in_cone,
    new_fit,
    norm,
    project_target,
    recompute_residual,
)
from didact.errors import InvalidNumber, InvalidParameter
from didact.numerics.compiled import inlined, kernel
from didact.random import stream

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

ROUNDING = 1e-12
"""Angle by which rounding may have turned a row: what differences of successor features bear."""

INSIDE, OUTSIDE, UNKNOWN = 0, 1, 2

OPEN, CHOSEN, PROVED = 0, 1, 2
"""Of a row: not chosen, chosen as a facet, or met by a ray so early that it must be one."""

N_FACETS, SIZE, N_SOLVES, N_UNDECIDED = range(4)
"""Counters of a scan; SIZE is that of the last solve's support."""

LARGEST_RESIDUAL, MARGIN = range(2)
"""Evidence of a scan."""

IS_REDUNDANT, IS_EQUALITY, IS_ZERO = -1, -2, -3
"""What `facet_of` says of a row that belongs to no facet."""

_FIRM_MULTIPLIER = 1e-3
_JOLT = 0.25
_FIRST_ROOM = 128
CLEARLY_MET = 1e-6
"""A ray that meets one row so much before all others proves that row a facet."""
_SOLVES_PER_BASIS = 64


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
    rows: ArrayLike, inside: ArrayLike, *, zero_below: float | None = None
) -> FloatCone:
    """The facets and the lineality space of {w : rows w >= 0}, which has the point `inside`.

    `rows` is (n, k); rows that vanish at `inside` may be equalities. Zero rows are those of
    `unit_rows`. The answer is a set: permuting rows only renames it.
    """
    matrix = np.asarray(rows, dtype=np.float64)
    units, kept = unit_rows(matrix, zero_below)
    point = _unit_point(inside, matrix.shape[1])
    labels, first = label_units(units)
    distinct = units[first]
    slack = distinct @ point
    _require_inside(slack, kept[first])
    ties = slack <= TOLERANCE
    if ties.any():
        lineality, scan = _scan_with_ties(distinct, point, ties)
    else:
        lineality, scan = np.zeros((0, matrix.shape[1])), _scan(distinct, slack)
    facet_of = np.full(len(matrix), IS_ZERO)
    facet_of[kept] = scan.facet_of[labels]
    facets, equalities = kept[first[scan.facets]], np.flatnonzero(facet_of == IS_EQUALITY)
    for array in (lineality, equalities, facets, facet_of):
        array.setflags(write=False)
    return FloatCone(
        *(lineality, equalities, facets, facet_of),
        *(scan.margin, scan.largest_residual, scan.n_unknown),
    )


@dataclass(frozen=True)
class _Scan:
    """Which of the distinct rows are extreme, and the evidence."""

    facets: Indices
    facet_of: Indices
    margin: float
    largest_residual: float
    n_unknown: int


def _scan_with_ties(
    distinct: Floats, point: Floats, ties: NDArray[np.bool_]
) -> tuple[Floats, _Scan]:
    """L, and the scan when rows vanish at the point: divide by L, and move off the other ties."""
    lineality, inward, residual, n_unknown = _split_ties(distinct[ties])
    across = _project_out(distinct, lineality)
    lengths = np.sqrt(np.einsum("ij,ij->i", across, across))
    outside = np.flatnonzero(lengths > TOLERANCE)
    quotient = across[outside] / lengths[outside, None]
    labels, first = label_units(quotient)
    slack = _slack_off_ties(quotient[first], _project_out(point, lineality), inward)
    scan = _scan(quotient[first], slack)
    facet_of = np.full(len(distinct), IS_EQUALITY)
    facet_of[outside] = scan.facet_of[labels]
    equality_residual = float(np.delete(lengths, outside).max(initial=0.0))
    return lineality, _Scan(
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


class Rows(NamedTuple):
    """Distinct unit rows (n * k,), their slack at a point inside, and what each is taken for (n,).

    speeds: room for n numbers.
    """

    entries: Any
    slack: Any
    chosen: Any
    speeds: Any


class Facets(NamedTuple):
    """The facets found so far, as generators, and their rows; with what was counted and measured.

    There is room for as many as the stride of the generators.
    """

    generators: Generators
    sources: Any
    counters: Any
    evidence: Any


def _scan(rows: Floats, slack: Floats) -> _Scan:
    """The extreme rays among distinct unit rows of a pointed cone; `slack` at a point inside.

    Rows deep inside come first: they are redundant or lead to facets that serve many others, which
    halves the time where features are many.
    """
    n, k = rows.shape
    facet_of = np.full(n, IS_REDUNDANT)
    if n == 0:
        return _Scan(facet_of, facet_of, np.inf, 0.0, 0)
    slack = slack + _JOLT * float(slack.min()) * (rows @ _any_direction(k))
    order = np.argsort(-slack, kind="stable")
    ordered = Rows(rows[order].ravel(), slack[order], np.zeros(n, dtype=np.int64), np.zeros(n))
    facets, fit = _first_room(n, k)
    work = 40 * n * k * k
    position = settle_rows.run(work, 0, ordered, facets, fit)
    while position < n:
        facets, fit = _with_more_room(n, facets, fit)
        position = settle_rows.run(work, position, ordered, facets, fit)
    prune_facets.run(work, ordered, facets, fit)
    n_facets, _, _, n_undecided = facets.counters.tolist()
    found = np.sort(order[facets.sources[:n_facets]])
    facet_of[found] = np.arange(len(found))
    largest_residual, margin = facets.evidence.tolist()
    return _Scan(found, facet_of, margin, largest_residual, n_undecided)


def _first_room(n: int, k: int) -> tuple[Facets, Fit]:
    room = min(n, _FIRST_ROOM)
    generators, sources = Generators(np.zeros(k * room), room), np.zeros(room, dtype=np.int64)
    counters, evidence = np.zeros(4, dtype=np.int64), np.array([0.0, np.inf])
    return Facets(generators, sources, counters, evidence), new_fit(room, k)


def _with_more_room(n: int, facets: Facets, fit: Fit) -> tuple[Facets, Fit]:
    """Room for twice as many facets."""
    entries, room = facets.generators
    pad = (0, min(n, 2 * room) - room)
    padded = np.pad(entries.reshape(-1, room), ((0, 0), pad))
    generators = Generators(padded.ravel(), padded.shape[1])
    fit = fit._replace(slopes=np.pad(fit.slopes, pad), state=np.pad(fit.state, pad))
    return facets._replace(generators=generators, sources=np.pad(facets.sources, pad)), fit


@kernel
def settle_rows(position: int, rows: Rows, facets: Facets, fit: Fit) -> int:
    """Add facets until they imply each row from `position` on; n, or the row without room."""
    counters, evidence, chosen = facets.counters, facets.evidence, rows.chosen
    n, k = len(chosen), len(fit.residual)
    for row in range(position, n):
        while chosen[row] == OPEN:
            distance, verdict = measure(rows.entries, row * k, facets, fit)
            if verdict == INSIDE:
                evidence[LARGEST_RESIDUAL] = max(evidence[LARGEST_RESIDUAL], distance)
                break
            if counters[N_FACETS] == facets.generators.stride:
                return row
            found = row
            clear = 0.0
            if verdict == OUTSIDE:
                found, clear = first_met(row, rows, fit.residual)
            chosen[found] = CHOSEN
            if clear > CLEARLY_MET:
                chosen[found] = PROVED
                evidence[MARGIN] = min(evidence[MARGIN], clear)
            add_facet(found, rows.entries, facets)
    return n


@inlined
def add_facet(row: int, entries: Any, facets: Facets) -> None:
    """Count a row among the facets."""
    generators, counters = facets.generators, facets.counters
    k = len(generators.entries) // generators.stride
    for j in range(k):
        generators.entries[j * generators.stride + counters[N_FACETS]] = entries[row * k + j]
    facets.sources[counters[N_FACETS]] = row
    counters[N_FACETS] += 1


@kernel
def prune_facets(rows: Rows, facets: Facets, fit: Fit) -> None:
    """Test every facet that is not proved against the others, and keep those they do not imply."""
    sources, counters, evidence = facets.sources, facets.counters, facets.evidence
    state, k = fit.state, len(fit.residual)
    kept = 0
    for facet in range(counters[N_FACETS]):
        if rows.chosen[sources[facet]] != PROVED:
            if state[facet] == USED:
                forget(counters, fit)
            state[facet] = EXCLUDED
            distance, verdict = measure(rows.entries, sources[facet] * k, facets, fit)
            if verdict == INSIDE:
                evidence[LARGEST_RESIDUAL] = max(evidence[LARGEST_RESIDUAL], distance)
                continue
            if verdict == OUTSIDE:
                evidence[MARGIN] = min(evidence[MARGIN], distance)
            else:
                counters[N_UNDECIDED] += 1
            state[facet] = FREE
        sources[kept] = sources[facet]
        kept += 1
    counters[N_FACETS] = kept


@inlined
def first_met(row: int, rows: Rows, separator: Any) -> tuple[int, float]:
    """The row whose half-space a ray along -separator leaves first; `row` is one it leaves.

    Where the ray leaves, at x, every other row g still has a slack of at least some d. Whatever is
    combined of the others is then at least d / (|x| + d) away from the row that was met: if that
    is clearly positive, the row is a facet and needs no other test. It is the second number.
    """
    entries, slack, speeds = rows.entries, rows.slack, rows.speeds
    n, k = len(slack), len(separator)
    best = row
    best_slack = slack[row]
    best_speed = 0.0
    for j in range(k):
        best_speed += entries[row * k + j] * separator[j]
    if best_speed <= 0.0:
        # What is left of a row is across its projection: but for rounding its square is the same.
        best_speed = norm(separator) ** 2
    for i in range(n):
        at = max(i * k, 0)
        speed = 0.0
        for j in range(k):
            speed += entries[at + j] * separator[j]
        speeds[i] = speed
        if speed * best_slack > slack[i] * best_speed and rows.chosen[i] == OPEN:
            best = i
            best_slack = slack[i]
            best_speed = speed
    time = best_slack / best_speed
    least = 1e300
    for i in range(n):
        if i != best:
            least = min(least, slack[i] - time * speeds[i])
    reach = 2.0 + time * norm(separator)
    return best, least / (reach + least)


@inlined
def measure(targets: Any, at: int, facets: Facets, fit: Fit) -> tuple[float, int]:
    """Distance of targets[at : at + k] from the cone of facets, and INSIDE, OUTSIDE or UNKNOWN.

    Starts from the support of the last solve; from nothing now and then, so that rounding does not
    pile up, and again if the solve went astray.
    """
    generators, counters = facets.generators, facets.counters
    distance = 0.0
    counters[N_SOLVES] += 1
    if counters[N_SOLVES] % _SOLVES_PER_BASIS == 0:
        forget(counters, fit)
    for _ in range(2):
        project_target(targets, at, counters[SIZE], fit)
        size, ended = descend(generators, counters[N_FACETS], counters[SIZE], fit)
        counters[SIZE] = size
        distance, gap = recompute_residual(generators, targets, at, size, fit)
        total = 1.0
        for c in range(size):
            total += fit.multipliers[c]
        if distance <= min(TOLERANCE, ROUNDING * total):
            return distance, INSIDE
        if ended and gap <= DRIFT:
            return distance, OUTSIDE if distance > TOLERANCE else UNKNOWN
        forget(counters, fit)
    return distance, UNKNOWN


@kernel
def forget(counters: Any, fit: Fit) -> None:
    """Empty the support."""
    for c in range(counters[SIZE]):
        fit.state[fit.support[c]] = FREE
    counters[SIZE] = 0


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
    unit: Floats = scaled / np.linalg.norm(scaled)
    return unit


def _require_inside(slack: Floats, indices: Indices) -> None:
    if len(slack) and slack.min() < -TOLERANCE:
        worst = int(np.argmin(slack))
        raise InvalidParameter(
            f"inside must satisfy every row; row {indices[worst]} is violated by an angle of "
            f"{-slack[worst]:.3g}"
        )


@cache
def _any_direction(k: int) -> Floats:
    """A fixed random unit vector, to break ties between half-spaces that a ray meets at once."""
    direction = stream(0, "clarkson", k).standard_normal(k)
    unit: Floats = direction / np.linalg.norm(direction)
    return unit
