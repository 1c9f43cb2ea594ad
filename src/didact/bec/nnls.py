"""The point of a cone nearest to a target: min |sum_i x_i g_i - target| over x >= 0.

Lawson and Hanson's active set method on unit generators g_i. The generators in use are kept as an
orthonormal basis Q and a triangle R, extended by Gram-Schmidt (twice is enough) and shrunk by
rotations. Normal equations would square the condition: generators 1e-8 apart are singular there and
harmless here. Stopping rule: the residual is negligible, or no generator makes an acute angle with
it, which is the optimality condition; then the residual separates the target from the cone.
Whatever the updates did, the reported residual is recomputed from the multipliers, so it is
evidence by itself: a small one proves membership.

Arrays of the kernels, for n generators in k dimensions:
  generators    (k * stride,)  transposed, entry j of generator i at [j * stride + i]
  residual      (k,)           target minus its projection on the span of the support
  basis         (k * k,)       orthonormal vectors Q, one after the other
  triangle      (k * k,)       columns of R, one after the other; generators in use = Q R
  coordinates   (k,)           target in the basis
  multipliers   (k,)           of the support, none negative
  trial         (k,)           best fit on the support, of any sign; scratch space in between
  support       (k,)           generators in use; its length is `size`
  slopes        (n,)           generator . residual
  state         (n,)           FREE, USED or EXCLUDED
They pass from one solve to the next, which may start warm. Offsets go through max(at, 0): an index
that cannot be negative lets the compiler use vector instructions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.numerics.compiled import kernel

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


@dataclass(frozen=True)
class NearestPoint:
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


def nearest_in_cone(generators: Floats, target: Floats) -> NearestPoint:
    """The point of the cone of unit generators, (n, k), nearest to a target, (k,)."""
    n, k = generators.shape
    arrays = workspace(n, k)
    size, distance, converged = solve_nonnegative.run(
        n * k * k * 4, np.ascontiguousarray(generators.T).ravel(), n, k, target, *arrays
    )
    residual, _, _, _, multipliers, _, support, _, _ = arrays
    order = np.argsort(support[:size])
    return NearestPoint(
        support=support[order],
        multipliers=multipliers[order],
        residual=residual,
        distance=float(distance),
        converged=bool(converged),
    )


def workspace(n: int, k: int) -> tuple[NDArray[Any], ...]:
    """Fresh arrays for up to n generators: residual, basis, triangle ... state, in that order."""
    square = k * k
    return (
        *(np.zeros(k), np.zeros(square), np.zeros(square), np.zeros(k), np.zeros(k), np.zeros(k)),
        *(np.zeros(k, dtype=np.int64), np.zeros(n), np.zeros(n, dtype=np.int64)),
    )


@kernel
def solve_nonnegative(
    generators: Any,
    n: int,
    k: int,
    target: Any,
    residual: Any,
    basis: Any,
    triangle: Any,
    coordinates: Any,
    multipliers: Any,
    trial: Any,
    support: Any,
    slopes: Any,
    state: Any,
) -> tuple[int, float, bool]:
    """One cold solve: size of the support, distance, and whether it converged."""
    for j in range(k):
        residual[j] = target[j]
    none = n - n  # a literal 0 would have every kernel below compiled twice
    # fmt: off
    size, ended = descend(
        generators, n, n, k, none, residual, basis, triangle, coordinates, multipliers, trial,
        support, slopes, state,
    )
    # fmt: on
    distance, gap = recompute_residual(
        generators, n, k, target, none, size, residual, multipliers, support
    )
    return size, distance, ended and gap <= DRIFT


@kernel
def project_target(
    targets: Any, at: int, k: int, size: int, residual: Any, basis: Any, coordinates: Any
) -> None:
    """Start a solve for targets[at : at + k] from the support of the last one."""
    for j in range(k):
        residual[j] = targets[at + j]
    take_out(basis, size, k, residual, coordinates, k - k)


@kernel
def descend(
    generators: Any,
    stride: int,
    n: int,
    k: int,
    size: int,
    residual: Any,
    basis: Any,
    triangle: Any,
    coordinates: Any,
    multipliers: Any,
    trial: Any,
    support: Any,
    slopes: Any,
    state: Any,
) -> tuple[int, bool]:
    """Fit the support, then add the steepest generator until there is none; its size, and the end.

    A slope that is more than rounding belongs to a generator that can be added; if not, the basis
    has drifted and the solve ends without being done.
    """
    ended, is_fitted = False, size == 0
    for _ in range(20 * k + 100):
        if not is_fitted:
            # fmt: off
            size = retreat(
                k, size, residual, basis, triangle, coordinates, multipliers, trial, support, state
            )
            # fmt: on
        length = norm(residual, k)
        ended = length <= NO_RESIDUAL or size == k
        if ended:
            break
        if length <= SMALL_RESIDUAL:
            take_out(basis, size, k, residual, trial, k - k)
            for c in range(size):
                coordinates[c] += trial[c]
        steepest = steepest_generator(generators, stride, n, k, residual, slopes, state)
        ended = steepest < 0 or slopes[steepest] <= NO_SLOPE * length
        if ended:
            break
        if not append(generators, stride, steepest, k, size, residual, basis, triangle, trial):
            break
        coordinates[size] = trial[0]
        multipliers[size] = 0.0
        support[size] = steepest
        state[steepest] = USED
        size += 1
        is_fitted = False
    return size, ended


@kernel
def steepest_generator(
    generators: Any, stride: int, n: int, k: int, residual: Any, slopes: Any, state: Any
) -> int:
    """The free generator with the largest positive slope, or -1."""
    for i in range(n):
        slopes[i] = 0.0
    for j in range(k):
        weight = residual[j]
        entry = max(j * stride, 0)
        for i in range(n):
            slopes[i] += weight * generators[entry + i]
    best = -1
    largest = 0.0
    for i in range(n):
        if slopes[i] > largest and state[i] == FREE:
            largest = slopes[i]
            best = i
    return best


@kernel
def append(
    generators: Any,
    stride: int,
    index: int,
    k: int,
    size: int,
    residual: Any,
    basis: Any,
    triangle: Any,
    candidate: Any,
) -> bool:
    """Extend basis and triangle by a generator, and take its direction out of the residual.

    False, and nothing changes, when the generator lies in the span of the support or would get no
    positive multiplier. Otherwise candidate[0] is the target's new coordinate.
    """
    new = max(size * k, 0)
    for j in range(k):
        candidate[j] = generators[j * stride + index]
        triangle[new + j] = 0.0
    length = 0.0
    for _ in range(2):
        take_out(basis, size, k, candidate, basis, new)
        for c in range(size):
            triangle[new + c] += basis[new + c]
        length = norm(candidate, k)
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


@kernel
def retreat(
    k: int,
    size: int,
    residual: Any,
    basis: Any,
    triangle: Any,
    coordinates: Any,
    multipliers: Any,
    trial: Any,
    support: Any,
    state: Any,
) -> int:
    """Move the multipliers to the best fit on the support; drop what reaches zero on the way."""
    while True:
        back_substitute(k, size, triangle, coordinates, trial)
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
        state[support[blocking]] = FREE
        size -= 1
        for c in range(blocking, size):
            support[c] = support[c + 1]
            multipliers[c] = multipliers[c + 1]
        drop(blocking, k, size, residual, basis, triangle, coordinates, trial)


@kernel
def back_substitute(k: int, size: int, triangle: Any, coordinates: Any, trial: Any) -> None:
    """Solve R trial = coordinates."""
    for c in range(size):
        trial[c] = coordinates[c]
    for c in range(size - 1, -1, -1):
        value = trial[c] / triangle[c * k + c]
        trial[c] = value
        column = max(c * k, 0)
        for r in range(c):
            trial[r] -= value * triangle[column + r]


@kernel
def drop(
    position: int,
    k: int,
    last: int,
    residual: Any,
    basis: Any,
    triangle: Any,
    coordinates: Any,
    leaving: Any,
) -> None:
    """Take a column out of the triangle, and give what only it explained to the residual.

    Rotations carry a unit vector, `leaving`, from its place to place `last` and out of the basis.
    """
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


@kernel
def recompute_residual(
    generators: Any,
    stride: int,
    k: int,
    targets: Any,
    at: int,
    size: int,
    residual: Any,
    multipliers: Any,
    support: Any,
) -> tuple[float, float]:
    """The residual from the multipliers alone: its length, and how far the updated one was off."""
    gap = 0.0
    for j in range(k):
        value = targets[at + j]
        for c in range(size):
            value -= multipliers[c] * generators[j * stride + support[c]]
        gap = max(gap, abs(value - residual[j]))
        residual[j] = value
    return norm(residual, k), gap


@kernel
def take_out(basis: Any, size: int, k: int, vector: Any, inner: Any, at: int) -> None:
    """Make a vector orthogonal to the first vectors of a basis; inner[at + c] is what it had of c.

    Inner products come first, all with the same vector, four sums at a time, so that none waits
    for another; each is added up in the same order as alone.
    """
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
def norm(values: Any, k: int) -> float:
    """Euclidean length of the first k numbers."""
    total = 0.0
    for j in range(k):
        total += values[j] * values[j]
    return math.sqrt(total)
