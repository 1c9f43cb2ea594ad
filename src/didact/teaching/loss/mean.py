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
STEPS = 4
"""Steps between two of them, for each dimension."""
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
    point = 0.5 * region.inside / np.linalg.norm(region.inside)
    slack, products = region.facets @ point, region.facets
    found = np.empty((draws, m))
    n_steps = m * (WARM_UP + STEPS * draws)
    lines = rng.standard_normal((n_steps, m))
    lines /= np.linalg.norm(lines, axis=1)[:, None]
    shares = rng.random(n_steps)
    for step in range(n_steps):
        line = lines[step]
        rise = products @ line
        low, high = _in_ball(point, line)
        up, down = rise > 0.0, rise < 0.0
        low = max(low, float((-slack[up] / rise[up]).max(initial=low)))
        high = min(high, float((-slack[down] / rise[down]).min(initial=high)))
        point = point + (low + shares[step] * (high - low)) * line
        slack = np.maximum(products @ point, 0.0)
        late, between = step - m * WARM_UP, m * STEPS
        if late >= 0 and late % between == 0:
            found[late // between] = point
    return np.asarray(found / np.linalg.norm(found, axis=1)[:, None])


def _in_ball(point: Floats, line: Floats) -> tuple[float, float]:
    """From where to where point + t line, the line of length one, is in the unit ball."""
    along = float(point @ line)
    root = float(np.sqrt(max(along * along - float(point @ point) + 1.0, 0.0)))
    return -along - root, -along + root
