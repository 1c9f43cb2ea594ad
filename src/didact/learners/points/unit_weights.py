"""Learners of unit weights: maximum likelihood IRL, policy matching, and the search that both make.

Maximum likelihood. The model is BIRL's: the demonstrator takes action a in state s with probability
proportional to exp(confidence Q*_w(s, a)), and answers are as likely as `Answers` says. The
confidence multiplies Q, so the length of w would act as a second confidence; it is fixed: |w| = 1
in the Euclidean norm, or in the sum norm if asked.
(Lopes et al. 2009, Babes et al. 2011; here with exact action values and their exact slopes.)

Policy matching. J(w) = sum over shown states of share(s) * sum_a (p_w(a|s) - seen(a|s))^2, where
share is how often the state was shown, seen how often each action was, and p_w the softmax policy
on Q*_w at a confidence (Neu and Szepesvari 2007), |w| = 1 as there.
Far from the solution p_w is all but certain of wrong actions and J is flat. The likelihood of the
same policy is not, and it has the same solutions where the demonstrations can be matched exactly
(Melo et al. 2010); so climbs begin at its maxima. Where they cannot be matched the solutions
differ, and the likelihood leads to the wrong maximum; so J is also looked at in many random
directions, and climbed from the best of them, until a round of that brings nothing better.

The search. A likelihood of pairs is not concave: how a learner goes on where nothing was shown
depends on its weights, and each way to go on can have a maximum of its own. So ascents start from
the weights that explain the demonstrations by the widest margin, where there are any, and from the
highest local maxima of the likelihood that BIRL's search for starts finds (see `chains.modes`). No
search proves that it found the highest maximum. What it can say is how many ascents found the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from didact.inputs import choice, flag, whole_number
from didact.learners.ascent import Ascent, Function, Sphere, ascend
from didact.learners.belief import Belief, point_belief
from didact.learners.chains.modes import PLANS_EACH, StartSearch
from didact.learners.chains.options import PRIORS
from didact.learners.evidence import (
    Certificate,
    Evidence,
    Likelihood,
    ShownFeatures,
    as_confidence,
    certify,
    softmax,
)
from didact.learners.points.margin import exactly_tied, is_closed, margin_weights
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
RAISE = 10.0
"""By how much the confidence is multiplied until the certificate holds ..."""
MAX_CONFIDENCE = 1e12
"""... and where that ends: beyond it rounding decides."""
AS_LIKELY = 1e-6
"""Loss of log likelihood, against its size, at which weights that keep ties exactly are taken."""
SHARES, SPREAD = (0.003, 0.01, 0.03, 0.1, 0.3), 4
"""Shares of the confidence that lead further climbs, and how many of them for each start."""

LEADING_STEPS = 60
"""Steps of each of them: it only has to show the way."""


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


class UnitWeights:
    """Evidence, the softmax model's confidence, and where unit weights are sought."""

    def __init__(
        self,
        evidence: Evidence,
        rng: np.random.Generator,
        confidence: Any,
        n_starts: Any,
        norm: Any,
    ):
        self.evidence, self.rng, self.features = evidence, rng, ShownFeatures(evidence)
        self.confidence = as_confidence(confidence)
        self.n_starts = whole_number(n_starts, "n_starts", 1, MAX_STARTS)
        self.norm = choice(norm, "norm", get_args(Norm))
        self.sphere = SPHERES[self.norm]

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

    def settings(self, found: Search, what: str, *, settled: bool, **others: Any) -> dict[str, Any]:
        """What the search was given, and what it came to; what: is sought, in words."""
        return {
            **{"confidence": self.confidence, "n_starts": self.n_starts, "norm": self.norm},
            **others,
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


@dataclass(frozen=True, eq=False)
class _Explanation:
    """A local maximum, at which confidence, and what it proves."""

    ascent: Ascent
    confidence: float
    certificate: Certificate


def ml_irl(
    evidence: Evidence,
    rng: np.random.Generator,
    *,
    confidence: float = 100.0,
    n_starts: int = 8,
    norm: Norm = "l2-sphere",
    raise_confidence: bool = False,
) -> Belief:
    """The most likely weights of unit norm, with a certificate of what they explain.

    n_starts: how many ascents end the search, each from the highest of about 90 random directions
    (of one, if the demonstrations are closed and explained); where the demonstrations allow it, one
    more starts from the weights that explain them by the widest margin.
    raise_confidence: multiply the confidence by ten until the weights make every shown action
    optimal and every other one worse.
    """
    sought = UnitWeights(evidence, rng, confidence, n_starts, norm)
    raising = flag(raise_confidence, "raise_confidence")
    margins = sought.margins()
    whole = sought.confidence
    likelihood = Likelihood(evidence, whole, sought.features)
    found = sought.search(likelihood, [*margins, *sought.likely(explained=bool(margins))])
    answer = _Explanation(found.best, whole, certify(evidence, found.best.point, whole))
    notes = []
    if evidence.is_empty:
        notes.append(
            "nothing was shown: all weights are equally likely, and these were drawn at random"
        )
    elif not found.best.is_maximum:
        notes.append(
            f"the climb did not converge: a slope of {found.best.slope:.1e} is left; "
            "try more starts or another confidence"
        )
    if raising:
        answer = _raised(sought, answer, margins or sought.margins(found.best.point))
        if not answer.certificate.holds:
            notes.append(
                f"no confidence from {whole:g} to {answer.confidence:g} explains all "
                f"demonstrations: {answer.certificate.reason}"
            )
    settled = answer.ascent.is_maximum
    return point_belief(
        evidence.mdp,
        "ml-irl",
        evidence.demonstrations,
        answer.ascent.point,
        log_posterior=answer.ascent.value,
        confidence=answer.confidence,
        certificate=answer.certificate,
        feedback=evidence.answers.items,
        settings=sought.settings(found, "likelihood", settled=settled, raise_confidence=raising),
        notes=tuple(notes),
    )


def _raised(sought: UnitWeights, answer: _Explanation, margins: list[Floats]) -> _Explanation:
    """Climb at ten times the confidence, from where the last climb ended, until it is enough.

    As the confidence grows, the likelihood turns into the smallest margin by which shown actions
    win. So if there are weights with a margin m, the maximum near them explains every demonstration
    from a confidence of about log(number of pairs and actions) / m on.
    """
    evidence = sought.evidence
    starts = [answer.ascent.point, *margins]
    at = answer.confidence
    answer = _tied(evidence, answer, sought.features)
    while not answer.certificate.holds and at > 0.0 and at * RAISE <= MAX_CONFIDENCE:
        at *= RAISE
        function = Likelihood(evidence, at, sought.features)
        climbs = [sought.climb(function, start) for start in starts]
        best = max(climbs, key=lambda ascent: ascent.value)
        answer = _Explanation(best, at, certify(evidence, best.point, at))
        answer = _tied(evidence, answer, sought.features)
        starts = [best.point, *margins]
    return answer


def _tied(evidence: Evidence, answer: _Explanation, features: ShownFeatures) -> _Explanation:
    """The answer moved by less than it matters so that shown ties hold exactly, where it can be."""
    if answer.certificate.holds:
        return answer
    function = Likelihood(evidence, answer.confidence, features)
    least = answer.ascent.value - AS_LIKELY * (1.0 + abs(answer.ascent.value))
    for weights in exactly_tied(evidence, answer.ascent.point):
        value, _ = function(weights)
        certificate = certify(evidence, weights, answer.confidence)
        if certificate.holds and value >= least:
            moved = replace(answer.ascent, point=weights, value=value)
            return _Explanation(moved, answer.confidence, certificate)
    return answer


class Mismatch:
    """-J(w), so that higher is better, and its slope (k,), as a function of w."""

    def __init__(
        self, evidence: Evidence, confidence: float, features: ShownFeatures | None = None
    ):
        totals = evidence.counts.sum(axis=1, keepdims=True)
        self.confidence = confidence
        self.features = ShownFeatures(evidence) if features is None else features
        self.seen = evidence.counts / np.maximum(totals, 1.0)
        self.shares = totals / max(evidence.n_pairs, 1)

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """The value and the slope at weights (k,).

        d p(a) / dw = confidence * p(a) * (mu(a) - sum_b p(b) mu(b)).
        """
        mu = self.features(weights)
        policy, _ = softmax(mu @ weights, self.confidence)
        gaps = policy - self.seen
        pulls = -2.0 * self.shares * gaps * policy
        surplus = pulls - policy * pulls.sum(axis=1, keepdims=True)
        slope = self.confidence * (surplus.ravel() @ mu.reshape(-1, weights.size))
        return -float((self.shares * gaps**2).sum()), slope


def policy_matching(
    evidence: Evidence,
    rng: np.random.Generator,
    *,
    confidence: float = 100.0,
    n_starts: int = 8,
    norm: Norm = "l2-sphere",
) -> Belief:
    """The unit weights whose softmax policy differs least from the shown action frequencies.

    The difference is in settings["mismatch"]; the belief's density is the log likelihood of the
    demonstrations under the same softmax policy.
    """
    sought = UnitWeights(evidence, rng, confidence, n_starts, norm)
    margins = sought.margins()
    likely = sought.likely(explained=bool(margins))
    function = Mismatch(evidence, sought.confidence, sought.features)
    starts = [*margins, *likely, *_led_by_softer_matches(sought)]
    found = sought.search(function, starts, scouts=True)
    is_confirmed, notes = found.best.is_maximum and found.is_confirmed, []
    if not evidence.n_pairs:
        notes.append("nothing was shown: all weights match it, and these were drawn at random")
    elif not found.is_confirmed:
        notes.append(
            f"the search did not end: {found.n_scouts} random places still led to better ones"
        )
    elif not found.best.is_maximum:
        notes.append(f"the climb did not converge: a slope of {found.best.slope:.1e} is left")
    certificate = certify(evidence, found.best.point, sought.confidence)
    return point_belief(
        evidence.mdp,
        "policy-matching",
        evidence.demonstrations,
        found.best.point,
        log_posterior=certificate.log_likelihood,
        confidence=sought.confidence,
        certificate=certificate,
        settings=sought.settings(found, "match", settled=is_confirmed, mismatch=-found.best.value),
        notes=tuple(notes),
    )


def _led_by_softer_matches(sought: UnitWeights) -> list[Floats]:
    """Weights that climbs on J at growing confidences come to, from spread directions.

    At a high confidence J is flat but for narrow ridges, which random places hardly ever meet.
    """
    if sought.evidence.is_empty:
        return []
    n = SPREAD * sought.n_starts
    found = []
    for start in spread_directions(sought.rng, n, sought.evidence.mdp.n_features):
        point = start
        for share in SHARES:
            softer = Mismatch(sought.evidence, share * sought.confidence, sought.features)
            point = sought.climb(softer, point, LEADING_STEPS).point
        found.append(point)
    return found
