"""Random queries: the baseline that every other strategy should beat."""

from __future__ import annotations

import numpy as np

from didact.active.situation import Situation
from didact.inputs import flag
from didact.numerics.exact import Floats


def random_queries(
    situation: Situation, rng: np.random.Generator, *, comparisons: bool = False
) -> Floats:
    """Scores (S,) that are uniform random numbers, so each open state is equally likely.

    comparisons: ask which of two actions is better: scores (S, A, A) instead.
    """
    n_states, n_actions = situation.mdp.n_states, situation.mdp.n_actions
    if flag(comparisons, "comparisons"):
        return rng.random((n_states, n_actions, n_actions))
    return rng.random(n_states)
