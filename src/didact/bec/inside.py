"""Points drawn evenly inside a cone, however thin it is.

They come from hit-and-run on a standard Gaussian kept to the cone. Its direction is uniform on the
cone's part of the sphere and independent of its length, so the length is drawn anew at each step,
and a step only has to mix directions. Where the cone is wide, whole draws are kept or not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from didact.bec.similarity import scaled_rows, unit_normals
from didact.bec.volume import ZERO_LENGTH, Floats, kept_points
from didact.errors import InvalidParameter

PILOT = 8192
SMALLEST_REJECTION_SHARE = 0.01
"""Thinner cones are sampled by hit-and-run; in others every point is an independent draw."""

CHAINS = 256
BURN_IN_STAGES = 12
STEPS_PER_DIMENSION = 10
"""A stage of the burn-in is this many steps for each dimension; between draws it is half."""

_OFF_SUBSPACE = 1e-9
_NARROW = 1e-6


def sample_inside(
    rows: ArrayLike,
    *,
    n_samples: int,
    rng: np.random.Generator,
    inside: ArrayLike,
    equalities: ArrayLike | None = None,
) -> Floats:
    """Unit vectors drawn evenly from the cone {rows.w >= 0, equalities.w = 0}, shape (n, k).

    Uniform on the cone's part of the unit sphere of the subspace of the equalities. `inside` (k,)
    is a point of that subspace where every other row is strictly positive. Cones that keep over a
    hundredth of the sphere give independent points. Thinner ones are sampled by at least 256
    hit-and-run chains that start at `inside`; their burn-in is 13 stages of 10 steps a dimension,
    the first 12 of which adapt the directions to the shape of the cone; draws of one chain lie 5
    steps a dimension apart.
    """
    if n_samples < 1:
        raise InvalidParameter(f"n_samples must be at least 1; it is {n_samples}")
    scaled, start = scaled_rows(rows), unit_normals(np.asarray(inside)[None], "inside")[0]
    if scaled.shape[1] != len(start):
        raise InvalidParameter(
            f"inside must have {scaled.shape[1]} entries, as the rows; it has {len(start)}"
        )
    subspace = _null_space(equalities, len(start))
    walls, start = _walls_in(subspace, scaled, start)
    points = _by_rejection(walls, n_samples, rng)
    if points is None:
        points = _by_hit_and_run(walls, start, n_samples, rng)
    return unit_normals(points @ subspace.T)


def _null_space(equalities: ArrayLike | None, dimensions: int) -> Floats:
    """An orthonormal basis of {w : equalities.w = 0}, in columns."""
    if equalities is None or np.size(equalities) == 0:
        return np.eye(dimensions)
    scaled = scaled_rows(equalities, "equalities")
    if scaled.shape[1] != dimensions:
        raise InvalidParameter(
            f"equalities must have {dimensions} columns, as the rows; they have {scaled.shape[1]}"
        )
    _, strengths, directions = np.linalg.svd(scaled)
    smallest = strengths[0] * max(scaled.shape) * np.finfo(np.float64).eps
    return directions[int((strengths > smallest).sum()) :].T


def _walls_in(subspace: Floats, rows: Floats, start: Floats) -> tuple[Floats, Floats]:
    """The rows and the start in coordinates of the subspace; rows that vanish there go."""
    inner = start @ subspace
    if np.linalg.norm(start - subspace @ inner) > _OFF_SUBSPACE:
        raise InvalidParameter("inside must satisfy the equalities; it does not")
    walls = rows @ subspace
    lengths = np.linalg.norm(walls, axis=1)
    present = lengths > ZERO_LENGTH
    walls = walls[present] / lengths[present, None]
    outside = np.flatnonzero(present)[walls @ inner <= 0.0]
    if len(outside):
        raise InvalidParameter(
            f"inside must be strictly inside every half-space; rows[{outside[0]}] is not "
            "positive there. Pass opposite rows as equalities"
        )
    return walls, inner


def _by_rejection(walls: Floats, n_samples: int, rng: np.random.Generator) -> Floats | None:
    """Independent Gaussian points of the cone, or None when too few of a pilot fall inside."""
    shape = (PILOT, walls.shape[1])
    kept = [kept_points(rng.standard_normal(shape), walls)]
    if len(kept[0]) < PILOT * SMALLEST_REJECTION_SHARE:
        return None
    while sum(map(len, kept)) < n_samples:
        kept.append(kept_points(rng.standard_normal(shape), walls))
    return np.concatenate(kept)[:n_samples]


def _by_hit_and_run(
    walls: Floats, start: Floats, n_samples: int, rng: np.random.Generator
) -> Floats:
    """Gaussian points of the cone from parallel chains, the same number of draws from each."""
    dimensions = len(start)
    stage = STEPS_PER_DIMENSION * dimensions
    points = np.tile(start, (max(CHAINS, 8 * dimensions), 1))
    shape = np.eye(dimensions)
    for _ in range(BURN_IN_STAGES):
        points = _walk(points, walls, shape, stage, rng)
        shape = _shape_of(points)
    points = _walk(points, walls, shape, stage, rng)
    draws = [points]
    while sum(map(len, draws)) < n_samples:
        points = _walk(points, walls, shape, stage // 2, rng)
        draws.append(points)
    return np.concatenate(draws)[:n_samples]


def _shape_of(points: Floats) -> Floats:
    """A matrix that turns a standard Gaussian into one as elongated as the points are."""
    _, widths, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    shape: Floats = axes.T * np.maximum(widths, widths[0] * 1e-14)
    return shape


def _walk(
    points: Floats, walls: Floats, shape: Floats, n_steps: int, rng: np.random.Generator
) -> Floats:
    """The chains after so many steps: a random chord, a Gaussian point on it, a new length."""
    n_chains, dimensions = points.shape
    for _ in range(n_steps):
        directions = rng.standard_normal((n_chains, dimensions)) @ shape.T
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        low, high = _chords(points, directions, walls)
        middle = -(points * directions).sum(axis=1)
        steps = middle + _truncated_normal(low - middle, high - middle, rng.random((n_chains,)))
        moved = points + np.clip(steps, low, high)[:, None] * directions
        still_inside = (moved @ walls.T > 0.0).all(axis=1)
        points = np.where(still_inside[:, None], moved, points)
        lengths = np.sqrt(rng.chisquare(dimensions, n_chains))
        points *= (lengths / np.linalg.norm(points, axis=1))[:, None]
    return points


def _chords(points: Floats, directions: Floats, walls: Floats) -> tuple[Floats, Floats]:
    """How far each point may go back and forth along its direction before it meets a wall."""
    heights, slopes = points @ walls.T, directions @ walls.T
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        meets = -heights / slopes
    low = np.where(slopes > 0.0, meets, -np.inf).max(axis=1)
    high = np.where(slopes < 0.0, meets, np.inf).min(axis=1)
    return low, high


def _truncated_normal(low: Floats, high: Floats, uniform: Floats) -> Floats:
    """Standard normal draws kept to [low, high], by inverting the distribution in logarithms.

    Intervals on the right are mirrored, where the tail keeps its digits; on an interval shorter
    than 1e-6 the density is as good as constant.
    """
    from scipy.special import log_ndtr, ndtri_exp

    with np.errstate(invalid="ignore"):
        mirrored = low + high > 0.0
    left, right = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    uniform = np.clip(uniform, 2.0**-53, 1.0 - 2.0**-53)
    below = log_ndtr(right)
    mass = -np.expm1(log_ndtr(left) - below)
    draws = ndtri_exp(below + np.log1p(-(1.0 - uniform) * mass))
    narrow = right - left < _NARROW
    draws[narrow] = left[narrow] + uniform[narrow] * (right - left)[narrow]
    kept: Floats = np.where(mirrored, -draws, draws)
    return kept
