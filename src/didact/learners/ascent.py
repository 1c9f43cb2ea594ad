"""Maximise a function that is smooth but for kinks: BFGS, and evidence of a local maximum.

A likelihood with optimal action values has a kink wherever the optimal policy changes, and its
maxima often lie there. BFGS with a weak Wolfe line search by bisection (Lewis and Overton 2013)
needs no smoothness at the points that it meets: across a kink the gradient changes, the inverse
Hessian learns it, and the steps go on along the ridge. (SciPy's L-BFGS-B asks for the strong Wolfe
condition, which fails at kinks: it missed 9 of 12 kinked maxima in the tests.)

Evidence of a maximum is the shortest convex combination of the gradients that meet at a point: a
vector d with d.(every gradient) >= |d|^2. If it is zero there is no direction in which all of them
rise; at a smooth point it is the gradient itself. It says nothing of higher maxima elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import numpy as np

from didact.numerics.exact import Floats

Function = Callable[[Floats], tuple[float, Floats]]

ENOUGH_RISE = 1e-4
"""Share of the rise that the slope promises which a step must bring (Armijo)."""
ENOUGH_BEND = 0.9
"""Share of the first slope to which the slope along a step must have fallen (weak Wolfe)."""
MAX_BISECTIONS = 60
"""Halvings that take a step of length 1 below the last digit of a point of size 1."""
MAX_RESTARTS = 40
"""How often an ascent is begun anew, with a fresh inverse Hessian, where the last one ended."""
FIRST_STEP = 0.1
"""Length of the first step at most: without a Hessian a steep slope would lead far past maxima."""
NO_RISE = 1e-12
"""Rise of a step, relative to the size of the value, that counts as none."""
SMALL_RISE = 1e-6
"""The same where any point will do."""
NO_GAIN = 1e-8
"""Rise of a whole ascent, relative likewise, at which it is not worth beginning anew."""
NO_SLOPE = 1e-6
"""Slope that counts as none where slopes are of the order of 1e5 or less ..."""
ROUNDING_SLOPE = 1e-11
"""... and, of the largest slope met, what may be rounding."""
NEAR = (1e-8, 1e-6, 1e-4)
"""How far around a point the slopes that meet there are sought."""


@dataclass(frozen=True, eq=False)
class Ascent:
    """The highest point reached, with the evidence that it is a local maximum.

    slope: length of the shortest combination of the slopes that meet at the point.
    is_maximum: whether that is nil, up to rounding.
    """

    point: Floats
    value: float
    slope: float
    is_maximum: bool
    n_steps: int


@dataclass(frozen=True, eq=False)
class _Place:
    """A point with its value and its slope."""

    point: Floats
    value: float
    slope: Floats


def ascend(
    function: Function,
    start: Floats,
    rng: np.random.Generator,
    *,
    sphere: Sphere | None = None,
    max_steps: int = 2_000,
) -> Ascent:
    """Ascend from a start to a local maximum, or as far as it goes.

    sphere: stay on it; without it the whole space is open.
    """
    surface = function if sphere is None else sphere.of(function)
    here = _renewed(_place(surface, np.array(start, dtype=np.float64)), sphere)
    steepest, n_steps = float(np.linalg.norm(here.slope)), 0
    shortest, is_maximum = steepest, False
    for _ in range(MAX_RESTARTS):
        before = here.value
        here, steepest, taken = _climb(surface, here, sphere, steepest, max_steps - n_steps)
        n_steps += taken
        nil = max(NO_SLOPE, ROUNDING_SLOPE * steepest)
        shortest, onwards = _way_up(surface, here, rng, nil)
        is_maximum = shortest <= nil
        if onwards is not None:
            here = _renewed(onwards, sphere)
        gained = here.value - before > NO_GAIN * (1.0 + abs(before))
        if is_maximum or not gained or n_steps >= max_steps:
            break
    return Ascent(here.point, here.value, shortest, is_maximum, n_steps)


@dataclass(frozen=True)
class Sphere:
    """All points of a length, |w| = radius, in the sum norm (order 1) or the Euclidean one (2)."""

    radius: float = 1.0
    order: Literal[1, 2] = 2

    def stretch(self, point: Floats) -> float:
        """How many times too long a point is."""
        return float(np.linalg.norm(point, self.order)) / self.radius

    def of(self, function: Function) -> Function:
        """The function of the point's direction: constant along rays, so slopes keep to the sphere.

        f(x / t) with t = |x| / radius has the slope (f' - (f'.w) grad t) / t, w = x / t.
        """

        def of_direction(point: Floats) -> tuple[float, Floats]:
            stretch = self.stretch(point)
            there = point / stretch
            value, slope = function(there)
            if self.order == 2:
                outwards = there / self.radius**2
            else:
                outwards = np.sign(there) / self.radius
            return value, (slope - (slope @ there) * outwards) / stretch

        return of_direction


class _Spent(Exception):
    """An ascent has made all the calls it may make."""


def ascend_on_sphere(function: Function, start: Floats, max_calls: int) -> tuple[Floats, float]:
    """As high as so many calls lead on the sphere |w| = |start|, and the value; without evidence.

    For starts of chains, of which any will do.
    """
    sphere = Sphere(float(np.linalg.norm(start)))
    surface, n_calls = sphere.of(function), 0
    best, highest = np.asarray(start), -math.inf

    def counted(point: Floats) -> tuple[float, Floats]:
        nonlocal n_calls, best, highest
        if n_calls == max_calls:
            raise _Spent
        n_calls += 1
        value, slope = surface(point)
        if value > highest:
            best, highest = point, value
        return value, slope

    with suppress(_Spent):
        _climb(counted, _place(counted, np.array(start)), sphere, 0.0, max_calls, SMALL_RISE)
    return np.asarray(best / sphere.stretch(best)), highest


def shortest_combination(slopes: Floats) -> Floats:
    """The convex combination (k,) of rows (n, k) that is nearest to 0.

    As a least squares problem over multipliers x >= 0: the slopes' combination is to be 0 and the
    multipliers are to add up to 1; divided by their sum they give the nearest point.
    """
    from scipy.optimize import nnls

    scale = float(np.abs(slopes).max(initial=0.0))
    if scale == 0.0 or len(slopes) == 1:
        return np.asarray(slopes[0])
    system = np.vstack((slopes.T / scale, np.ones(len(slopes))))
    multipliers, _ = nnls(system, np.append(np.zeros(slopes.shape[1]), 1.0))
    total = float(multipliers.sum())
    return np.asarray(slopes.T @ (multipliers / total)) if total > 0.0 else np.asarray(slopes[0])


def _place(surface: Function, point: Floats) -> _Place:
    return _Place(point, *surface(point))


def _renewed(place: _Place, sphere: Sphere | None) -> _Place:
    """The same place put back on the sphere, where its slope is as much longer."""
    if sphere is None:
        return place
    stretch = sphere.stretch(place.point)
    return _Place(place.point / stretch, place.value, place.slope * stretch)


def _climb(
    surface: Function,
    here: _Place,
    sphere: Sphere | None,
    steepest: float,
    max_steps: int,
    no_rise: float = NO_RISE,
) -> tuple[_Place, float, int]:
    """BFGS steps until nothing rises; the place, the largest slope met, and the number of steps."""
    inverse: Floats | None = None
    idle = taken = 0
    while taken < max_steps and idle < 5 and here.slope.any():
        direction = here.slope if inverse is None else inverse @ here.slope
        if not float(direction @ here.slope) > 0.0:
            break
        if inverse is None:
            direction = direction * (FIRST_STEP / max(FIRST_STEP, float(np.linalg.norm(direction))))
        there = _line_search(surface, here, direction)
        if there is None:
            break
        taken += 1
        idle = idle + 1 if there.value - here.value <= no_rise * (1 + abs(here.value)) else 0
        step, bend = there.point - here.point, here.slope - there.slope
        inverse = bfgs_update(inverse, step, bend, 1e-300)
        here = _renewed(there, sphere)
        steepest = max(steepest, float(np.linalg.norm(here.slope)))
    return here, steepest, taken


def _line_search(surface: Function, here: _Place, direction: Floats) -> _Place | None:
    """A step that rises enough and after which the way is less steep; None when nothing rises."""
    rise = float(here.slope @ direction)
    low, high, step = 0.0, math.inf, 1.0
    found: _Place | None = None
    for _ in range(MAX_BISECTIONS):
        there = _place(surface, here.point + step * direction)
        if not there.value > here.value + ENOUGH_RISE * step * rise:
            high = step
            if found is None and (there.point == here.point).all():
                break  # shorter steps do not move it either
        elif float(there.slope @ direction) > ENOUGH_BEND * rise:
            low, found = step, there
        else:
            return there
        step = 2.0 * low if high == math.inf else 0.5 * (low + high)
    return found


def _way_up(
    surface: Function, here: _Place, rng: np.random.Generator, nil: float
) -> tuple[float, _Place | None]:
    """The shortest combination of the slopes near a place, and a higher place along it if any."""
    own = shortest = float(np.linalg.norm(here.slope))
    if own <= nil:
        return own, None
    k = here.point.size
    for reach in NEAR:
        around = rng.standard_normal((2 * k, k)) * (reach / math.sqrt(k))
        slopes = np.array([here.slope, *(surface(here.point + step)[1] for step in around)])
        combined = shortest_combination(slopes)
        length = float(np.linalg.norm(combined))
        shortest = min(shortest, length)
        if shortest <= nil:
            return shortest, None
        step = combined * (reach / length)
        there = _place(surface, here.point + step)
        if there.value > here.value + NO_RISE * (1.0 + abs(here.value)):
            return shortest, there
    return shortest, None


def bfgs_update(inverse: Floats | None, step: Floats, bend: Floats, least: float) -> Floats | None:
    """The inverse (k, k) of minus the Hessian, as a climb knows it after a step (k,).

    bend: how much the slope fell along the step, (k,). It is left as it is where step.bend is not
    above `least`: the slope did not fall, or rounding decides whether it did. inverse: None where
    nothing is known yet; then the first bend gives its scale. The updated one maps bend to step.
    """
    product = float(step @ bend)
    if not product > least:
        return inverse
    if inverse is None:
        inverse = np.eye(step.size) * (product / float(bend @ bend))
    moved = inverse @ bend
    crossed = np.outer(moved, step)
    stretch = (product + float(bend @ moved)) / product
    return np.asarray(inverse + (stretch * np.outer(step, step) - crossed - crossed.T) / product)
