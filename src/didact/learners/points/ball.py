"""The highest point of a smooth function in a ball |w| <= R: inside, or on the border.

A climb from the middle ends inside, or leaves the ball, and then the border is climbed. A point of
the border is a summit of the ball when the slope along the border is nil and the slope outwards is
not negative; for a concave function that makes it the highest point (Karush, Kuhn and Tucker).
Where the slope points inwards the climb had overshot: it goes on inside, by steps that are
shortened until they stay there, and so on until one of the two ends is reached.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from didact.learners.points.bfgs import NO_SLOPE, Ascent, Function, ascend
from didact.numerics.exact import Floats

MOST_TURNS = 10
"""How often a climb may go from the border inside and back."""
BORDER = 1e-9
"""Share of the radius that is left to a point on the border."""


@dataclass(frozen=True, eq=False)
class Highest:
    """The point reached, with the evidence that it is a summit of the ball.

    on_border: whether the border holds it back: no shorter weights nearby are higher.
    """

    ascent: Ascent
    on_border: bool


def highest_in_ball(
    function: Function, n_features: int, radius: float, rng: np.random.Generator
) -> Highest:
    """The summit in the ball that a climb from its middle leads to.

    A summit inside from which longer weights are no worse is none: it only became too flat to
    climb, and the search goes on at the border.
    """
    found = ascend(_flat_outside(function, radius), np.zeros(n_features), rng)
    for _ in range(MOST_TURNS):
        length = float(np.linalg.norm(found.point))
        if length == 0.0:
            return Highest(found, False)
        longest = found.point * (radius / length)
        inside = length < radius * (1.0 - BORDER)
        if inside and function(longest)[0] < found.value:
            return Highest(found, False)
        border = ascend(function, longest, rng, radius=radius)
        outwards = float(function(border.point)[1] @ border.point) / radius
        if outwards >= -NO_SLOPE:
            return Highest(border, True)
        found = ascend(_never_outside(function, radius), border.point * (1.0 - BORDER), rng)
    return Highest(replace(found, is_summit=False), False)


def _flat_outside(function: Function, radius: float) -> Function:
    """The function, made flat outside of the ball: a climb that gets there ends there."""

    def inside(weights: Floats) -> tuple[float, Floats]:
        length = float(np.linalg.norm(weights))
        if length < radius:
            return function(weights)
        value, _ = function(weights * (radius / length))
        return value, np.zeros(weights.size)

    return inside


def _never_outside(function: Function, radius: float) -> Function:
    """The function, minus infinity outside of the ball: a step that leads there is shortened."""

    def inside(weights: Floats) -> tuple[float, Floats]:
        if float(np.linalg.norm(weights)) <= radius:
            return function(weights)
        return -math.inf, np.zeros(weights.size)

    return inside
