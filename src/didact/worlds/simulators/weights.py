"""Weights of a simulator's features, as people give them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidParameter
from didact.inputs import FAILURES, plain_array, shown


def as_weights(given: Any, n_features: int) -> NDArray[np.float64]:
    """One finite number for each feature, not all of them 0."""
    try:
        weights = np.array(plain_array(given, "weights"), dtype=np.float64)
    except FAILURES:
        weights = np.empty(0)
    if weights.shape != (n_features,) or not np.isfinite(weights).all() or not weights.any():
        raise InvalidParameter(
            f"weights must be {n_features} finite numbers, one for each feature, and not all 0; "
            f"they are {shown(given)}"
        )
    return weights
