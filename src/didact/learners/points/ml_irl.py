"""Maximum likelihood IRL: the unit weights under which the demonstrations are most likely.

The model is BIRL's: the demonstrator takes action a in state s with probability proportional to
exp(confidence Q*_w(s, a)), and answers are as likely as `answers` says. The confidence multiplies
Q, so the length of w would act as a second confidence; it is fixed: |w| = 1 in the Euclidean norm,
or in the sum norm if asked.
(Lopes et al. 2009, Babes et al. 2011; here with exact action values and their exact slopes.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from didact.inputs import flag
from didact.learners.ascent import Ascent
from didact.learners.belief import Belief, point_belief
from didact.learners.evidence import Certificate, Evidence, Likelihood, ShownFeatures, certify
from didact.learners.points.margin import exactly_tied
from didact.learners.points.search import Norm, UnitWeights
from didact.numerics.exact import Floats

RAISE = 10.0
"""By how much the confidence is multiplied until the certificate holds ..."""
MAX_CONFIDENCE = 1e12
"""... and where that ends: beyond it rounding decides."""
AS_LIKELY = 1e-6
"""Loss of log likelihood, against its size, at which weights that keep ties exactly are taken."""


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
    sought = UnitWeights.sought(evidence, rng, confidence=confidence, n_starts=n_starts, norm=norm)
    raising = flag(raise_confidence, "raise_confidence")
    margins = sought.margins()
    whole = sought.confidence
    likelihood = Likelihood(evidence, whole, sought.features)
    found = sought.search(likelihood, [*margins, *sought.likely(explained=bool(margins))])
    answer = _Explanation(found.best, whole, certify(evidence, found.best.point, whole))
    notes = _notes(evidence, found.best)
    if raising:
        answer = _raised(sought, answer, margins or sought.margins(found.best.point))
        notes += _notes_on_raising(answer, whole)
    told = sought.told(found, "likelihood", settled=answer.ascent.is_maximum)
    return point_belief(
        evidence.mdp,
        "ml-irl",
        evidence.demonstrations,
        answer.ascent.point,
        log_posterior=answer.ascent.value,
        confidence=answer.confidence,
        certificate=answer.certificate,
        feedback=evidence.answers.items,
        settings={**sought.asked(), "raise_confidence": raising, **told},
        notes=notes,
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


def _notes(evidence: Evidence, best: Ascent) -> tuple[str, ...]:
    if evidence.is_empty:
        return (
            "nothing was shown: all weights are equally likely, and these were drawn at random",
        )
    if not best.is_maximum:
        return (
            f"the climb did not converge: a slope of {best.slope:.1e} is left; "
            "try more starts or another confidence",
        )
    return ()


def _notes_on_raising(answer: _Explanation, confidence: float) -> tuple[str, ...]:
    if answer.certificate.holds:
        return ()
    return (
        f"no confidence from {confidence:g} to {answer.confidence:g} explains all demonstrations: "
        f"{answer.certificate.reason}",
    )
