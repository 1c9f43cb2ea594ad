"""Means over trials with their intervals, and what can be said of them.

An interval is Student's, of 95%. A question about a mean is answered yes or no where the interval
lies on one side, and left open (None) where it does not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from didact.numerics.intervals import mean_interval
from didact.studies.study import Record

LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean over n trials, their standard deviation, and the 95% interval of the mean."""

    mean: float
    low: float
    high: float
    spread: float
    n: int

    @property
    def is_positive(self) -> bool | None:
        """Whether the mean is above 0: yes or no when its interval lies on one side, else None."""
        if self.low > 0:
            return True
        return False if self.high < 0 else None

    def is_within(self, margin: float) -> bool | None:
        """Whether it is within a margin of 0: yes or no when its interval is in or out of it."""
        if -margin <= self.low and self.high <= margin:
            return True
        return False if self.low > margin or self.high < -margin else None

    def told(self, decimals: int = 2) -> str:
        """'2.93 (1.76 to 4.09)', or the number alone where nothing is known about its spread."""
        mean = f"{self.mean:.{decimals}f}"
        if not math.isfinite(self.low):
            return mean
        return f"{mean} ({self.low:.{decimals}f} to {self.high:.{decimals}f})"


def estimate(values: Iterable[float]) -> Estimate:
    """The mean of the values with its interval; of one value nothing but the value is known."""
    found = [float(value) for value in values]
    return Estimate(*mean_interval(found, LEVEL), len(found))


def known(value: float) -> Estimate:
    """A number that is known, not estimated."""
    return Estimate(float(value), math.nan, math.nan, math.nan, 1)


def differences(records: Sequence[Record], one: Any, other: Any) -> Estimate:
    """The mean of one(record) - other(record): a paired comparison on the same trials."""
    return estimate(one(record) - other(record) for record in records)


def all_of(answers: Iterable[bool | None]) -> bool | None:
    """Whether all hold: no when one does not, unknown when one is not decided."""
    found = list(answers)
    if False in found:
        return False
    return None if None in found or not found else True
