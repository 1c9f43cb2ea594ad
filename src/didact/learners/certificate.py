"""Do weights explain what was shown: is every shown action best, and every other one worse?

Answers, where some were given, must be true too: what was called better is worth no less.

Why it matters: if a lesson is complete and closed, weights that make the actions shown in each
shown state its optimal ones, and no others, lie inside the class that the lesson pins down. Then
the learner's policy loses nothing, however it breaks ties.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidParameter
from didact.inputs import shown
from didact.learners.evidence import Evidence, log_likelihood_of
from didact.mdp.model import as_weights
from didact.mdp.naming import pair_words
from didact.numerics.exact import Floats
from didact.planning import Plan, solve
from didact.planning.kernels import UNIT
from didact.teaching.feedback.halfspaces import item_words


@dataclass(frozen=True)
class Certificate:
    """Whether weights make exactly the shown actions optimal in the shown states.

    log_likelihood: of all demonstrations and answers under the softmax policy at `confidence`.
    by_likelihood: the likelihood alone proves it, being above 1/2 by more than its own error. Each
        shown pair then has probability above 1/2, since a product of probabilities is no larger
        than any of its factors; so its action beats every other one of its state strictly. Where
        two actions of one state are shown this cannot happen: their product is at most 1/4.
    holds: the proved plan of the weights (a float means its shortest decimal) has the shown
        actions, and no others, as the optimal ones of every shown state, and answers are true of
        the weights. None: not decided.
    reason: why, in words.
    pair: the state and action that the reason names, or None; files do not keep it.
    """

    log_likelihood: float
    confidence: float
    by_likelihood: bool
    holds: bool | None
    reason: str
    pair: tuple[int, int] | None = field(default=None, compare=False)

    def __str__(self) -> str:
        answer = {True: "holds", False: "does not hold", None: "is open"}[self.holds]
        return f"The certificate {answer}: {self.reason}."


def certify(evidence: Evidence, weights: Any, confidence: float) -> Certificate:
    """Decide whether weights (k,) make the shown actions optimal and all others worse."""
    confidence = as_confidence(confidence)
    plan = solve(evidence.mdp, weights)
    floats = as_weights(weights, evidence.mdp.n_features).floats
    total = log_likelihood_of(evidence, plan.action_values, floats, confidence)
    worths = evidence.answers.worths(plan.action_values, floats)
    error = _error_of_likelihood(evidence, plan, worths, confidence)
    by_likelihood = total - error > -math.log(2.0)
    if evidence.is_empty:
        return Certificate(total, confidence, True, True, "nothing was shown")
    if by_likelihood:
        reason = (
            f"the likelihood of all demonstrations, {math.exp(total):.3g}, is above 1/2, so every "
            "shown action beats every other one"
        )
        if len(evidence.answers):
            reason = (
                f"the likelihood of all that was shown and said, {math.exp(total):.3g}, is above "
                "1/2, so every shown action beats every other one and every answer is true"
            )
        return Certificate(total, confidence, True, True, reason)
    holds, reason, pair = _judged(evidence, plan)
    if holds is not False and len(evidence.answers):
        agree, said = _agreeing(evidence, plan, worths)
        if agree is not True or not evidence.n_pairs:
            holds, reason = agree, said
        elif holds:
            reason = f"{reason}, and {said}"
    return Certificate(total, confidence, False, holds, reason, pair)


def as_confidence(given: Any) -> float:
    """A confidence: a finite number from 0."""
    if isinstance(given, bool | np.bool_ | str) or not np.isscalar(given):
        raise InvalidParameter(f"confidence must be a number from 0; it is {shown(given)}")
    try:
        confidence = float(given)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        confidence = math.nan
    if not (math.isfinite(confidence) and confidence >= 0.0):
        raise InvalidParameter(f"confidence must be a finite number from 0; it is {shown(given)}")
    return confidence


def _error_of_likelihood(
    evidence: Evidence, plan: Plan, worths: Floats, confidence: float
) -> float:
    """How far the computed log likelihood can be from the one of the true action values.

    Each log probability moves by at most twice what its action values move; the rest is rounding.
    """
    most = max(float(np.abs(a).max(initial=0.0)) for a in (plan.action_values, worths))
    reach = confidence * most + 4.0
    units = 8.0 * (evidence.mdp.n_actions + evidence.counts.size + worths.size + 8) * UNIT
    n_terms = evidence.n_pairs + worths.size
    return n_terms * (2.0 * confidence * plan.error_bound + units * reach)


def _agreeing(evidence: Evidence, plan: Plan, worths: Floats) -> tuple[bool | None, str]:
    """Whether each answer is true of the weights: no alternative is worth more than one before.

    Trajectories that count the same, and actions that are both optimal, are worth the same.
    """
    answers, mdp = evidence.answers, evidence.mdp
    most = float(np.abs(worths).max()) + float(np.abs(plan.action_values).max())
    tolerance = 2.0 * plan.error_bound + 64.0 * UNIT * (mdp.n_features + 8) * most
    open_one = None
    for number, item in enumerate(answers.items):
        for i in range(int(answers.first[number]), int(answers.first[number + 1]) - 1):
            gap = float(worths[i + 1] - worths[i])
            if gap > tolerance:
                return False, f"it is not true of the weights that {item_words(mdp, item)}"
            if gap > -tolerance and not _is_equal(evidence, plan, i):
                open_one = open_one or item
    if open_one is None:
        return True, "all that was said is true of the weights"
    said = f"it is too close to tell whether it is true that {item_words(mdp, open_one)}"
    return None, f"{said}; exact arithmetic may decide"


def _is_equal(evidence: Evidence, plan: Plan, i: int) -> bool:
    """Whether alternatives i and i + 1 are surely worth the same."""
    answers = evidence.answers
    if not answers.of_actions[i]:
        return bool((answers.counts[i] == answers.counts[i + 1]).all())
    state = int(answers.states[i])
    return plan.is_proved and bool(plan.optimal[state, answers.actions[i : i + 2]].all())


def _judged(evidence: Evidence, plan: Plan) -> tuple[bool | None, str, tuple[int, int] | None]:
    """Compare the shown with the optimal actions of every shown state.

    The plan's optimal sets are never too small, so a shown action outside of them is refuted even
    where the plan is not proved; and a set of one action is right.
    """
    given = evidence.counts > 0
    best = plan.optimal[evidence.states]
    missed = given & ~best
    if missed.any():
        return False, *_worse_than_best(evidence, plan, missed)
    extra = best & ~given
    sure = plan.is_proved or bool((best.sum(axis=1) == 1).all())
    if sure and extra.any():
        pair = _first(evidence, extra)
        said = f"{pair_words(evidence.mdp, *pair)} is as good as what was shown there"
        return False, said, pair
    if sure:
        said = "in every shown state the shown actions are optimal and all others are worse"
        return True, said, None
    said = "some actions are too close to tell which is better; exact arithmetic may decide"
    return None, said, None


def _worse_than_best(
    evidence: Evidence, plan: Plan, missed: NDArray[np.bool_]
) -> tuple[str, tuple[int, int]]:
    """Names the shown action that falls short most, and by how much."""
    values = plan.action_values[evidence.states]
    gaps = np.where(missed, values.max(axis=1, keepdims=True) - values, -1.0)
    place, action = (int(i) for i in np.unravel_index(int(gaps.argmax()), gaps.shape))
    state = int(evidence.states[place])
    shown_one = pair_words(evidence.mdp, state, action)
    return f"{shown_one} is worse than the best there by {gaps[place, action]:.3g}", (state, action)


def _first(evidence: Evidence, mask: NDArray[np.bool_]) -> tuple[int, int]:
    place, action = np.argwhere(mask)[0].tolist()
    return int(evidence.states[place]), int(action)
