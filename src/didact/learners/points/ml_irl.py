"""Maximum likelihood IRL: the unit weights under which the demonstrations are most likely.

The model is BIRL's: the demonstrator takes action a in state s with probability proportional to
exp(confidence Q*_w(s, a)). The confidence multiplies Q, so the length of w would act as a second
confidence; it is fixed: |w| = 1 in the Euclidean norm, or in the sum norm if asked.
(Lopes et al. 2009, Babes et al. 2011; here with exact action values and their exact slopes.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from didact.inputs import whole_number
from didact.learners.belief import Belief, point_belief
from didact.learners.certificate import Certificate, as_confidence, certify
from didact.learners.evidence import Evidence
from didact.learners.gradients import Likelihood, ShownFeatures
from didact.learners.points.bfgs import Ascent, ascend
from didact.learners.points.margin import is_closed, margin_weights
from didact.learners.points.multistart import (
    ANNEALED_STEPS,
    ORDERS,
    Norm,
    annealed_starts,
    as_norm,
    as_switch,
    in_words,
    search,
)
from didact.learners.points.ties import exactly_tied
from didact.numerics.exact import Floats

SOFTER = 0.1
"""Climbs begin at this share of the confidence, where far more of the sphere leads upwards."""
RAISE = 10.0
"""By how much the confidence is multiplied until the certificate holds ..."""
MOST_CONFIDENCE = 1e12
"""... and where that ends: beyond it rounding decides."""
AS_LIKELY = 1e-6
"""Loss of log likelihood, against its size, at which weights that keep ties exactly are taken."""


@dataclass(frozen=True, eq=False)
class _Answer:
    """A summit, at which confidence, and what it proves."""

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

    n_starts: how many spread directions the search climbs from, and from as many annealed
    populations; where the demonstrations allow it, also from the weights that explain them by the
    widest margin (if they are closed, that takes the place of the populations).
    raise_confidence: multiply the confidence by ten until the weights make every shown action
    optimal and every other one worse.
    """
    confidence, n_starts = as_confidence(confidence), whole_number(n_starts, "n_starts", 1)
    norm, raising = as_norm(norm), as_switch(raise_confidence, "raise_confidence")
    features = ShownFeatures(evidence)
    margins = _margins(evidence, features, rng)
    annealed = []
    if evidence.n_pairs and not (margins and is_closed(evidence)):
        annealed = list(annealed_starts(evidence, confidence, rng, n_starts, norm))
    found = search(
        [Likelihood(evidence, at, features) for at in (SOFTER * confidence, confidence)],
        rng,
        n_features=evidence.mdp.n_features,
        n_starts=n_starts,
        norm=norm,
        also=[*margins, *annealed],
    )
    answer = _Answer(found.best, confidence, certify(evidence, found.best.point, confidence))
    notes = _notes(evidence, found.best)
    if raising:
        margins = margins or _margins(evidence, features, rng, found.best.point)
        answer = _raised(evidence, answer, margins, features, rng, norm)
        notes += _notes_on_raising(answer, confidence)
    return point_belief(
        evidence.mdp,
        "ml-irl",
        evidence.demonstrations,
        answer.ascent.point,
        log_posterior=answer.ascent.value,
        confidence=answer.confidence,
        certificate=answer.certificate,
        settings={
            "confidence": confidence,
            "n_starts": n_starts,
            "norm": norm,
            "raise_confidence": raising,
            "converged": answer.ascent.is_summit,
            "convergence": in_words(found, "likelihood"),
            "n_solves": features.n_solves,
            "n_annealed_steps": ANNEALED_STEPS * n_starts if annealed else 0,
        },
        notes=notes,
    )


def _margins(
    evidence: Evidence,
    features: ShownFeatures,
    rng: np.random.Generator,
    first: Floats | None = None,
) -> list[Floats]:
    """The weights of widest margin, if any are found from these weights or from random ones."""
    if not evidence.n_pairs:
        return []
    start = rng.standard_normal(evidence.mdp.n_features) if first is None else first
    widest = margin_weights(evidence, start, features)
    return [] if widest is None else [widest]


def _raised(
    evidence: Evidence,
    answer: _Answer,
    margins: list[Floats],
    features: ShownFeatures,
    rng: np.random.Generator,
    norm: Norm,
) -> _Answer:
    """Climb at ten times the confidence, from where the last climb ended, until it is enough.

    As the confidence grows, the likelihood turns into the smallest margin by which shown actions
    win. So if there are weights with a margin m, the summit near them explains every demonstration
    from a confidence of about log(number of pairs and actions) / m on.
    """
    starts = [answer.ascent.point, *margins]
    at = answer.confidence
    answer = _tied(evidence, answer, features)
    while not answer.certificate.holds and at > 0.0 and at * RAISE <= MOST_CONFIDENCE:
        at *= RAISE
        function = Likelihood(evidence, at, features)
        climbs = [ascend(function, s, rng, radius=1.0, order=ORDERS[norm]) for s in starts]
        best = max(climbs, key=lambda ascent: ascent.value)
        answer = _Answer(best, at, certify(evidence, best.point, at))
        answer = _tied(evidence, answer, features)
        starts = [best.point, *margins]
    return answer


def _tied(evidence: Evidence, answer: _Answer, features: ShownFeatures) -> _Answer:
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
            return _Answer(moved, answer.confidence, certificate)
    return answer


def _notes(evidence: Evidence, best: Ascent) -> tuple[str, ...]:
    if not evidence.n_pairs:
        return (
            "nothing was shown: all weights are equally likely, and these were drawn at random",
        )
    if not best.is_summit:
        return (
            f"the climb did not converge: a slope of {best.slope:.1e} is left; "
            "try more starts or another confidence",
        )
    return ()


def _notes_on_raising(answer: _Answer, confidence: float) -> tuple[str, ...]:
    if answer.certificate.holds:
        return ()
    return (
        f"no confidence from {confidence:g} to {answer.confidence:g} explains all demonstrations: "
        f"{answer.certificate.reason}",
    )
