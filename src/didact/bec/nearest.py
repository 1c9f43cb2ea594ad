"""The reward that explains an observed policy best, and what no reward explains.

A policy may err under the reward it was trained for. Soft choices between its action and each
alternative have a likelihood that is concave in the weights: its maximum is the nearest reward. A
situation that another action would improve even for it is not explained. Whether any reward at all
makes an action best is a question of its own rows: none does where they point to all sides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.bec.observed import Observed
from didact.bec.openness import distances_to_cone

Floats = NDArray[np.float64]

SURE = 30.0
"""Over the tolerance, how sure soft choices are."""
MANY = 0.5
"""Share of mistakes from which a policy is told to follow another reward."""


class Nearest(NamedTuple):
    """Unit weights (k,) in the features' own units, the share of situations that are mistakes for
    them, and the share that no reward explains."""

    weights: Floats
    mistaken: float
    unexplained: float


def nearest_reward(seen: Observed) -> Nearest:
    """The reward that the policy seems to follow."""
    setting, rows = seen.setting, seen.scaled_rows
    n, _, k = rows.shape
    middle = most_likely(rows.reshape(-1, k), SURE / setting.tolerance)
    mistaken = float(((rows @ middle) < -setting.tolerance).any(axis=1).mean())
    own = middle / setting.scale
    never = sum(_nothing_explains(each, setting.tolerance) for each in rows)
    return Nearest(own / max(float(np.linalg.norm(own)), 1e-300), mistaken, never / n)


def _nothing_explains(rows: Floats, tolerance: float) -> bool:
    """Whether no reward makes the action best by any margin: the cone of rows has the negative of
    their sum, though they are more than nothing."""
    long = rows[np.linalg.norm(rows, axis=1) > tolerance]
    if not len(long):
        return False
    units = long / np.linalg.norm(long, axis=1)[:, None]
    return bool((distances_to_cone(units, -units).lengths <= 1e-6).all())


def most_likely(rows: Floats, confidence: float) -> Floats:
    """The unit weights for which soft choices of the rows' winners are most likely."""
    from scipy.optimize import minimize

    def loss(weights: Floats) -> tuple[float, Floats]:
        margins = confidence * (rows @ weights)
        total = np.logaddexp(0.0, -margins).sum() + 0.5 * weights @ weights
        slopes = -0.5 * (1.0 - np.tanh(0.5 * margins))
        return float(total), confidence * (slopes @ rows) + weights

    found = minimize(loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B").x
    return np.asarray(found / max(float(np.linalg.norm(found)), 1e-300))
