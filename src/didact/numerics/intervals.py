"""Confidence intervals: Student's of a mean, Clopper and Pearson's of a share.

Sums are rounded once (`math.fsum`), so that the order of the values changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class MeanInterval(NamedTuple):
    """A mean, the ends of its interval, the standard deviation; NaN where there are too few."""

    mean: float
    low: float
    high: float
    spread: float


def mean_interval(values: Sequence[float], level: float = 0.95) -> MeanInterval:
    """The mean of some values and the interval that holds the true one with this probability."""
    n = len(values)
    mean = math.fsum(values) / n if n else math.nan
    if n < 2:
        return MeanInterval(mean, math.nan, math.nan, math.nan)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    half = student_reach(n, level) * spread / math.sqrt(n)
    return MeanInterval(mean, mean - half, mean + half, spread)


def student_reach(n: int, level: float = 0.95) -> float:
    """How many standard errors the interval of a mean of n values reaches to each side."""
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, 0.5 + level / 2))


def binomial_interval(successes: float, trials: float, level: float) -> tuple[float, float]:
    """Clopper and Pearson's interval of a probability, from independent trials.

    It holds the true probability at least as often as `level` says, for every probability and every
    number of trials. Counts need not be whole: they may be effective sample sizes.
    """
    from scipy.special import betaincinv

    tail, failures = (1.0 - level) / 2.0, trials - successes
    low = float(betaincinv(successes, failures + 1, tail)) if successes > 0 else 0.0
    return low, binomial_upper_bound(successes, trials, tail)


def binomial_upper_bound(successes: float, trials: float, delta: float) -> float:
    """Clopper and Pearson's upper bound of a probability, which is missed with at most delta."""
    from scipy.special import betaincinv

    failures = trials - successes
    return float(betaincinv(successes + 1, failures, 1.0 - delta)) if failures > 0 else 1.0
