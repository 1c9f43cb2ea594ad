"""How much of weight space a cone keeps: the oracle for volumes that UVM estimates.

The cone is {w : rows.w >= 0}; its volume is its share of the box [-1, 1]^k, as in the paper, or of
the sphere (the solid angle). The two differ in general. They agree on cones that symmetries of the
box tile space with, such as w1 >= ... >= wk: a signed permutation keeps both measures.

Up to three dimensions the share is exact up to rounding (below 1e-14). Both regions are cut into
pyramids from the origin over the faces of the box, so a cone is clipped on each face and what is
left counts by its area (box) or by the angle it fills (sphere). Dimensions that the rows do not
touch do not count: columns without entries in the box, the complement of the row space on the
sphere. Above that the share is estimated by counting points, with a Clopper-Pearson interval,
which covers the true share at least as often as it says for every share and sample size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from didact.bec.directions import scaled_rows
from didact.errors import InvalidParameter
from didact.inputs import choice
from didact.numerics.geometry import cut
from didact.numerics.intervals import binomial_interval

Floats = NDArray[np.float64]
Region = Literal["box", "sphere"]


EXACT_UP_TO = 3
"""Dimensions up to which the share is computed instead of estimated."""

CHUNK_NUMBERS = 2**20
"""Numbers held at a time while counting; the count does not depend on it."""

_ROW_BLOCK = 64


@dataclass(frozen=True)
class Volume:
    """The share of a region that a cone keeps, with an interval that holds it.

    The interval covers the true share with probability `confidence` or more; of an exact share it
    is the share itself, with confidence 1 and no samples.
    """

    share: float
    low: float
    high: float
    confidence: float
    n_samples: int
    method: Literal["exact", "monte carlo"]
    region: Region


def cone_volume(
    rows: ArrayLike,
    *,
    region: Region = "box",
    n_samples: int = 100_000,
    confidence: float = 0.95,
    rng: np.random.Generator,
) -> Volume:
    """The share of the region in {w : rows.w >= 0}, rows of shape (m, k).

    Exact when two rows are opposite (an equality: the share is 0), when there is but one half-space
    (1/2) or when at most three dimensions count; otherwise estimated from `n_samples` points in
    constant memory.
    """
    _require_settings(region, n_samples, confidence)
    scaled = scaled_rows(rows)
    if scaled.shape[1] == 0:
        raise InvalidParameter("rows must have at least one column, one for each feature")
    distinct = np.unique(scaled[scaled.any(axis=1)], axis=0)
    if _has_opposite_rows(distinct):
        return Volume(0.0, 0.0, 0.0, 1.0, 0, "exact", region)
    counting = _in_counting_dimensions(distinct, region)
    if counting.shape[1] <= EXACT_UP_TO or len(counting) == 1:
        share = _exact_share(counting, region)
        return Volume(share, share, share, 1.0, 0, "exact", region)
    hits = count_inside(counting, region=region, n_samples=n_samples, rng=rng)
    low, high = binomial_interval(hits, n_samples, confidence)
    return Volume(hits / n_samples, low, high, confidence, n_samples, "monte carlo", region)


def _require_settings(region: str, n_samples: int, confidence: float) -> None:
    choice(region, "region", get_args(Region))
    if n_samples < 1:
        raise InvalidParameter(f"n_samples must be at least 1; it is {n_samples}")
    if not 0.0 < confidence < 1.0:
        raise InvalidParameter(f"confidence must lie between 0 and 1; it is {confidence}")


def _has_opposite_rows(distinct: Floats) -> bool:
    """Whether some row is a negative multiple of another, to the last bit of the scaled rows."""
    both = np.concatenate([distinct, -distinct]) + 0.0
    return len(np.unique(both, axis=0)) < len(both)


def _in_counting_dimensions(rows: Floats, region: Region) -> Floats:
    """The rows in the coordinates that the share depends on, shape (m, d) with d <= k."""
    if region == "box":
        return rows[:, rows.any(axis=0)]
    if not len(rows):
        return rows[:, :0]
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    _, strengths, directions = np.linalg.svd(unit, full_matrices=False)
    smallest = strengths[0] * max(unit.shape) * np.finfo(np.float64).eps
    inner: Floats = unit @ directions[strengths > smallest].T
    return inner


def _exact_share(rows: Floats, region: Region) -> float:
    """The share of one half-space, or in up to three dimensions, each of which some row touches."""
    dimensions = rows.shape[1]
    if dimensions == 0:
        return 1.0
    if len(rows) == 1:
        return 0.5
    if dimensions == 1:
        return 0.5 if (rows > 0.0).all() or (rows < 0.0).all() else 0.0
    on_face = _share_on_edge if dimensions == 2 else _share_on_square
    faces = [(axis, side) for axis in range(dimensions) for side in (-1.0, 1.0)]
    return min(1.0, sum(on_face(rows, axis, side, region) for axis, side in faces))


def _share_on_edge(rows: Floats, axis: int, side: float, region: Region) -> float:
    """What the points (t, side) of one edge of the square add, for t in [-1, 1]."""
    offsets, slopes = side * rows[:, axis], rows[:, 1 - axis]
    if (offsets[slopes == 0.0] < 0.0).any():
        return 0.0
    rising, falling = slopes > 0.0, slopes < 0.0
    with np.errstate(over="ignore"):
        low = np.max(-offsets[rising] / slopes[rising], initial=-1.0)
        high = np.min(-offsets[falling] / slopes[falling], initial=1.0)
    if high <= low:
        return 0.0
    if region == "box":
        return float(high - low) / 8.0
    return float(np.arctan(high) - np.arctan(low)) / (2.0 * np.pi)


def _share_on_square(rows: Floats, axis: int, side: float, region: Region) -> float:
    """What one face of the cube adds: area / 24, or solid angle / 4 pi, of the clipped square."""
    corners = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])
    polygon = _clipped(np.insert(corners, axis, side, axis=1), rows)
    if len(polygon) < 3:
        return 0.0
    first, second, third = polygon[:1], polygon[1:-1], polygon[2:]
    if region == "box":
        doubled = np.linalg.norm(np.cross(second - first, third - first), axis=1)
        return float(doubled.sum()) / 48.0
    return float(_solid_angles(first, second, third).sum()) / (4.0 * np.pi)


def _solid_angles(first: Floats, second: Floats, third: Floats) -> Floats:
    """The solid angles of triangles seen from the origin (van Oosterom and Strackee 1983)."""
    length = [np.linalg.norm(corner, axis=1) for corner in (first, second, third)]
    volume = np.abs((first * np.cross(second, third)).sum(axis=1))
    spread = (
        length[0] * length[1] * length[2]
        + (first * second).sum(axis=1) * length[2]
        + (first * third).sum(axis=1) * length[1]
        + (second * third).sum(axis=1) * length[0]
    )
    angles: Floats = 2.0 * np.arctan2(volume, spread)
    return angles


def _clipped(polygon: Floats, rows: Floats) -> Floats:
    """The part of a convex polygon where every row is >= 0, its corners in order, shape (v, 3).

    A row that holds at all corners holds ever after, so about as many cuts as facets are made.
    """
    while len(rows) and len(polygon):
        lowest = (rows @ polygon.T).min(axis=1)
        worst = int(np.argmin(lowest))
        if lowest[worst] >= 0.0:
            break
        heights = polygon @ rows[worst]
        polygon = np.array(cut(polygon.tolist(), heights.tolist())).reshape(-1, 3)
        lowest[worst] = 0.0
        rows = rows[lowest < 0.0]
    return polygon


def count_inside(rows: Floats, *, region: Region, n_samples: int, rng: np.random.Generator) -> int:
    """How many of `n_samples` points drawn from the region satisfy all rows.

    Points are drawn and dropped in chunks; the draws, and so the count, are those of one chunk.
    """
    dimensions = rows.shape[1]
    chunk = max(1, CHUNK_NUMBERS // max(dimensions, _ROW_BLOCK))
    hits = 0
    for start in range(0, n_samples, chunk):
        shape = (min(chunk, n_samples - start), dimensions)
        points = 2.0 * rng.random(shape) - 1.0 if region == "box" else rng.standard_normal(shape)
        hits += len(kept_points(points, rows))
    return hits


def kept_points(points: Floats, rows: Floats) -> Floats:
    """The points that satisfy all rows."""
    for start in range(0, len(rows), _ROW_BLOCK):
        points = points[(points @ rows[start : start + _ROW_BLOCK].T >= 0.0).all(axis=1)]
    return points
