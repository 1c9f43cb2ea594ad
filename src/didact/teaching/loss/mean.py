"""What is lost on average after a lesson: over rewards drawn evenly among the directions that fit.

Directions are drawn by hit-and-run inside the lesson's cone and the unit ball: from a point along a
random line, to a place drawn evenly on what the cone and the ball leave of it. The even
distribution is what the walk settles at; what is learned is an estimate, no bound. A small mean
says nothing of the worst.
"""

from __future__ import annotations

import numpy as np

from didact.numerics.exact import Floats
from didact.teaching.loss.region import Region

DRAWS = 400
"""Rewards that are drawn."""
WALKS = 40
"""Walks side by side, each of which draws its part of them."""
STEPS = 4
"""Steps between two draws of a walk, for each dimension."""
WARM_UP = 50
"""Steps before the first of them, for each dimension."""


def mean_loss(region: Region, rng: np.random.Generator, draws: int = DRAWS) -> float:
    """The mean loss of rewards drawn from C(D), all directions alike."""
    if not len(region.inside):
        return 0.0
    points = drawn_inside(region, rng, draws)
    return float(region.fan.losses.of(points @ region.basis).losses.mean())


def drawn_inside(region: Region, rng: np.random.Generator, draws: int) -> Floats:
    """Unit points of C(D), (n, m), every direction of it alike."""
    m = len(region.inside)
    # True weights of 0 state no row: there are no facets, and any point of the ball will do.
    length = float(np.linalg.norm(region.inside)) or 1.0
    points = np.repeat(0.5 * region.inside[None] / length, WALKS, axis=0)
    rounds = -(-draws // WALKS)
    found = np.empty((rounds, WALKS, m))
    for _ in range(m * WARM_UP):
        points = _stepped(region, points, rng)
    for draw in range(rounds):
        for _ in range(m * STEPS):
            points = _stepped(region, points, rng)
        found[draw] = points
    drawn = found.reshape(-1, m)[:draws]
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1)[:, None])


def _stepped(region: Region, points: Floats, rng: np.random.Generator) -> Floats:
    """Points (n, m), each moved along a random line to a place that is inside."""
    lines = rng.standard_normal(points.shape)
    lines /= np.linalg.norm(lines, axis=1)[:, None]
    low, high = _in_ball(points, lines)
    rise, slack = lines @ region.facets.T, np.maximum(points @ region.facets.T, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = -slack / rise
    low = np.maximum(low, np.where(rise > 0.0, ends, -np.inf).max(axis=1, initial=-np.inf))
    high = np.minimum(high, np.where(rise < 0.0, ends, np.inf).min(axis=1, initial=np.inf))
    places = low + rng.random(len(points)) * (high - low)
    return np.asarray(points + places[:, None] * lines)


def _in_ball(points: Floats, lines: Floats) -> tuple[Floats, Floats]:
    """From where to where points + t lines, the lines of length one, are in the unit ball."""
    along = np.einsum("ij,ij->i", points, lines)
    beyond = np.einsum("ij,ij->i", points, points) - 1.0
    root = np.sqrt(np.maximum(along * along - beyond, 0.0))
    return -along - root, -along + root
