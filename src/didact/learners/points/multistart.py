"""Search for the highest summit on the unit sphere: climbs from many places, kicks from the best.

A likelihood of pairs is not concave: how a learner goes on where nothing was shown depends on its
weights, and each way to go on can have a summit of its own. No search proves that it found the
highest one. What it can say is how many climbs found the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from didact.learners.points.bfgs import Ascent, Function, Sphere, ascend
from didact.numerics.exact import Floats

Norm = Literal["l2-sphere", "l1-sphere"]
ORDERS: dict[str, Literal[1, 2]] = {"l2-sphere": 2, "l1-sphere": 1}

LEADING_STEPS = 60
"""Steps on a function that only has to show the way."""
KICKS = (0.3, 0.6)
"""How far from the best summit the search goes on."""
SCOUTS, APART = 32, 0.9
"""Random places to look at in a round, for each feature; and the cosine above which two are one."""
MOST_ROUNDS = 10
"""Rounds of scouts, each of which found something higher, after which the search gives up."""
AS_HIGH = 1e-5
"""Difference of values, against their size, below which two summits count as equally high."""


@dataclass(frozen=True, eq=False)
class Search:
    """The best summit found, and how much speaks for it.

    n_reached: how many of the n_climbs climbs ended as high as the best. n_scouts: at how many
    random places the function was looked at besides. is_confirmed: whether the last scouts, and
    climbs from the highest of them, found nothing higher; True where none were sent.
    """

    best: Ascent
    n_climbs: int
    n_reached: int
    n_scouts: int = 0
    is_confirmed: bool = True


def search(
    functions: Sequence[Function],
    rng: np.random.Generator,
    *,
    n_features: int,
    n_starts: int,
    norm: Norm,
    also: Iterable[Floats] = (),
    scouts: bool = False,
) -> Search:
    """Climb from spread directions, from the starts given (also), and by kicks.

    scouts: then look around at random places too, and climb from the highest, until that brings
    nothing; for functions whose summits those before them may not lead to.

    functions: the last is the one that counts; those before it lead a spread start to where it is
    worth climbing. Where most climbs end in different places, kicks from the best go on until as
    many as there were starts bring nothing.
    """
    *leading, function = functions
    order = ORDERS[norm]

    def climb(start: Floats) -> Ascent:
        return ascend(function, start, rng, radius=1.0, order=order)

    def led(start: Floats) -> Floats:
        for guide in leading:
            start = ascend(
                guide, start, rng, radius=1.0, order=order, most_steps=LEADING_STEPS
            ).point
        return start

    climbs = [climb(led(start)) for start in spread_directions(rng, n_starts, n_features)]
    climbs += [climb(start) for start in also]
    best = _kicked(climb, climbs, rng, n_starts)
    n_scouts, is_confirmed = 0, True
    if scouts:
        surface = Sphere(1.0, order).of(function)
        n_scouts, is_confirmed = _scouted(surface, climb, climbs, rng, n_starts)
        best = max(climbs, key=lambda ascent: ascent.value)
    if not best.is_summit:
        best = max(best, climb(best.point), key=lambda ascent: (ascent.is_summit, ascent.value))
    return Search(best, len(climbs), _as_high(climbs, best), n_scouts, is_confirmed)


def _scouted(
    surface: Function,
    climb: Callable[[Floats], Ascent],
    climbs: list[Ascent],
    rng: np.random.Generator,
    n_starts: int,
) -> tuple[int, bool]:
    """Add climbs from the highest of many random places until a round of them brings nothing.

    surface: the function of a direction. How many places were looked at, and whether the last
    round brought nothing.
    """
    k = climbs[0].point.size
    for number in range(1, MOST_ROUNDS + 1):
        before = max(ascent.value for ascent in climbs)
        places = rng.standard_normal((SCOUTS * k, k))
        places /= np.linalg.norm(places, axis=1, keepdims=True)
        values = np.array([surface(place)[0] for place in places])
        climbs += [climb(place) for place in _apart(places[np.argsort(-values)], n_starts)]
        if max(ascent.value for ascent in climbs) <= before + AS_HIGH * (1.0 + abs(before)):
            return number * len(places), True
    return MOST_ROUNDS * SCOUTS * k, False


def _apart(places: Floats, n: int) -> list[Floats]:
    """The first n unit vectors that do not point the same way as one before them."""
    taken: list[Floats] = []
    for place in places:
        if all(float(place @ other) < APART for other in taken):
            taken.append(place)
        if len(taken) == n:
            break
    return taken


def _kicked(
    climb: Callable[[Floats], Ascent], climbs: list[Ascent], rng: np.random.Generator, n_idle: int
) -> Ascent:
    """The best of the climbs and of those that kicks from the best add, until n_idle bring nothing.

    Nothing is kicked where most climbs ended as high as the best.
    """
    best = max(climbs, key=lambda ascent: ascent.value)
    idle = n_idle if 2 * _as_high(climbs, best) > len(climbs) else 0
    while idle < n_idle:
        kick = KICKS[idle % len(KICKS)] * spread_directions(rng, 1, best.point.size)[0]
        climbs.append(climb(best.point + kick))
        idle += 1
        if climbs[-1].value > best.value + AS_HIGH * (1.0 + abs(best.value)):
            idle = 0
        best = max(best, climbs[-1], key=lambda ascent: ascent.value)
    return best


def _as_high(climbs: list[Ascent], best: Ascent) -> int:
    least = best.value - AS_HIGH * (1.0 + abs(best.value))
    return sum(ascent.value >= least for ascent in climbs)


def spread_directions(rng: np.random.Generator, n: int, n_features: int) -> Floats:
    """Unit vectors (n, k) that point apart: random orthonormal frames, each vector both ways.

    A line has two directions only, and both are taken.
    """
    if n_features == 1:
        return np.array([[1.0], [-1.0]])
    directions: list[Floats] = []
    while len(directions) < n:
        frame, _ = np.linalg.qr(rng.standard_normal((n_features, n_features)))
        directions += [sign * vector for vector in frame.T for sign in (1.0, -1.0)]
    return np.array(directions[:n])


def in_words(found: Search, what: str) -> str:
    """How far the best summit can be trusted, for a reader."""
    share = f"{found.n_reached} of {found.n_climbs} climbs reached the best {what}"
    if not found.is_confirmed:
        return f"{share}; {found.n_scouts} random places still led to better ones"
    if not found.best.is_summit:
        return f"{share}; it did not converge (slope {found.best.slope:.1e})"
    tried = f"; none of {found.n_scouts} random places led higher" if found.n_scouts else ""
    local = f"a local optimum (slope {found.best.slope:.1e}){tried}"
    return f"{share}; {local}; better ones elsewhere are not ruled out"
