"""Rows in simulators whose steps depend on chance: means of repeated branches, and how sure.

Every situation is branched many times. A row is the mean, with the covariance of that mean; whether
a reward prefers the policy's action is then a test of one number, the row times the reward. What a
test cannot decide is undecided, and counts against whoever asks.

The test is the empirical Bernstein bound (Maurer and Pontil 2009, Theorem 4): the mean of n draws
within a range W, with sample variance V, is above the truth by more than

    sqrt(2 V L / n) + 7 W L / (3 (n - 1))

with probability at most 2 exp(-L), whatever the distribution. That is not so with Student's t: a
jackpot of 1 in 500 is missing from most samples of 100, and these look as if nothing varied.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.bec.branching import MOST_COPIES, branched_rows
from didact.bec.rewards import BranchRewards
from didact.worlds.simulators.agents import Features, Policy
from didact.worlds.simulators.batches import Simulator

Floats = NDArray[np.float64]

WRONG = 0.01
"""How often a test may say of one row that it is certain when it is not."""


class Repeated(NamedTuple):
    """Mean rows (n, B, k), the covariances of these means (n, B, k, k), and the least and the
    largest entries of rows of single repeats, (2, k)."""

    rows: Floats
    covariances: Floats
    extremes: Floats


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
    rewards: BranchRewards | None = None,
) -> Repeated:
    """Rows of every situation, each branched `repeats` times with chance of its own."""
    n, n_branches = len(situations), len(firsts[0])
    step = max(1, MOST_COPIES // (n_branches * repeats))
    rows, covariances, extremes = [], [], []
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
            rewards=rewards,
        )
        extremes.append(found.min(axis=(0, 1)))
        extremes.append(found.max(axis=(0, 1)))
        each = found.reshape(-1, repeats, *found.shape[1:])
        centred = each - each.mean(axis=1, keepdims=True)
        spread = np.einsum("nrbi,nrbj->nbij", centred, centred)
        rows.append(each.mean(axis=1))
        covariances.append(spread / (repeats - 1) / repeats)
    both = np.array(extremes)
    ends = np.stack([both.min(axis=0), both.max(axis=0)])
    return Repeated(np.concatenate(rows), np.concatenate(covariances), ends)


def slack_of(
    covariances: Floats | None, weights: Floats, repeats: int, span: float
) -> Floats | float:
    """How far rows . weights may be above the truth, (n, B), except WRONG of the time; 0 without
    chance. span: the range of rows . weights of single repeats."""
    if covariances is None:
        return 0.0
    variances = np.einsum("nbij,i,j->nb", covariances, weights, weights)
    return bernstein_slack(np.maximum(variances, 0.0), repeats, span)


def bernstein_slack(variances: Floats, repeats: int, span: float) -> Floats:
    """The empirical Bernstein bound; variances: of means of so many repeats."""
    size = math.log(2 / WRONG)
    return np.asarray(np.sqrt(2 * variances * size) + 7 * span * size / (3 * (repeats - 1)))


def enough_repeats(variance: float, repeats: int, span: float, tolerance: float) -> int:
    """Repeats for which the slack would be within the tolerance: so many, doubled often enough."""
    n = repeats
    while bernstein_slack(np.array(variance * repeats / n), n, span) > tolerance and n < 2**60:
        n *= 2
    return n


def joined_extremes(parts: Sequence[Floats | None]) -> Floats | None:
    """Of several measurements together."""
    given = [part for part in parts if part is not None]
    if not given:
        return None
    return np.stack([np.min([low for low, _ in given], axis=0),
                     np.max([high for _, high in given], axis=0)])  # fmt: skip
