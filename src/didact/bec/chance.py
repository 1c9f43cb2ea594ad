"""Rows in simulators whose steps depend on chance: means of repeated branches, and how sure.

Every situation is branched many times. A row is the mean, with the covariance of that mean; whether
a reward prefers the policy's action is then a test of one number, the row times the reward. What a
test cannot decide is undecided, and counts against whoever asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.bec.branching import MOST_COPIES, branched_rows
from didact.worlds.simulators.agents import Features, Policy
from didact.worlds.simulators.batches import Simulator

Floats = NDArray[np.float64]

WRONG = 0.01
"""How often a test may say of one row that it is certain when it is not."""


class Repeated(NamedTuple):
    """Mean rows (n, B, k), and the covariances of these means (n, B, k, k)."""

    rows: Floats
    covariances: Floats


def repeated_rows(
    simulator: Simulator,
    policy: Policy,
    features: Features,
    situations: Sequence[Any],
    firsts: Any,
    *,
    repeats: int,
    rng: np.random.Generator,
    discount: float,
    horizon: int,
    held: Sequence[int] | None = None,
) -> Repeated:
    """Rows of every situation, each branched `repeats` times with chance of its own."""
    n, n_branches = len(situations), len(firsts[0])
    step = max(1, MOST_COPIES // (n_branches * repeats))
    rows, covariances = [], []
    seeds = rng.integers(2**31, size=(n, repeats))
    for low in range(0, n, step):
        part = slice(low, low + step)
        found = branched_rows(
            *(simulator, policy, features),
            [situation for situation in situations[part] for _ in range(repeats)],
            np.repeat(np.asarray(firsts[part]), repeats, axis=0),
            discount=discount,
            horizon=horizon,
            held=held,
            seeds=seeds[part].ravel(),
        )
        each = found.reshape(-1, repeats, *found.shape[1:])
        centred = each - each.mean(axis=1, keepdims=True)
        spread = np.einsum("nrbi,nrbj->nbij", centred, centred)
        rows.append(each.mean(axis=1))
        covariances.append(spread / (repeats - 1) / repeats)
    return Repeated(np.concatenate(rows), np.concatenate(covariances))


def slack_of(covariances: Floats | None, weights: Floats, repeats: int) -> Floats | float:
    """How far rows . weights may be above the truth, (n, B), except WRONG of the time; 0 without
    chance. Student's t, as means of many repeats are nearly normal."""
    if covariances is None:
        return 0.0
    from scipy.stats import t

    variances = np.einsum("nbij,i,j->nb", covariances, weights, weights)
    return np.asarray(float(t.ppf(1 - WRONG, repeats - 1)) * np.sqrt(np.maximum(variances, 0.0)))
