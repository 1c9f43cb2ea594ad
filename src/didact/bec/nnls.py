"""The point of a cone nearest to a target: min |sum_i x_i g_i - target| over x >= 0.

Lawson and Hanson's active set method on unit generators g_i. The generators in use are kept as an
orthonormal basis Q and a triangle R, extended by Gram-Schmidt (twice is enough) and shrunk by
rotations. Normal equations would square the condition number: generators 1e-8 apart are singular
there and harmless here. Stopping rule: the residual is negligible, or no generator makes an acute
angle with it, which is the optimality condition; then the residual separates the target from the
cone. Whatever the updates did, the reported residual is recomputed from the multipliers, so it is
evidence by itself: a small one proves membership. SciPy's routine is as exact, but takes ten times
as long for 50 features and gives up on some wide matrices.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.bec.directions import TOLERANCE
from didact.numerics.compiled import kernel
from didact.numerics.exact import Floats

Indices = NDArray[np.int64]

NO_RESIDUAL = 1e-12
"""A residual that needs no further work: above rounding, far below the direction tolerance."""

NO_SLOPE = 1e-12
"""Cosine between a generator and the residual that counts as none: smaller ones are rounding."""

SMALL_RESIDUAL = 1e-3
"""A residual whose rounding, made at the size of the target, could outweigh the slopes it has."""

ENOUGH_LEFT = 0.7
"""A unit vector that is still so long after one pass of Gram-Schmidt needs no second."""

DRIFT = 1e-11
"""Gap between the projected and the recomputed residual from which a solve has not converged."""

FREE, USED, EXCLUDED = 0, 1, 2
"""Of a generator: may enter the support, is in it, must not enter it."""


class NearestPoint(NamedTuple):
    """The nearest point of a cone, as a combination of its generators."""

    support: Indices
    """Generators with a positive multiplier, in increasing order; they are independent."""
    multipliers: Floats
    """Of the support."""
    residual: Floats
    """Target minus the nearest point; no generator makes an acute angle with it."""
    distance: float
    """Length of the residual."""
    converged: bool
    """Whether the point is known to be nearest; otherwise only its distance is a fact."""


class Workspace(NamedTuple):
    """Arrays of one solve in k dimensions among n generators.

    residual      (k,)    target minus its projection on the span of the support
    basis         (k, k)  orthonormal vectors Q, one in each row
    triangle      (k, k)  columns of R, one in each row; generators in use = Q R
    coordinates   (k,)    target in the basis
    multipliers   (k,)    of the support, none negative
    trial         (k,)    best fit on the support, of any sign; scratch space in between
    candidate     (k,)    a generator that enters, or a vector that leaves the basis
    support       (k,)    generators in use; its length is the `size` that kernels are told
    slopes        (n,)    generator . residual
    state         (n,)    FREE, USED or EXCLUDED
    """

    residual: Any
    basis: Any
    triangle: Any
    coordinates: Any
    multipliers: Any
    trial: Any
    candidate: Any
    support: Any
    slopes: Any
    state: Any


def new_workspace(n: int, k: int) -> Workspace:
    """Arrays for solves among n generators, all of them free."""
    return Workspace(
        *(np.zeros(k), np.zeros((k, k)), np.zeros((k, k))),
        *(np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(k)),
        *(np.zeros(k, dtype=np.int64), np.zeros(n), np.zeros(n, dtype=np.int64)),
    )


def nearest_in_cone(generators: Floats, target: Floats) -> NearestPoint:
    """The point of the cone of unit generators, (n, k), nearest to a target, (k,)."""
    n, k = generators.shape
    transposed, work = np.ascontiguousarray(generators.T), new_workspace(n, k)
    size, distance, converged = solve_nonnegative.run(
        4 * n * k * k, transposed, n, target[None], 0, work
    )
    order = work.support[:size].argsort()
    return NearestPoint(
        support=work.support[order],
        multipliers=work.multipliers[order],
        residual=work.residual,
        distance=float(distance),
        converged=bool(converged),
    )


def max_margin_point(normals: Floats) -> Floats:
    """The unit w with the largest smallest n.w over normals n, (m, k): the maximum-margin point.

    Lawson and Hanson's least distance programming: the least w with n.w >= 1 for all n is the
    residual of one NNLS. Where no w makes all n.w positive the residual is 0 up to rounding, so
    callers compare the margin of the answer with their tolerance.
    """
    generators = np.column_stack([normals, np.ones(len(normals))])
    generators /= np.linalg.norm(generators, axis=1, keepdims=True)
    target = np.zeros(generators.shape[1])
    target[-1] = 1.0
    point = -nearest_in_cone(generators, target).residual[:-1]
    return np.asarray(point / (float(np.linalg.norm(point)) or 1.0))


def residuals_from_cone(generators: Floats, targets: Floats | None = None) -> Floats:
    """Of each target, (m, k), its difference from the nearest point of the cone of unit generators.

    Without targets, of each generator from the cone of the others.
    """
    given, (n, k) = generators if targets is None else targets, generators.shape
    residuals = np.zeros(given.shape)
    find_residuals.run(
        4 * len(given) * n * k * k,
        np.ascontiguousarray(generators.T),
        np.ascontiguousarray(given),
        targets is None,
        new_workspace(n, k),
        residuals,
    )
    return residuals


@kernel
def find_residuals(
    generators: Any, targets: Any, leave_own_out: bool, work: Workspace, residuals: Any
) -> None:
    """The residual of every target; leave_own_out: target i may not use generator i."""
    n, k = generators.shape[1], len(work.residual)
    for at in range(len(targets)):
        if leave_own_out:
            work.state[at] = EXCLUDED
        solve_nonnegative(generators, n, targets, at, work)
        for j in range(k):
            residuals[at, j] = work.residual[j]
        if leave_own_out:
            work.state[at] = FREE


def needed_rows(rows: Floats) -> Indices:
    """The numbers of unit rows (n, k) left when each in turn goes if the cone of the rest holds it.

    Where the cone holds a line, what is left depends on the order: late rows stay.
    """
    n, k = rows.shape
    kept = np.zeros(n, dtype=np.int64)
    n_kept = find_needed.run(
        4 * n * n * k, np.ascontiguousarray(rows), np.zeros((k, n)), new_workspace(n, k), kept
    )
    return kept[:n_kept][::-1].copy()


@kernel
def find_needed(rows: Any, generators: Any, work: Workspace, kept: Any) -> int:
    """How many rows are needed, and their numbers, descending; `generators` is (k, n) to write in.

    A row that later rows imply goes in its turn, whatever is left before it. So rows are first read
    from the last to the first, against the few that later ones did not imply: their cone is that of
    all rows read. Only these few are then tried in turn against all others of them.
    """
    n, k = rows.shape
    n_open: int = n - n  # a literal 0 would have the kernels below compiled twice
    for row in range(n - 1, -1, -1):
        if not holds(rows, row, generators, n_open, work):
            kept[n_open] = row
            for j in range(k):
                generators[j, n_open] = rows[row, j]
            n_open += 1
    for place in range(n_open - 1, -1, -1):
        work.state[place] = EXCLUDED
        if not holds(rows, kept[place], generators, n_open, work):
            work.state[place] = FREE
    n_kept: int = n_open - n_open
    for place in range(n_open):
        if work.state[place] == FREE:
            kept[n_kept] = kept[place]
            n_kept += 1
        work.state[place] = FREE
    return n_kept


@kernel
def holds(rows: Any, row: int, generators: Any, n: int, work: Workspace) -> bool:
    """Whether the cone of the first n generators surely holds a row."""
    _, distance, converged = solve_nonnegative(generators, n, rows, row, work)
    return bool(converged and distance <= TOLERANCE)


@kernel
def solve_nonnegative(
    generators: Any, n: int, targets: Any, at: int, work: Workspace
) -> tuple[int, float, bool]:
    """Size of the support, distance of targets[at], and whether the solve converged.

    generators: (k, n or more), one in each column: slopes of all of them are then vector sums.
    """
    k, size, ended, is_fitted = len(work.residual), 0, False, True
    for j in range(k):
        work.residual[j] = targets[at, j]
    for _ in range(20 * k + 100):
        if not is_fitted:
            back_substitute(size, work)
            blocking = step_to_trial(size, work)
            if blocking >= 0:
                size -= 1
                drop(blocking, size, work)
                continue
        length = norm(work.residual)
        ended = length <= NO_RESIDUAL or size == k
        if ended:
            break
        if length <= SMALL_RESIDUAL:
            project(size, work)
        steepest = steepest_generator(generators, n, work)
        ended = steepest < 0 or work.slopes[steepest] <= NO_SLOPE * length
        if ended:
            break
        # A slope above rounding belongs to a generator that can be added; if not, the basis has
        # drifted, and the solve ends without having converged.
        if append(generators, steepest, size, work) <= 0.0:
            break
        work.multipliers[size] = 0.0
        work.support[size] = steepest
        work.state[steepest] = USED
        size += 1
        is_fitted = False
    gap = recompute_residual(generators, targets, at, size, work)
    for c in range(size):
        work.state[work.support[c]] = FREE  # for the next solve
    return size, norm(work.residual), ended and gap <= DRIFT


@kernel
def project(size: int, work: Workspace) -> None:
    """Take out of the residual what the basis explains, and add it to the coordinates.

    Done again, it is one step of iterative refinement.
    """
    take_out(work.basis, size, work.residual, work.trial)
    for c in range(size):
        work.coordinates[c] += work.trial[c]


@kernel
def take_out(basis: Any, size: int, vector: Any, inner: Any) -> None:
    """Make a vector orthogonal to the first vectors of a basis; inner[c] is what it had of c.

    Inner products come first, all with the same vector: none waits for another.
    """
    k = len(vector)
    for c in range(size):
        inner[c] = 0.0
        for j in range(k):
            inner[c] += basis[c, j] * vector[j]
    for c in range(size):
        for j in range(k):
            vector[j] -= inner[c] * basis[c, j]


@kernel
def back_substitute(size: int, work: Workspace) -> None:
    """Solve R trial = coordinates."""
    for c in range(size):
        work.trial[c] = work.coordinates[c]
    for c in range(size - 1, -1, -1):
        work.trial[c] /= work.triangle[c, c]
        for r in range(c):
            work.trial[r] -= work.trial[c] * work.triangle[c, r]


@kernel
def step_to_trial(size: int, work: Workspace) -> int:
    """Move the multipliers towards the trial; the place of the first that reaches zero, or -1."""
    step, blocking = 1.0, -1
    for c in range(size):
        if work.trial[c] <= 0.0:
            reach = 0.0
            if work.multipliers[c] > 0.0:
                reach = work.multipliers[c] / (work.multipliers[c] - work.trial[c])
            if blocking < 0 or reach < step:
                step, blocking = reach, c
    for c in range(size):
        work.multipliers[c] += step * (work.trial[c] - work.multipliers[c])
        if blocking < 0:
            work.multipliers[c] = work.trial[c]  # without the rounding of the step
    return blocking


@kernel
def drop(place: int, last: int, work: Workspace) -> None:
    """Take a generator out of support and triangle; the residual gets what only it explained.

    Rotations carry a unit vector, `leaving`, from its place to place `last` and out of the basis.
    Letting the later ones enter again instead takes three times as long for 50 features.
    """
    k, basis, triangle = len(work.residual), work.basis, work.triangle
    coordinates, leaving = work.coordinates, work.candidate
    work.state[work.support[place]] = FREE
    for j in range(k):
        leaving[j] = basis[place, j]
    for c in range(place, last):
        work.support[c] = work.support[c + 1]
        work.multipliers[c] = work.multipliers[c + 1]
        for r in range(c + 2):
            triangle[c, r] = triangle[c + 1, r]
    for c in range(place, last):
        length = math.sqrt(triangle[c, c] ** 2 + triangle[c, c + 1] ** 2)
        cosine, sine = triangle[c, c] / length, triangle[c, c + 1] / length
        for column in range(c, last):
            left, right = triangle[column, c], triangle[column, c + 1]
            triangle[column, c] = cosine * left + sine * right
            triangle[column, c + 1] = cosine * right - sine * left
        left, right = coordinates[c], coordinates[c + 1]
        coordinates[c] = cosine * left + sine * right
        coordinates[c + 1] = cosine * right - sine * left
        for j in range(k):
            arriving = basis[c + 1, j]
            basis[c, j] = cosine * leaving[j] + sine * arriving
            leaving[j] = cosine * arriving - sine * leaving[j]
    for j in range(k):
        work.residual[j] += coordinates[last] * leaving[j]


@kernel
def steepest_generator(generators: Any, n: int, work: Workspace) -> int:
    """The free generator with the largest positive slope, the first of equals, or -1."""
    slopes, state, residual = work.slopes, work.state, work.residual
    for i in range(n):
        slopes[i] = 0.0
    for j in range(len(residual)):
        entry = residual[j]
        for i in range(n):
            slopes[i] += entry * generators[j, i]
    best, largest = -1, 0.0
    for i in range(n):
        if slopes[i] > largest and state[i] == FREE:
            best, largest = i, slopes[i]
    return best


@kernel
def append(generators: Any, index: int, size: int, work: Workspace) -> float:
    """Extend the basis by a generator, which explains its part of the residual; how much that is.

    Not positive where it lies in the span of the support, or would get no positive multiplier.
    """
    k, basis, triangle, candidate = len(work.residual), work.basis, work.triangle, work.candidate
    for j in range(k):
        candidate[j] = generators[j, index]
        triangle[size, j] = 0.0
    length = 0.0
    for _ in range(2):
        take_out(basis, size, candidate, work.trial)
        for c in range(size):
            triangle[size, c] += work.trial[c]
        length = norm(candidate)
        if length > ENOUGH_LEFT:
            break
    if length <= NO_SLOPE:
        return 0.0
    triangle[size, size] = length
    along = 0.0
    for j in range(k):
        basis[size, j] = candidate[j] / length
        along += basis[size, j] * work.residual[j]
    work.coordinates[size] = along
    for j in range(k):
        work.residual[j] -= along * basis[size, j]
    return along


@kernel
def recompute_residual(generators: Any, targets: Any, at: int, size: int, work: Workspace) -> float:
    """The residual from the multipliers alone; how far the projected one was off."""
    gap = 0.0
    for j in range(len(work.residual)):
        value = targets[at, j]
        for c in range(size):
            value -= work.multipliers[c] * generators[j, work.support[c]]
        gap = max(gap, abs(value - work.residual[j]))
        work.residual[j] = value
    return gap


@kernel
def norm(values: Any) -> float:
    """Euclidean length."""
    total = 0.0
    for j in range(len(values)):
        total += values[j] * values[j]
    return math.sqrt(total)
