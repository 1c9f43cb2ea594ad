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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from didact.errors import InvalidParameter
from didact.inputs import as_float, choice, is_number, is_whole, shown, whole_number
from didact.numerics.exact import Floats
from didact.teaching.covers.problem import Picks, Problem

Region = Literal["box", "sphere"]

BLOCK_NUMBERS = 2**19
"""Coordinates drawn at a time; the points do not depend on it."""
STORED_NUMBERS = 2**23
"""Coordinates of points alive that are kept between steps, 64 MiB; more are drawn anew."""
MAX_SAMPLES = 10**9
"""More would take minutes to hours, and no estimate needs them."""


@dataclass(frozen=True)
class VolumePicks:
    """Candidates in the order picked, and G before the first pick (1.0) and after each.

    stopped_by: 'no gain' (no candidate lowers G, the paper's stop), 'threshold' or 'budget'.
    n_passes: how often all points were drawn.
    """

    picks: tuple[int, ...]
    volumes: tuple[float, ...]
    stopped_by: Literal["no gain", "threshold", "budget"]
    n_passes: int


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
    found = minimise_volume(
        problem.bec.rows.normals,
        [members[first:last] for first, last in pairwise(offsets.tolist())],
        n_samples=n_samples,
        rng=rng,
        region=region,
        threshold=threshold,
        budget=problem.budget,
    )
    return Picks(found.picks, volumes=found.volumes)


def minimise_volume(
    normals: ArrayLike,
    stated: Sequence[Sequence[int] | NDArray[np.int64]],
    *,
    n_samples: int,
    rng: np.random.Generator,
    region: Region = "box",
    threshold: float = 0.0,
    budget: int | None = None,
) -> VolumePicks:
    """Pick candidates that leave the least volume, one at a time; ties go to the lowest number.

    normals: (m, k). stated: the rows of each candidate. Stops when no candidate lowers G, when
    G <= threshold, or after `budget` picks. The points are those of `default_rng(words)` for four
    64-bit words taken from `rng`, point by point, whatever the block size.
    """
    _require_settings(region, n_samples, threshold, budget)
    words = rng.integers(0, 2**64, size=4, dtype=np.uint64).tolist()
    used, places = np.unique(np.concatenate([[], *stated]).astype(int), return_inverse=True)
    rows = np.asarray(normals, dtype=np.float64)[used]
    # Powers of two near the largest entry keep signs, and no product overflows or vanishes.
    exponents = np.frexp(np.abs(rows).max(axis=1, initial=0.0))[1]
    rows = np.ldexp(rows, -exponents[:, None])
    own = np.split(places, np.cumsum([len(found) for found in stated])[:-1])
    capacity = STORED_NUMBERS // max(1, rows.shape[1])
    picks: list[int] = []
    volumes, n_passes = [1.0], 0
    stored: list[Floats] | None = None  # the points alive, once they fit into memory
    alive: list[Floats] | None
    while True:
        stopped_by = _stop(volumes[-1], threshold, len(picks), budget)
        if stopped_by or not len(used):
            break
        gains, alive, n_passes = np.zeros(len(own), dtype=int), [], n_passes + (stored is None)
        for points in (
            _blocks(words, n_samples, rows.shape[1], region) if stored is None else stored
        ):
            outside = _outside(points, rows)
            # Points kept from the step before have already left all picks but the last.
            left = ~outside[np.concatenate([[], *(own[p] for p in picks)]).astype(int)].any(axis=0)
            gains += _removed(outside[:, left], own)
            if alive is not None:
                alive.append(points[:, left])
                is_too_much = sum(kept.shape[1] for kept in alive) > capacity
                alive = None if is_too_much else alive
        stored = alive
        best = int(np.argmax(gains))
        if not gains[best]:
            break
        picks.append(best)
        volumes.append((round(volumes[-1] * n_samples) - int(gains[best])) / n_samples)
    return VolumePicks(tuple(picks), tuple(volumes), stopped_by or "no gain", n_passes)


def _stop(
    volume: float, threshold: float, n_picks: int, budget: int | None
) -> Literal["threshold", "budget"] | None:
    if volume <= threshold:
        return "threshold"
    return "budget" if budget is not None and n_picks >= budget else None


def _blocks(words: Sequence[int], n_samples: int, k: int, region: Region) -> Iterator[Floats]:
    """The points in order, (k, size) at a time: memory does not grow with their number."""
    rng, size = np.random.default_rng(words), max(1, BLOCK_NUMBERS // k)
    for start in range(0, n_samples, size):
        shape = (min(size, n_samples - start), k)
        is_sphere = region == "sphere"
        drawn = rng.standard_normal(shape) if is_sphere else 2.0 * rng.random(shape) - 1.0
        yield np.ascontiguousarray(drawn.T)


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


def _require_settings(region: str, n_samples: int, threshold: float, budget: int | None) -> None:
    choice(region, "region", get_args(Region))
    whole_number(n_samples, "n_samples", 1, MAX_SAMPLES)
    if not 0.0 <= as_float(threshold) <= 1.0:
        raise InvalidParameter(f"threshold must lie between 0 and 1; it is {shown(threshold)}")
    if budget is not None and (not is_whole(budget) or budget < 0):
        raise InvalidParameter(
            f"budget must be None or a whole number, at least 0; it is {shown(budget)}"
        )
