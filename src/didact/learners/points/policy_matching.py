"""Policy matching: the weights whose softmax policy comes closest to what was seen.

J(w) = sum over shown states of share(s) * sum_a (p_w(a|s) - seen(a|s))^2, where share is how often
the state was shown, seen how often each action was, and p_w the softmax policy on Q*_w at a
confidence (Neu and Szepesvari 2007). As there, |w| = 1, since the confidence sets the scale.
Far from the solution p_w is all but certain of wrong actions and J is flat. The likelihood of the
same policy is not, and it has the same solutions where the demonstrations can be matched exactly
(Melo et al. 2010); so each climb begins with a few steps on the likelihood.
"""

from __future__ import annotations

import numpy as np

from didact.inputs import whole_number
from didact.learners.belief import Belief, point_belief
from didact.learners.certificate import as_confidence, certify
from didact.learners.evidence import Evidence
from didact.learners.gradients import Likelihood, ShownFeatures, softmax
from didact.learners.points.margin import is_closed, margin_weights
from didact.learners.points.multistart import (
    ANNEALED_STEPS,
    Norm,
    annealed_starts,
    as_norm,
    in_words,
    search,
)
from didact.numerics.exact import Floats

SOFTER = 0.1
"""Climbs begin on the likelihood at this share of the confidence, then at the whole of it."""


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
    confidence, n_starts, norm = (
        as_confidence(confidence),
        whole_number(n_starts, "n_starts", 1),
        as_norm(norm),
    )
    features = ShownFeatures(evidence)

    starts: list[Floats] = []
    if evidence.n_pairs:
        widest = margin_weights(evidence, rng.standard_normal(evidence.mdp.n_features), features)
        starts = [] if widest is None else [widest]
        if widest is None or not is_closed(evidence):
            starts += list(annealed_starts(evidence, confidence, rng, n_starts, norm))
    found = search(
        [
            Likelihood(evidence, SOFTER * confidence, features),
            Likelihood(evidence, confidence, features),
            Mismatch(evidence, confidence, features),
        ],
        rng,
        n_features=evidence.mdp.n_features,
        n_starts=n_starts,
        norm=norm,
        also=starts,
    )
    certificate = certify(evidence, found.best.point, confidence)
    notes = []
    if not evidence.n_pairs:
        notes.append("nothing was shown: all weights match it, and these were drawn at random")
    elif not found.best.is_summit:
        notes.append(f"the climb did not converge: a slope of {found.best.slope:.1e} is left")
    return point_belief(
        evidence.mdp,
        "policy-matching",
        evidence.demonstrations,
        found.best.point,
        log_posterior=certificate.log_likelihood,
        confidence=confidence,
        certificate=certificate,
        settings={
            "confidence": confidence,
            "n_starts": n_starts,
            "norm": norm,
            "mismatch": -found.best.value,
            "converged": found.best.is_summit,
            "convergence": in_words(found, "match"),
            "n_solves": features.n_solves,
            "n_annealed_steps": ANNEALED_STEPS * n_starts if len(starts) > 1 else 0,
        },
        notes=tuple(notes),
    )
