"""The random baseline: demonstrations drawn from the optimal policy, duplicates dropped."""

from __future__ import annotations

import numpy as np

from didact.errors import InvalidParameter
from didact.numerics.exact import shown
from didact.teaching.covers.problem import Problem


def random_demonstrations(problem: Problem, rng: np.random.Generator, n: int = 20) -> list[int]:
    """Draw n candidates with replacement, as the paper does; each drawn one is shown once."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise InvalidParameter(f"n must be a whole number from 1; it is {shown(n)}")
    drawn = rng.integers(len(problem.candidates), size=n).tolist()
    distinct = list(dict.fromkeys(drawn))
    return distinct if problem.budget is None else distinct[: problem.budget]
