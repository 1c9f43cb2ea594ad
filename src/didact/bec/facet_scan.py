"""The scan of Clarkson's method: every row is settled against the facets known so far.

Compiled loops on flat arrays. A row outside the cone of the facets sends a ray from inside, and the
first half-space that it meets is a facet; a last pass tests every facet against the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.bec.directions import TOLERANCE
from didact.bec.nnls import (
    DRIFT,
    EXCLUDED,
    FREE,
    USED,
    Fit,
    Generators,
    descend,
    new_fit,
    norm,
    project_target,
    recompute_residual,
)
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

JOLT = 0.25

_FIRST_ROOM = 128
CLEARLY_MET = 1e-6
"""A ray that meets one row so much before all others proves that row a facet."""
_SOLVES_PER_BASIS = 64


@dataclass(frozen=True)
class Scan:
    """Which of the distinct rows are extreme, and the evidence."""

    facets: Indices
    facet_of: Indices
    margin: float
    largest_residual: float
    n_unknown: int


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


def scan_rows(rows: Floats, slack: Floats) -> Scan:
    """The extreme rays among distinct unit rows of a pointed cone; `slack` at a point inside.

    Rows deep inside come first: they are redundant or lead to facets that serve many others, which
    halves the time where features are many.
    """
    n, k = rows.shape
    facet_of = np.full(n, IS_REDUNDANT)
    if n == 0:
        return Scan(facet_of, facet_of, np.inf, 0.0, 0)
    slack = slack + JOLT * float(slack.min()) * (rows @ any_direction(k))
    order = (-slack).argsort(kind="stable")
    ordered = Rows(rows[order].ravel(), slack[order], np.zeros(n, dtype=np.int64), np.zeros(n))
    facets, fit = _first_room(n, k)
    work = 40 * n * k * k
    position = settle_rows.run(work, 0, ordered, facets, fit)
    while position < n:
        facets, fit = _with_more_room(n, facets, fit)
        position = settle_rows.run(work, position, ordered, facets, fit)
    n_facets, _, _, n_undecided = facets.counters.tolist()
    found = np.sort(order[facets.sources[:n_facets]])
    facet_of[found] = np.arange(len(found))
    largest_residual, margin = facets.evidence.tolist()
    return Scan(found, facet_of, margin, largest_residual, n_undecided)


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
    """Add facets until they imply each row from `position` on, and prune them.

    The number of rows; or that of the row for which there is no room, to go on there with more.
    """
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
    prune_facets(rows, facets, fit)
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


@cache
def any_direction(k: int) -> Floats:
    """A fixed random unit vector, to break ties between half-spaces that a ray meets at once."""
    direction = stream(0, "clarkson", k).standard_normal(k)
    unit: Floats = direction / np.linalg.norm(direction)
    return unit
