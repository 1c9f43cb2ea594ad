"""The point of a cone nearest to a target: min |sum_i x_i g_i - target| over x >= 0.

Lawson and Hanson's active set method on unit generators g_i. The generators in use are kept as an
orthonormal basis Q and a triangle R, extended by Gram-Schmidt (twice is enough) and shrunk by
rotations. Normal equations would square the condition: generators 1e-8 apart are singular there and
harmless here. Stopping rule: the residual is negligible, or no generator makes an acute angle with
it, which is the optimality condition; then the residual separates the target from the cone.
Whatever the updates did, the reported residual is recomputed from the multipliers, so it is
evidence by itself: a small one proves membership.

The arrays pass from one solve to the next, which may start warm. Offsets go through max(at, 0): an
index that cannot be negative lets the compiler use vector instructions.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.numerics.compiled import inlined, kernel

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

NO_RESIDUAL = 1e-12
"""A residual that needs no further work: above rounding, far below the direction tolerance."""

SMALL_RESIDUAL = 1e-3
"""A residual whose rounding, made at the size of the target, could outweigh the slopes it has."""

NO_SLOPE = 1e-12
"""Cosine between a generator and the residual that counts as none."""

DRIFT = 1e-11
"""Gap between updated and recomputed residual from which a solve is called astray."""

ENOUGH_LEFT = 0.7
"""Share of a vector that may vanish in one pass of Gram-Schmidt before a second is needed."""

FREE, USED, EXCLUDED = 0, 1, 2


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


class Generators(NamedTuple):
    """Unit generators, transposed: entry j of generator i at [j * stride + i]."""

    entries: Any
    stride: int


class Fit(NamedTuple):
    """The solve of one target in k dimensions, among up to n generators.

    residual      (k,)     target minus its projection on the span of the support
    basis         (k * k,) orthonormal vectors Q, one after the other
    triangle      (k * k,) columns of R, one after the other; generators in use = Q R
    coordinates   (k,)     target in the basis
    multipliers   (k,)     of the support, none negative
    trial         (k,)     best fit on the support, of any sign; scratch space in between
    support       (k,)     generators in use; its length is the `size` that kernels are told
    slopes        (n,)     generator . residual
    state         (n,)     FREE, USED or EXCLUDED
    """

    residual: Any
    basis: Any
    triangle: Any
    coordinates: Any
    multipliers: Any
    trial: Any
    support: Any
    slopes: Any
    state: Any


def nearest_in_cone(generators: Floats, target: Floats) -> NearestPoint:
    """The point of the cone of unit generators, (n, k), nearest to a target, (k,)."""
    n, k = generators.shape
    fit = new_fit(n, k)
    transposed = Generators(generators.ravel(order="F"), n)
    size, distance, converged = solve_nonnegative.run(n * k * k * 4, transposed, target, fit)
    order = fit.support[:size].argsort()
    return NearestPoint(
        support=fit.support[order],
        multipliers=fit.multipliers[order],
        residual=fit.residual,
        distance=float(distance),
        converged=bool(converged),
    )


def new_fit(n: int, k: int) -> Fit:
    """Room for a solve among up to n generators, none of them in use."""
    square = k * k
    return Fit(
        *(np.zeros(k), np.zeros(square), np.zeros(square), np.zeros(k), np.zeros(k), np.zeros(k)),
        *(np.zeros(k, dtype=np.int64), np.zeros(n), np.zeros(n, dtype=np.int64)),
    )


def residuals_from_others(rows: Floats) -> Floats:
    """Of each unit row, (n, k), its difference from the nearest point of the cone of the others."""
    n, k = rows.shape
    others = Generators(np.zeros((n - 1) * k), n - 1)
    residuals = np.zeros(n * k)
    leave_each_out.run(
        n * n * k * k * 4, rows.ravel(), others, np.zeros(k), new_fit(n - 1, k), residuals
    )
    return residuals.reshape(n, k)


@kernel
def leave_each_out(rows: Any, others: Generators, target: Any, fit: Fit, residuals: Any) -> None:
    """The residual of every row from the cone of the others, one after the other."""
    n, k = others.stride + 1, len(target)
    for left_out in range(n):
        for i in range(n - 1):
            fit.state[i] = FREE
            place = i if i < left_out else i + 1
            for j in range(k):
                others.entries[j * others.stride + i] = rows[place * k + j]
        for j in range(k):
            target[j] = rows[left_out * k + j]
        solve_nonnegative(others, target, fit)
        for j in range(k):
            residuals[left_out * k + j] = fit.residual[j]


@kernel
def solve_nonnegative(generators: Generators, target: Any, fit: Fit) -> tuple[int, float, bool]:
    """One cold solve: size of the support, distance, and whether it converged."""
    n = len(fit.state)
    for j in range(len(fit.residual)):
        fit.residual[j] = target[j]
    none = n - n  # a literal 0 would have every kernel below compiled twice
    size, ended = descend(generators, n, none, fit)
    distance, gap = recompute_residual(generators, target, none, size, fit)
    return size, distance, ended and gap <= DRIFT


@inlined
def project_target(targets: Any, at: int, size: int, fit: Fit) -> None:
    """Start a solve for targets[at : at + k] from the support of the last one."""
    k = len(fit.residual)
    for j in range(k):
        fit.residual[j] = targets[at + j]
    take_out(fit.basis, size, fit.residual, fit.coordinates, k - k)


@inlined
def descend(generators: Generators, n: int, size: int, fit: Fit) -> tuple[int, bool]:
    """Fit the support, then add the steepest generator until there is none; its size, and the end.

    A slope that is more than rounding belongs to a generator that can be added; if not, the basis
    has drifted and the solve ends without being done.
    """
    k = len(fit.residual)
    ended, is_fitted = False, size == 0
    for _ in range(20 * k + 100):
        if not is_fitted:
            size = retreat(size, fit)
        length = norm(fit.residual)
        ended = length <= NO_RESIDUAL or size == k
        if ended:
            break
        if length <= SMALL_RESIDUAL:
            take_out(fit.basis, size, fit.residual, fit.trial, k - k)
            for c in range(size):
                fit.coordinates[c] += fit.trial[c]
        steepest = steepest_generator(generators, n, fit)
        ended = steepest < 0 or fit.slopes[steepest] <= NO_SLOPE * length
        if ended:
            break
        if not append(generators, steepest, size, fit):
            break
        fit.coordinates[size] = fit.trial[0]
        fit.multipliers[size] = 0.0
        fit.support[size] = steepest
        fit.state[steepest] = USED
        size += 1
        is_fitted = False
    return size, ended


@inlined
def steepest_generator(generators: Generators, n: int, fit: Fit) -> int:
    """The free generator with the largest positive slope, or -1."""
    entries, residual, slopes, state = generators.entries, fit.residual, fit.slopes, fit.state
    for i in range(n):
        slopes[i] = 0.0
    for j in range(len(residual)):
        weight = residual[j]
        entry = max(j * generators.stride, 0)
        for i in range(n):
            slopes[i] += weight * entries[entry + i]
    best = -1
    largest = 0.0
    for i in range(n):
        if slopes[i] > largest and state[i] == FREE:
            largest = slopes[i]
            best = i
    return best


@inlined
def append(generators: Generators, index: int, size: int, fit: Fit) -> bool:
    """Extend basis and triangle by a generator, and take its direction out of the residual.

    False, and nothing changes, when the generator lies in the span of the support or would get no
    positive multiplier. Otherwise trial[0] is the target's new coordinate.
    """
    residual, basis, triangle, candidate = fit.residual, fit.basis, fit.triangle, fit.trial
    k = len(residual)
    new = max(size * k, 0)
    for j in range(k):
        candidate[j] = generators.entries[j * generators.stride + index]
        triangle[new + j] = 0.0
    length = 0.0
    for _ in range(2):
        take_out(basis, size, candidate, basis, new)
        for c in range(size):
            triangle[new + c] += basis[new + c]
        length = norm(candidate)
        if length > ENOUGH_LEFT:
            break
    if length <= NO_SLOPE:
        return False
    for j in range(k):
        candidate[j] /= length
    inner = 0.0
    for j in range(k):
        inner += candidate[j] * residual[j]
    if inner <= 0.0:
        return False
    for j in range(k):
        residual[j] -= inner * candidate[j]
        basis[new + j] = candidate[j]
    triangle[new + size] = length
    candidate[0] = inner
    return True


@inlined
def retreat(size: int, fit: Fit) -> int:
    """Move the multipliers to the best fit on the support; drop what reaches zero on the way."""
    multipliers, trial, support = fit.multipliers, fit.trial, fit.support
    while True:
        back_substitute(size, fit.triangle, fit.coordinates, trial)
        step = 1.0
        blocking = -1
        for c in range(size):
            if trial[c] <= 0.0:
                reach = 0.0
                if multipliers[c] > 0.0:
                    reach = multipliers[c] / (multipliers[c] - trial[c])
                if blocking < 0 or reach < step:
                    step = reach
                    blocking = c
        if blocking < 0:
            for c in range(size):
                multipliers[c] = trial[c]
            return size
        for c in range(size):
            multipliers[c] += step * (trial[c] - multipliers[c])
        fit.state[support[blocking]] = FREE
        size -= 1
        for c in range(blocking, size):
            support[c] = support[c + 1]
            multipliers[c] = multipliers[c + 1]
        drop(max(blocking, 0), size, fit)


@inlined
def back_substitute(size: int, triangle: Any, coordinates: Any, trial: Any) -> None:
    """Solve R trial = coordinates."""
    k = len(trial)
    for c in range(size):
        trial[c] = coordinates[c]
    for c in range(size - 1, -1, -1):
        value = trial[c] / triangle[c * k + c]
        trial[c] = value
        column = max(c * k, 0)
        for r in range(c):
            trial[r] -= value * triangle[column + r]


@inlined
def drop(position: int, last: int, fit: Fit) -> None:
    """Take a column out of the triangle, and give what only it explained to the residual.

    Rotations carry a unit vector, `leaving`, from its place to place `last` and out of the basis.
    """
    residual, basis, triangle = fit.residual, fit.basis, fit.triangle
    coordinates, leaving, k = fit.coordinates, fit.trial, len(fit.residual)
    for j in range(k):
        leaving[j] = basis[position * k + j]
    for c in range(position, last):
        for r in range(c + 2):
            triangle[c * k + r] = triangle[(c + 1) * k + r]
    for c in range(position, last):
        along, across = triangle[c * k + c], triangle[c * k + c + 1]
        length = math.sqrt(along * along + across * across)
        cosine, sine = along / length, across / length
        for column in range(c, last):
            at = column * k + c
            left, right = triangle[at], triangle[at + 1]
            triangle[at] = cosine * left + sine * right
            triangle[at + 1] = cosine * right - sine * left
        left, right = coordinates[c], coordinates[c + 1]
        coordinates[c] = cosine * left + sine * right
        coordinates[c + 1] = cosine * right - sine * left
        here = max(c * k, 0)
        there = here + k
        for j in range(k):
            arriving = basis[there + j]
            basis[here + j] = cosine * leaving[j] + sine * arriving
            leaving[j] = cosine * arriving - sine * leaving[j]
    for j in range(k):
        residual[j] += coordinates[last] * leaving[j]


@inlined
def recompute_residual(
    generators: Generators, targets: Any, at: int, size: int, fit: Fit
) -> tuple[float, float]:
    """The residual from the multipliers alone: its length, and how far the updated one was off."""
    entries, stride = generators.entries, generators.stride
    gap = 0.0
    for j in range(len(fit.residual)):
        value = targets[at + j]
        for c in range(size):
            value -= fit.multipliers[c] * entries[j * stride + fit.support[c]]
        gap = max(gap, abs(value - fit.residual[j]))
        fit.residual[j] = value
    return norm(fit.residual), gap


@kernel
def take_out(basis: Any, size: int, vector: Any, inner: Any, at: int) -> None:
    """Make a vector orthogonal to the first vectors of a basis; inner[at + c] is what it had of c.

    Inner products come first, all with the same vector, four sums at a time, so that none waits
    for another; each is added up in the same order as alone.
    """
    k = len(vector)
    fours = size - size % 4
    for c in range(0, fours, 4):
        here = max(c * k, 0)
        first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
        for j in range(k):
            entry = vector[j]
            first += basis[here + j] * entry
            second += basis[here + k + j] * entry
            third += basis[here + 2 * k + j] * entry
            fourth += basis[here + 3 * k + j] * entry
        inner[at + c] = first
        inner[at + c + 1] = second
        inner[at + c + 2] = third
        inner[at + c + 3] = fourth
    for c in range(fours, size):
        here = max(c * k, 0)
        total = 0.0
        for j in range(k):
            total += basis[here + j] * vector[j]
        inner[at + c] = total
    for c in range(size):
        here = max(c * k, 0)
        amount = inner[at + c]
        for j in range(k):
            vector[j] -= amount * basis[here + j]


@kernel
def norm(values: Any) -> float:
    """Euclidean length."""
    total = 0.0
    for j in range(len(values)):
        total += values[j] * values[j]
    return math.sqrt(total)
