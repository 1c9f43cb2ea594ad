"""What several studies draw: lines and bars with their intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from didact.studies.estimates import Estimate
from didact.studies.figure import Series


def line(name: str, xs: Sequence[float], estimates: Sequence[Estimate]) -> Series:
    """A line through means, with their intervals where there are any."""
    known = all(np.isfinite([found.low, found.high]).all() for found in estimates)
    return Series(
        name,
        tuple(float(x) for x in xs),
        tuple(found.mean for found in estimates),
        tuple(found.low for found in estimates) if known else None,
        tuple(found.high for found in estimates) if known else None,
    )


def bars(name: str, estimates: Sequence[Estimate]) -> Series:
    """A bar for each of the categories, with its interval."""
    return Series(
        name,
        tuple(float(place) for place in range(len(estimates))),
        tuple(found.mean for found in estimates),
        tuple(found.low for found in estimates),
        tuple(found.high for found in estimates),
    )
