"""Random queries: the baseline that every other strategy should beat."""

from __future__ import annotations

import numpy as np

from didact.active.situation import Situation
from didact.numerics.exact import Floats


def random_queries(situation: Situation, rng: np.random.Generator) -> Floats:
    """Scores (S,) that are uniform random numbers, so each open state is equally likely."""
    return rng.random(situation.mdp.n_states)
