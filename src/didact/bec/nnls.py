"""The point of a cone nearest to a target: min |sum_i x_i g_i - target| over x >= 0.

Lawson and Hanson's active set method on unit generators g_i. The generators in use are kept as an
orthonormal basis Q and a triangle R, extended by Gram-Schmidt (twice, which is enough) and shrunk by
rotations. Normal equations would square the condition: generators 1e-8 apart are singular there and
harmless here. Stopping rule: the residual is negligible, or no generator makes an acute angle with
it, which is the optimality condition; then the residual separates the target from the cone. Whatever
the updates did, the reported residual is recomputed from the multipliers, so it is evidence by
itself: a small one proves membership.

The kernels keep generators transposed, entry j of generator i at [j * stride + i], so that all slopes
are one pass over contiguous numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.numerics.kernels import kernel

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

NO_RESIDUAL = 1e-12
"""A residual that needs no further work: above rounding, far below the direction tolerance."""

NO_SLOPE = 1e-12
"""Cosine between a generator and the residual that counts as none."""

ENOUGH_LEFT = 0.7
"""Share of a generator outside a span from which one pass of Gram-Schmidt loses no digit that counts."""

DRIFT = 1e-11
"""Largest gap that rounding may open, in a residual or a slope, before a solve is called astray."""

FREE, USED, BARRED, EXCLUDED = 0, 1, 2, 3


class Workspace(NamedTuple):
    """Arrays of one solve; the state of one solve is the warm start of the next."""

    residual: Any
    """(k,) target minus its projection on the span of the support."""
    basis: Any
    """(k * k,) orthonormal vectors Q, one after the other."""
    triangle: Any
    """(k * k,) columns of R, one after the other; generators in use = Q R."""
    candidate: Any
    """(k,) generator that is being added."""
    coordinates: Any
    """(k,) target in the basis."""
    multipliers: Any
    """(k,) of the support, all positive."""
    trial: Any
    """(k,) multipliers that fit best on the support, of any sign."""
    support: Any
    """(k,) generators in use."""
    slopes: Any
    """(n,) generator . residual."""
    state: Any
    """(n,) FREE, USED, BARRED (for this step) or EXCLUDED (for this solve) generators."""


def workspace_arrays(n_generators: int, k: int) -> tuple[Floats | Indices, ...]:
    """Fresh arrays in the order of `Workspace`, for up to `n_generators` generators."""
    return (
        *(np.zeros(k), np.zeros(k * k), np.zeros(k * k)),
        *(np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(k)),
        *(np.zeros(k, dtype=np.int64), np.zeros(n_generators)),
        np.zeros(n_generators, dtype=np.int64),
    )


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
    arrays = workspace_arrays(n, k)
    size, distance, converged = solve_nonnegative.run(
        n * k * k * 4, np.ascontiguousarray(generators.T).ravel(), n, k, target, *arrays
    )
    work = Workspace(*arrays)
    order = np.argsort(work.support[:size])
    return NearestPoint(
        support=work.support[:size][order],
        multipliers=work.multipliers[:size][order],
        residual=work.residual,
        distance=float(distance),
        converged=bool(converged),
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
    candidate: Any,
    coordinates: Any,
    multipliers: Any,
    trial: Any,
    support: Any,
    slopes: Any,
    state: Any,
) -> tuple[int, float, bool]:
    """One cold solve: size of the support, distance, and whether it converged."""
    work = Workspace(
        residual,
        basis,
        triangle,
        candidate,
        coordinates,
        multipliers,
        trial,
        support,
        slopes,
        state,
    )
    refit(target, 0, k, 0, work)
    size, converged = descend(generators, n, n, k, 0, work)
    distance, is_true = recompute_residual(generators, n, k, target, 0, size, work)
    return size, distance, converged and is_true


@kernel
def refit(targets: Any, at: int, k: int, size: int, work: Any) -> int:
    """Start a solve for targets[at : at + k] from the support of the last one; its new size."""
    residual, basis, coordinates = work.residual, work.basis, work.coordinates
    for j in range(k):
        residual[j] = targets[at + j]
    for c in range(size):
        coordinates[c] = 0.0
    for _ in range(2):
        for c in range(size):
            direction = basis[c * k : c * k + k]
            coordinates[c] += take_out(direction, residual, k)
    return retreat(k, size, work)


@kernel
def descend(generators: Any, stride: int, n: int, k: int, size: int, work: Any) -> tuple[int, bool]:
    """Add the steepest generator until none is left; the size of the support, and whether it ended.

    A generator that would get no positive multiplier has a slope made of rounding: it is barred
    until the next one is added. If its slope is more than that, the basis has drifted.
    """
    ended, any_barred = False, False
    for _ in range(20 * k + 100):
        length = norm(work.residual, k)
        ended = length <= NO_RESIDUAL or size == k
        if ended:
            break
        steepest = steepest_generator(generators, stride, n, k, work)
        ended = steepest < 0 or work.slopes[steepest] <= NO_SLOPE * length
        if ended:
            break
        if append(generators, stride, steepest, k, size, work):
            size = retreat(k, size + 1, work)
            if any_barred:
                release(n, work.state)
                any_barred = False
        elif work.slopes[steepest] <= DRIFT:
            work.state[steepest] = BARRED
            any_barred = True
        else:
            break
    if any_barred:
        release(n, work.state)
    return size, ended


@kernel
def release(n: int, state: Any) -> None:
    """Let barred generators try again."""
    for i in range(n):
        if state[i] == BARRED:
            state[i] = FREE


@kernel
def steepest_generator(generators: Any, stride: int, n: int, k: int, work: Any) -> int:
    """The free generator with the largest positive slope, or -1."""
    slopes, state = work.slopes, work.state
    for i in range(n):
        slopes[i] = 0.0
    for j in range(k):
        weight = work.residual[j]
        column = generators[j * stride : j * stride + n]
        for i in range(n):
            slopes[i] += weight * column[i]
    best = -1
    largest = 0.0
    for i in range(n):
        if slopes[i] > largest and state[i] == FREE:
            largest = slopes[i]
            best = i
    return best


@kernel
def append(generators: Any, stride: int, index: int, k: int, size: int, work: Any) -> bool:
    """Extend basis and triangle by a generator, and take its direction out of the residual.

    False, and nothing changes, when the generator lies in the span of the support or would get no
    positive multiplier (inner / length).
    """
    basis, triangle, candidate = work.basis, work.triangle, work.candidate
    new = size * k
    for j in range(k):
        candidate[j] = generators[j * stride + index]
        triangle[new + j] = 0.0
    length = 0.0
    for _ in range(2):
        for c in range(size):
            direction = basis[c * k : c * k + k]
            triangle[new + c] += take_out(direction, candidate, k)
        length = norm(candidate, k)
        if length > ENOUGH_LEFT:
            break
    if length <= NO_SLOPE:
        return False
    inner = 0.0
    for j in range(k):
        candidate[j] /= length
        inner += candidate[j] * work.residual[j]
    if inner <= 0.0:
        return False
    for j in range(k):
        work.residual[j] -= inner * candidate[j]
        basis[new + j] = candidate[j]
    triangle[new + size] = length
    work.coordinates[size] = inner
    work.multipliers[size] = 0.0
    work.support[size] = index
    work.state[index] = USED
    return True


@kernel
def drop(position: int, k: int, size: int, work: Any) -> None:
    """Take one generator out of the support, and give what only it explained to the residual."""
    basis, triangle, coordinates = work.basis, work.triangle, work.coordinates
    leaving, rotated = work.candidate, work.trial
    work.state[work.support[position]] = FREE
    last = size - 1
    for j in range(k):
        leaving[j] = basis[position * k + j]
    for c in range(position, last):
        work.support[c] = work.support[c + 1]
        work.multipliers[c] = work.multipliers[c + 1]
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
        arriving = basis[(c + 1) * k : (c + 2) * k]
        for j in range(k):
            rotated[j] = cosine * leaving[j] + sine * arriving[j]
            leaving[j] = cosine * arriving[j] - sine * leaving[j]
        for j in range(k):
            basis[c * k + j] = rotated[j]
    for j in range(k):
        work.residual[j] += coordinates[last] * leaving[j]


@kernel
def back_substitute(k: int, size: int, work: Any) -> None:
    """Solve R trial = coordinates."""
    triangle, trial = work.triangle, work.trial
    for c in range(size):
        trial[c] = work.coordinates[c]
    for c in range(size - 1, -1, -1):
        value = trial[c] / triangle[c * k + c]
        trial[c] = value
        column = triangle[c * k : c * k + c]
        for r in range(c):
            trial[r] -= value * column[r]


@kernel
def retreat(k: int, size: int, work: Any) -> int:
    """Move the multipliers to the best fit on the support, dropping what reaches zero on the way."""
    multipliers, trial = work.multipliers, work.trial
    while True:
        back_substitute(k, size, work)
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
        drop(blocking, k, size, work)
        size -= 1


@kernel
def recompute_residual(
    generators: Any, stride: int, k: int, targets: Any, at: int, size: int, work: Any
) -> tuple[float, bool]:
    """Residual from the multipliers alone: its length, and whether the updated one agreed."""
    residual = work.residual
    gap = 0.0
    total = 0.0
    for j in range(k):
        value = targets[at + j]
        for c in range(size):
            value -= work.multipliers[c] * generators[j * stride + work.support[c]]
        gap = max(gap, abs(value - residual[j]))
        residual[j] = value
        total += value * value
    return math.sqrt(total), gap <= DRIFT


@kernel
def take_out(direction: Any, vector: Any, k: int) -> float:
    """Make a vector orthogonal to a unit direction; what it had along it."""
    inner = 0.0
    for j in range(k):
        inner += direction[j] * vector[j]
    for j in range(k):
        vector[j] -= inner * direction[j]
    return inner


@kernel
def norm(values: Any, k: int) -> float:
    """Euclidean length of the first k numbers."""
    total = 0.0
    for j in range(k):
        total += values[j] * values[j]
    return math.sqrt(total)
