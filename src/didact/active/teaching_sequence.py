"""Teaching sequences as benchmarks: what a teacher who knows the answer would show, in that order.

SCOT's sequence is greedy, a benchmark that active learning is measured against and no lower bound:
a learner with luck may need fewer. The exact minimum is a bound, but for one thing only: fewer
demonstrations of this kind cannot pin down the class of the reward. Both look at the true weights,
so neither is a way to ask.
"""

from __future__ import annotations

import numpy as np

from didact.active.situation import Situation
from didact.mdp import Demonstration
from didact.teaching import teach


def scot_sequence(situation: Situation, rng: np.random.Generator) -> Demonstration | None:
    """The next demonstration of SCOT's lesson; None when it is over."""
    return _next(situation, "scot")


def exact_sequence(situation: Situation, rng: np.random.Generator) -> Demonstration | None:
    """The next demonstration of the proved smallest lesson; None when it is over."""
    return _next(situation, "exact")


def _next(situation: Situation, teacher: str) -> Demonstration | None:
    if teacher not in situation.memory:
        lesson = teach(
            situation.task,
            teacher=teacher,
            horizon=situation.horizon,
            starts=situation.open_states.tolist(),
            known=situation.memory.get("known"),
            trim=False,
        )
        situation.memory[teacher] = list(lesson.demonstrations)
    left: list[Demonstration] = situation.memory[teacher]
    return left.pop(0) if left else None
