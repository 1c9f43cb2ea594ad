"""The hardest question of a lesson: the smallest difference in return that a step shown rests on.

Whoever is shown an action must be able to believe that every worse one is worse. At each step shown
the least bad of them counts; optimal ones are worth the same and ask nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from didact.bec.parts import Part, exact_gap
from didact.mdp import Demonstration


def hardest_step(parts: Sequence[Part], shown: Sequence[Demonstration]) -> Fraction | float | None:
    """What the least bad other action costs at any step shown; None where all are worth the same.

    A fraction where the class is exact.
    """
    margins = (_hardest_of(part, part.own(shown)) for part in parts)
    return min((margin for margin in margins if margin is not None), default=None)


def _hardest_of(part: Part, shown: Iterable[Demonstration]) -> Fraction | float | None:
    plan = part.plan
    steps = {state: action for way in shown for state, action in way}
    states, actions = (np.array(list(x), dtype=np.int64) for x in (steps, steps.values()))
    values = plan.action_values[states]
    gaps = np.where(plan.optimal[states], np.inf, plan.values[states, None] - values)
    if not np.isfinite(gaps).any():
        return None
    if part.counts is None:
        return float(gaps.min())
    error = plan.error_bound + np.spacing(np.abs(values).max())
    near = np.argwhere(gaps <= gaps.min() + 4.0 * error).tolist()  # floats do not tell them apart
    found = [exact_gap(part, int(states[i]), other, int(actions[i])) for i, other in near]
    return min(gap for gap in found if gap is not None)
