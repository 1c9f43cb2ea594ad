"""Search for the highest maximum on the unit sphere, as ml-irl and policy-matching make it.

A likelihood of pairs is not concave: how a learner goes on where nothing was shown depends on its
weights, and each way to go on can have a maximum of its own. So ascents start from spread
directions, from the weights that explain the demonstrations by the widest margin where there are
any, and from where BIRL's chains would begin, unless the demonstrations are closed and explained;
then they are kicked from the best. No search proves that it found the highest maximum. What it can
say is how many ascents found the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import numpy as np

from didact.inputs import choice, whole_number
from didact.learners.ascent import Ascent, Function, Sphere, ascend
from didact.learners.evidence import Evidence, ShownFeatures, as_confidence
from didact.learners.points.margin import is_closed, margin_weights
from didact.numerics.exact import Floats

Norm = Literal["l2-sphere", "l1-sphere"]
SPHERES = {"l2-sphere": Sphere(1.0, 2), "l1-sphere": Sphere(1.0, 1)}

LEADING_STEPS = 60
"""Steps on a function that only has to show the way."""
KICKS = (0.3, 0.6)
"""How far from the best maximum the search goes on."""
SCOUTS, APART = 32, 0.9
"""Random places to look at in a round, for each feature; and the cosine above which two are one."""
MAX_ROUNDS = 10
"""Rounds of scouts, each of which found something higher, after which the search gives up."""
AS_HIGH = 1e-5
"""Difference of values, against their size, below which two maxima count as equally high."""
WALK_STEPS = 5_000
"""Steps of each chain of BIRL whose start is used: enough to tell high modes from low ones."""
MAX_STARTS = 1_000_000
"""More would take days: it is a mistake in the number."""


@dataclass(frozen=True, eq=False)
class Search:
    """The best maximum found, and how much speaks for it.

    n_reached: how many of the n_climbs ascents ended as high as the best. n_scouts: at how many
    random places the function was looked at besides. is_confirmed: whether the last scouts, and
    ascents from the highest of them, found nothing higher; True where none were sent.
    """

    best: Ascent
    n_climbs: int
    n_reached: int
    n_scouts: int = 0
    is_confirmed: bool = True

    def in_words(self, what: str) -> str:
        """How far the best maximum can be trusted, for a reader."""
        share = f"{self.n_reached} of {self.n_climbs} climbs reached the best {what}"
        if not self.is_confirmed:
            return f"{share}; {self.n_scouts} random places still led to better ones"
        if not self.best.is_maximum:
            return f"{share}; it did not converge (slope {self.best.slope:.1e})"
        tried = f"; none of {self.n_scouts} random places led higher" if self.n_scouts else ""
        local = f"a local optimum (slope {self.best.slope:.1e}){tried}"
        return f"{share}; {local}; better ones elsewhere are not ruled out"


@dataclass(frozen=True, eq=False)
class UnitWeights:
    """Evidence, the softmax model's confidence, and where unit weights are sought."""

    evidence: Evidence
    rng: np.random.Generator
    features: ShownFeatures
    confidence: float
    n_starts: int
    norm: Norm

    @classmethod
    def sought(
        cls,
        evidence: Evidence,
        rng: np.random.Generator,
        *,
        confidence: Any,
        n_starts: Any,
        norm: Any,
    ) -> UnitWeights:
        """The search with its options checked."""
        return cls(
            evidence,
            rng,
            ShownFeatures(evidence),
            as_confidence(confidence),
            whole_number(n_starts, "n_starts", 1, MAX_STARTS),
            cast(Norm, choice(norm, "norm", get_args(Norm))),
        )

    def margins(self, first: Floats | None = None) -> list[Floats]:
        """The weights of widest margin, if any are found from these weights or from random ones."""
        if not self.evidence.n_pairs:
            return []
        n_features = self.evidence.mdp.n_features
        start = self.rng.standard_normal(n_features) if first is None else first
        widest = margin_weights(self.evidence, start, self.features)
        return [] if widest is None else [widest]

    def annealed(self, margins: Sequence[Floats]) -> list[Floats]:
        """Where BIRL's chains end after a short walk, (n + 1 of them): the first is the best seen.

        Their searches begin at a fraction of the confidence, which finds narrow high modes that
        ascents from random places miss. None where nothing was shown, or where the demonstrations
        are closed and explained.
        """
        is_explained = bool(margins) and is_closed(self.evidence) and not len(self.evidence.answers)
        if self.evidence.is_empty or is_explained:
            return []
        from didact.learners.chains.birl import birl

        belief = birl(
            self.evidence,
            self.rng,
            confidence=self.confidence,
            n_steps=WALK_STEPS,
            burn_in=WALK_STEPS - 1,
            n_chains=self.n_starts,
            prior=self.norm,
        )
        return [belief.map_weights, *belief.samples[:, -1]]

    @property
    def sphere(self) -> Sphere:
        """Where the weights lie."""
        return SPHERES[self.norm]

    def climb(self, function: Function, start: Floats, max_steps: int = 2_000) -> Ascent:
        """An ascent on the unit sphere."""
        return ascend(function, start, self.rng, sphere=self.sphere, max_steps=max_steps)

    def search(
        self, functions: Sequence[Function], starts: Sequence[Floats], *, scouts: bool = False
    ) -> Search:
        """Ascend from spread directions, from the starts given, and by kicks.

        functions: the last is the one that counts; those before it lead a spread start to where it
        is worth ascending. scouts: then look around at random places too, and ascend from the
        highest, until that brings nothing; for functions whose maxima those before them may not
        lead to.
        """
        *leading, function = functions

        def climb(start: Floats) -> Ascent:
            return self.climb(function, start)

        climbs = []
        for start in spread_directions(self.rng, self.n_starts, self.evidence.mdp.n_features):
            led = start
            for guide in leading:
                led = self.climb(guide, led, LEADING_STEPS).point
            climbs.append(climb(led))
        climbs += [climb(start) for start in starts]
        best = _kicked(climb, climbs, self.rng, self.n_starts)
        n_scouts, is_confirmed = 0, True
        if scouts and not self.evidence.is_empty:
            surface = self.sphere.of(function)
            n_scouts, is_confirmed = _scouted(surface, climb, climbs, self.rng, self.n_starts)
            best = max(climbs, key=lambda ascent: ascent.value)
        if not best.is_maximum:
            best = max(best, climb(best.point), key=lambda found: (found.is_maximum, found.value))
        return Search(best, len(climbs), _as_high(climbs, best), n_scouts, is_confirmed)

    def asked(self) -> dict[str, Any]:
        """What the search was given."""
        return {"confidence": self.confidence, "n_starts": self.n_starts, "norm": self.norm}

    def told(self, found: Search, what: str, *, settled: bool, annealed: bool) -> dict[str, Any]:
        """What the search came to; what: is sought, in words. No search rules out better ones."""
        return {
            "at_local_optimum": settled,
            "convergence": found.in_words(what),
            "n_solves": self.features.n_solves,
            "n_annealed_steps": WALK_STEPS * self.n_starts if annealed else 0,
        }


def _scouted(
    surface: Function,
    climb: Callable[[Floats], Ascent],
    climbs: list[Ascent],
    rng: np.random.Generator,
    n_starts: int,
) -> tuple[int, bool]:
    """Add ascents from the highest of many random places until a round of them brings nothing.

    surface: the function of a direction. How many places were looked at, and whether the last
    round brought nothing.
    """
    k = climbs[0].point.size
    for number in range(1, MAX_ROUNDS + 1):
        before = max(ascent.value for ascent in climbs)
        places = rng.standard_normal((SCOUTS * k, k))
        places /= np.linalg.norm(places, axis=1, keepdims=True)
        values = np.array([surface(place)[0] for place in places])
        climbs += [climb(place) for place in _apart(places[np.argsort(-values)], n_starts)]
        if max(ascent.value for ascent in climbs) <= before + AS_HIGH * (1.0 + abs(before)):
            return number * len(places), True
    return MAX_ROUNDS * SCOUTS * k, False


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
