"""Openness, and the reward that explains an observed policy best.

**Openness.** For a row r and the cone C of the rows shown, dist(r, C) is the largest -r.w over unit
rewards w that fit everything shown (Moreau): the most by which such a reward could prefer the other
action. The residual of the nearest point is, up to its sign, that reward: the witness.

**Nearest reward.** A policy may err under the reward it was trained for. Soft choices between its
action and each alternative have a likelihood that is concave in the weights: its maximum is the
nearest reward. A state in which another action is better even under it is not explained. Whether
any reward at all makes an action best is a question of its own rows: none does where they point to
all sides."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from didact.bec.nnls import residuals_from_cone
from didact.bec.observed.result import Observed
from didact.bec.observed.setting import Floats

SURE = 30.0
"""Confidence of soft choices, over the tolerance: a loss of the tolerance is e^-30 as likely."""
MANY = 0.5
"""Share of mistakes above which a report names the reward that the policy seems to follow."""
SAME = 1e-6
"""Distance of a unit row to a cone up to which it lies inside: rounding of NNLS."""


class Distances(NamedTuple):
    """Distances (n,) of rows to a cone, and their residuals (n, k): row minus nearest point."""

    lengths: Floats
    residuals: Floats


def distances_to_cone(generators: Floats, rows: Floats) -> Distances:
    """How far each row (n, k) is from the cone of these generators (m, k), which need no scale."""
    lengths = np.linalg.norm(generators, axis=1) if len(generators) else np.empty(0)
    units = generators[lengths > 0] / lengths[lengths > 0, None]
    if not len(units):
        return Distances(np.linalg.norm(rows, axis=1), rows.copy())
    sizes = np.linalg.norm(rows, axis=1)
    targets = rows / np.where(sizes > 0, sizes, 1.0)[:, None]
    residuals = residuals_from_cone(units, targets) * sizes[:, None]
    return Distances(np.linalg.norm(residuals, axis=1), residuals)


class ObservedNearest(NamedTuple):
    """Unit weights (k,) in the features' own units, the share of states that are mistakes under
    them, and the share that no reward explains."""

    weights: Floats
    mistaken: float
    unexplained: float


def nearest_to_observed(seen: Observed) -> ObservedNearest:
    """The reward that the policy seems to follow."""
    setting, rows = seen.setting, seen.scaled_rows
    n, _, k = rows.shape
    middle = most_likely(rows.reshape(-1, k), SURE / setting.tolerance)
    mistaken = float(((rows @ middle) < -setting.tolerance).any(axis=1).mean())
    own = middle / setting.scale
    never = sum(_nothing_explains(each, setting.tolerance) for each in rows)
    return ObservedNearest(own / max(float(np.linalg.norm(own)), 1e-300), mistaken, never / n)


def _nothing_explains(rows: Floats, tolerance: float) -> bool:
    """Whether no reward makes the action best by any margin: the cone of rows has the negative of
    their sum, though they are more than nothing."""
    long = rows[np.linalg.norm(rows, axis=1) > tolerance]
    if not len(long):
        return False
    units = long / np.linalg.norm(long, axis=1)[:, None]
    return bool((distances_to_cone(units, -units).lengths <= SAME).all())


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
