"""The random baseline: demonstrations drawn from the optimal policy, duplicates dropped."""

from __future__ import annotations

import numpy as np

from didact.inputs import whole_number
from didact.teaching.covers.problem import Problem


def random_demonstrations(problem: Problem, rng: np.random.Generator, n: int = 20) -> list[int]:
    """Draw n candidates with replacement, as the paper does; each drawn one is shown once."""
    drawn = rng.integers(len(problem.candidates), size=whole_number(n, "n", 1)).tolist()
    distinct = list(dict.fromkeys(drawn))
    return distinct if problem.budget is None else distinct[: problem.budget]
