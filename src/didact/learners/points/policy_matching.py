"""Policy matching: the weights whose softmax policy comes closest to what was seen.

J(w) = sum over shown states of share(s) * sum_a (p_w(a|s) - seen(a|s))^2, where share is how often
the state was shown, seen how often each action was, and p_w the softmax policy on Q*_w at a
confidence (Neu and Szepesvari 2007). As there, |w| = 1, since the confidence sets the scale.
Far from the solution p_w is all but certain of wrong actions and J is flat. The likelihood of the
same policy is not, and it has the same solutions where the demonstrations can be matched exactly
(Melo et al. 2010); so climbs begin at its maxima. Where they cannot be matched the solutions
differ, and the likelihood leads to the wrong maximum; so J is also looked at in many random
directions, and climbed from the best of them, until a round of that brings nothing better.
"""

from __future__ import annotations

import numpy as np

from didact.learners.belief import Belief, point_belief
from didact.learners.evidence import Evidence, ShownFeatures, certify, softmax
from didact.learners.points.search import Norm, Search, UnitWeights, spread_directions
from didact.numerics.exact import Floats

SHARES, SPREAD = (0.003, 0.01, 0.03, 0.1, 0.3), 4
"""Shares of the confidence that lead further climbs, and how many of them for each start."""

LEADING_STEPS = 60
"""Steps of each of them: it only has to show the way."""


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
    sought = UnitWeights.sought(evidence, rng, confidence=confidence, n_starts=n_starts, norm=norm)
    margins = sought.margins()
    likely = sought.likely(explained=bool(margins))
    function = Mismatch(evidence, sought.confidence, sought.features)
    starts = [*margins, *likely, *_led_by_softer_matches(sought)]
    found = sought.search(function, starts, scouts=True)
    is_confirmed = found.best.is_maximum and found.is_confirmed
    certificate = certify(evidence, found.best.point, sought.confidence)
    return point_belief(
        evidence.mdp,
        "policy-matching",
        evidence.demonstrations,
        found.best.point,
        log_posterior=certificate.log_likelihood,
        confidence=sought.confidence,
        certificate=certificate,
        settings={
            **sought.asked(),
            "mismatch": -found.best.value,
            **sought.told(found, "match", settled=is_confirmed),
        },
        notes=_notes(evidence, found),
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


def _notes(evidence: Evidence, found: Search) -> tuple[str, ...]:
    if not evidence.n_pairs:
        return ("nothing was shown: all weights match it, and these were drawn at random",)
    if not found.is_confirmed:
        return (f"the search did not end: {found.n_scouts} random places still led to better ones",)
    if not found.best.is_maximum:
        return (f"the climb did not converge: a slope of {found.best.slope:.1e} is left",)
    return ()
