"""Means of independent values and how far they can be trusted."""

from __future__ import annotations

import math
from collections.abc import Sequence


def mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation, whatever the order of the values; NaN where they are too few."""
    n = len(values)
    mean = math.fsum(values) / n if n else math.nan
    if n < 2:
        return mean, math.nan
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))


def student_reach(n: int, level: float = 0.95) -> float:
    """How many standard errors the interval of a mean of n values reaches to each side."""
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, 0.5 + level / 2))
