"""UVM, Uncertainty Volume Minimization (Algorithm 3; Cakmak and Lopes 2012): the older teacher.

G(D) is the share of n random weights, uniform in the box [-1, 1]^k or on the sphere, that satisfy
every half-space stated by the picked candidates D: an estimate of the volume of the class of D.
Each step picks the candidate that leaves the smallest G, and it stops when none lowers G.

A point w satisfies a row r when r.w >= 0, with the products added from the first coordinate to the
last in double precision, so that a row and its negative split the points exactly: picks that state
both leave nothing, and G = 0 says that all is known although a whole hyperplane of weights remains.
That false certainty is the algorithm's, and it is kept; whether the lesson is complete is decided
by the proof, not by the volume.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from didact.errors import InvalidParameter
from didact.inputs import as_float, choice, is_number, shown, whole_number
from didact.numerics.exact import Floats
from didact.planning.batch import require_memory
from didact.teaching.covers.problem import Picks, Problem

Region = Literal["box", "sphere"]

BLOCK_NUMBERS = 2**19
"""Coordinates that are compared with all rows at a time; the points do not depend on it."""


def minimise_uncertainty(
    problem: Problem,
    rng: np.random.Generator,
    n_samples: int = 100_000,
    threshold: float = 0.0,
    region: Region = "box",
) -> Picks:
    """The appendix's algorithm with n_samples points of the box [-1,1]^k or of the sphere."""
    if not is_number(threshold):
        raise InvalidParameter(f"threshold must be a number; it is {shown(threshold)}")
    offsets, members = problem.stated
    return minimise_volume(
        problem.bec.rows.normals,
        [members[first:last] for first, last in pairwise(offsets.tolist())],
        n_samples=n_samples,
        rng=rng,
        region=region,
        threshold=threshold,
        budget=problem.budget,
    )


def minimise_volume(
    normals: ArrayLike,
    stated: Sequence[Sequence[int] | NDArray[np.int64]],
    *,
    n_samples: int,
    rng: np.random.Generator,
    region: Region = "box",
    threshold: float = 0.0,
    budget: int | None = None,
) -> Picks:
    """Pick candidates that leave the least volume, one at a time; ties go to the lowest number.

    normals: (m, k). stated: the rows of each candidate. Stops when no candidate lowers G, when
    G <= threshold, or after `budget` picks. The points are those of `default_rng(words)` for four
    64-bit words taken from `rng`, point by point, whatever the block size.
    """
    choice(region, "region", get_args(Region))
    whole_number(n_samples, "n_samples", 1)
    if not 0.0 <= as_float(threshold) <= 1.0:
        raise InvalidParameter(f"threshold must lie between 0 and 1; it is {shown(threshold)}")
    words = rng.integers(0, 2**64, size=4, dtype=np.uint64).tolist()
    used, places = np.unique(np.concatenate([[], *stated]).astype(int), return_inverse=True)
    rows = np.asarray(normals, dtype=np.float64)[used]
    # Powers of two near the largest entry keep signs, and no product overflows or vanishes.
    exponents = np.frexp(np.abs(rows).max(axis=1, initial=0.0))[1]
    rows = np.ldexp(rows, -exponents[:, None])
    own = np.split(places, np.cumsum([len(found) for found in stated])[:-1])
    alive = _blocks(words, n_samples, rows.shape[1], region) if len(used) else []
    picks: list[int] = []
    volumes = [1.0]
    while alive and volumes[-1] > threshold and len(picks) != budget:
        outside = [_outside(points, rows) for points in alive]
        gains = np.sum([_removed(out, own) for out in outside], axis=0)
        best = int(np.argmax(gains))
        if not gains[best]:
            break
        picks.append(best)
        volumes.append((round(volumes[-1] * n_samples) - int(gains[best])) / n_samples)
        left = [~out[own[best]].any(axis=0) for out in outside]
        alive = [points[:, kept] for points, kept in zip(alive, left, strict=True)]
    return Picks(tuple(picks), volumes=tuple(volumes))


def _blocks(words: Sequence[int], n_samples: int, k: int, region: Region) -> list[Floats]:
    """The points in order, (k, size) in each block."""
    require_memory(n_samples * k, "points", n_samples)
    rng, size = np.random.default_rng(words), max(1, BLOCK_NUMBERS // k)
    blocks = []
    for start in range(0, n_samples, size):
        shape = (min(size, n_samples - start), k)
        is_sphere = region == "sphere"
        drawn = rng.standard_normal(shape) if is_sphere else 2.0 * rng.random(shape) - 1.0
        blocks.append(np.ascontiguousarray(drawn.T))
    return blocks


def _outside(points: Floats, rows: Floats) -> NDArray[np.bool_]:
    """Which points (k, n) violate which rows (m, k): (m, n); zeros of a row change no sum."""
    outside = np.empty((len(rows), points.shape[1]), dtype=np.bool_)
    for row, is_outside in zip(rows, outside, strict=True):
        products = np.zeros(points.shape[1])
        for coordinate in np.flatnonzero(row):
            products += row[coordinate] * points[coordinate]
        np.less(products, 0.0, out=is_outside)
    return outside


def _removed(outside: NDArray[np.bool_], stated: Sequence[NDArray[np.int64]]) -> list[int]:
    """How many points each candidate excludes: unions of bits, eight points to a byte."""
    bits = np.packbits(outside, axis=1)
    return [int(np.bitwise_count(np.bitwise_or.reduce(bits[own])).sum()) for own in stated]
