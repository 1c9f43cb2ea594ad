"""Search for the highest maximum on the unit sphere, as ml-irl and policy-matching make it.

A likelihood of pairs is not concave: how a learner goes on where nothing was shown depends on its
weights, and each way to go on can have a maximum of its own. So ascents start from the weights that
explain the demonstrations by the widest margin, where there are any, and from the highest local
maxima of the likelihood that BIRL's search for starts finds (see `chains.modes`). No search proves
that it found the highest maximum. What it can say is how many ascents found the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import numpy as np

from didact.inputs import choice, whole_number
from didact.learners.ascent import Ascent, Function, Sphere, ascend
from didact.learners.chains.modes import PLANS_EACH, StartSearch
from didact.learners.chains.options import PRIORS
from didact.learners.evidence import Evidence, Likelihood, ShownFeatures, as_confidence
from didact.learners.points.margin import is_closed, margin_weights
from didact.numerics.exact import Floats

Norm = Literal["l2-sphere", "l1-sphere"]
SPHERES = {"l2-sphere": Sphere(1.0, 2), "l1-sphere": Sphere(1.0, 1)}

DRAWS = 90
"""Random directions that the search begins at, for each start: the maximum of one 9x9 world in two
hundred is found from one direction of three hundred."""
SCOUTS, APART = 32, 0.9
"""Random places to look at in a round, for each feature; and the cosine above which two are one."""
DISTINCT = 0.99
"""The same cosine for local maxima of the likelihood: narrow ones lie close to each other."""
MAX_ROUNDS = 10
"""Rounds of scouts, each of which found something higher, after which the search gives up."""
AS_HIGH = 1e-5
"""Difference of values, against their size, below which two maxima count as equally high."""
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

    def likely(self, *, explained: bool) -> list[Floats]:
        """The highest local maxima of the likelihood that were found, at most n_starts of them.

        explained: whether there are weights of widest margin. Where the demonstrations are also
        closed, these are as likely as any, and few directions are tried besides.
        """
        likelihood = Likelihood(self.evidence, self.confidence, self.features)
        is_easy = explained and is_closed(self.evidence) and not len(self.evidence.answers)
        search = StartSearch(
            *(self.evidence, self.confidence, PRIORS[self.norm]),
            *(lambda weights: likelihood(weights)[0], self.rng),
            features=self.features,
        )
        for _ in search.run(PLANS_EACH * self.n_starts * (1 if is_easy else DRAWS) * search.cost):
            pass
        ordered = sorted(search.maxima, key=lambda maximum: -maximum.density)
        return _apart([m.weights for m in ordered] or [search.start], self.n_starts, DISTINCT)

    @property
    def sphere(self) -> Sphere:
        """Where the weights lie."""
        return SPHERES[self.norm]

    def climb(self, function: Function, start: Floats, max_steps: int = 2_000) -> Ascent:
        """An ascent on the unit sphere."""
        return ascend(function, start, self.rng, sphere=self.sphere, max_steps=max_steps)

    def search(
        self, function: Function, starts: Sequence[Floats], *, scouts: bool = False
    ) -> Search:
        """Ascend from the starts given.

        scouts: then look around at random places too, and ascend from the highest, until that
        brings nothing; for functions whose maxima the likelihood may not lead to.
        """
        climbs = [self.climb(function, start) for start in starts]
        n_scouts, is_confirmed = 0, True
        if scouts and not self.evidence.is_empty:
            n_scouts, is_confirmed = self._scout(function, climbs)
        best = max(climbs, key=lambda ascent: ascent.value)
        if not best.is_maximum:
            again = self.climb(function, best.point)
            best = max(best, again, key=lambda found: (found.is_maximum, found.value))
        least = best.value - AS_HIGH * (1.0 + abs(best.value))
        n_reached = sum(ascent.value >= least for ascent in climbs)
        return Search(best, len(climbs), n_reached, n_scouts, is_confirmed)

    def _scout(self, function: Function, climbs: list[Ascent]) -> tuple[int, bool]:
        """Add ascents from the highest of many random places until a round of them brings nothing.

        How many places were looked at, and whether the last round brought nothing.
        """
        k, surface = climbs[0].point.size, self.sphere.of(function)
        for number in range(1, MAX_ROUNDS + 1):
            before = max(ascent.value for ascent in climbs)
            places = self.rng.standard_normal((SCOUTS * k, k))
            places /= np.linalg.norm(places, axis=1, keepdims=True)
            values = np.array([surface(place)[0] for place in places])
            highest = _apart(places[np.argsort(-values)], self.n_starts, APART)
            climbs += [self.climb(function, place) for place in highest]
            if max(ascent.value for ascent in climbs) <= before + AS_HIGH * (1.0 + abs(before)):
                return number * len(places), True
        return MAX_ROUNDS * SCOUTS * k, False

    def asked(self) -> dict[str, Any]:
        """What the search was given."""
        return {"confidence": self.confidence, "n_starts": self.n_starts, "norm": self.norm}

    def told(self, found: Search, what: str, *, settled: bool) -> dict[str, Any]:
        """What the search came to; what: is sought, in words. No search rules out better ones."""
        return {
            "at_local_optimum": settled,
            "convergence": found.in_words(what),
            "n_solves": self.features.n_solves,
        }


def _apart(places: Iterable[Floats], n: int, cosine: float) -> list[Floats]:
    """The first n places between any two of which the cosine is smaller than this."""
    taken: list[Floats] = []
    units: list[Floats] = []
    for place in places:
        unit = place / np.linalg.norm(place)
        if all(float(unit @ other) < cosine for other in units):
            taken.append(place)
            units.append(unit)
        if len(taken) == n:
            break
    return taken


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
