"""Learning although some demonstrations may be forged: the likelihood of BIRL with at most f lies.

A learner who is told of at most f lies holds their number, 0 to f, equally likely before, and so
all sets of demonstrations of one size. A forged demonstration takes any action with the same
probability, an honest one those of the softmax policy. With r_i = P(d_i | forged) / P(d_i | w),

    P(D | w) = product over i of P(d_i | w) * sum over j <= f of e_j(r) / ((f + 1) C(n, j)),

e_j the sum over all sets of j demonstrations of the product of their r_i. A reward that more than f
demonstrations exclude loses likelihood as the confidence grows, and one that at most f exclude
loses no more than their forgery costs: so the learner keeps the rewards that at most f exclude.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np

from didact.learners.evidence import Evidence, softmax
from didact.numerics.exact import Floats
from didact.planning.batch import action_values_of

MAX_DRAWS = 400
"""Draws of a posterior over which the probability of a forgery is averaged."""


@dataclass(frozen=True, eq=False)
class Lies:
    """At most so many of the demonstrations of some evidence are forged."""

    evidence: Evidence
    most: int
    confidence: float

    @cached_property
    def _counts(self) -> Floats:
        """How often each demonstration shows each action of each shown state (n, m * A)."""
        states, n_actions = self.evidence.states, self.evidence.mdp.n_actions
        found = np.zeros((len(self.evidence.demonstrations), len(states) * n_actions))
        for row, demonstration in zip(found, self.evidence.demonstrations, strict=True):
            pairs = np.array(list(demonstration), dtype=np.int64).reshape(-1, 2)
            np.add.at(row, np.searchsorted(states, pairs[:, 0]) * n_actions + pairs[:, 1], 1.0)
        return found

    @cached_property
    def _log_prior(self) -> Floats:
        """The log prior probability of each set of 0, 1, ... forged demonstrations, by its size."""
        n = len(self.evidence.demonstrations)
        return -np.log([(self.most + 1) * comb(n, size) for size in range(self.most + 1)])

    def log_ratios(self, action_values: Floats) -> Floats:
        """log r_i (n,) of each demonstration at action values (S, A)."""
        _, logs = softmax(action_values[self.evidence.states], self.confidence)
        forged = -np.log(self.evidence.mdp.n_actions)
        return np.asarray(self._counts @ (forged - logs.ravel()))

    def __call__(self, weights: Floats, action_values: Floats) -> float:
        """What the lies add to BIRL's log likelihood."""
        sums = log_subset_sums(self.log_ratios(action_values), self.most)
        return float(np.logaddexp.reduce(sums + self._log_prior))

    def forged(self, draws: Floats) -> Floats:
        """The probability that each demonstration is forged (n,), over draws (m, k) of weights."""
        kept = draws[np.unique(np.linspace(0, len(draws) - 1, MAX_DRAWS).astype(int))]
        ratios = np.array([self.log_ratios(q) for q in action_values_of(self.evidence.mdp, kept)])
        sums = log_subset_sums(ratios, self.most) + self._log_prior
        totals, found = np.logaddexp.reduce(sums, axis=1), np.empty(ratios.shape[1])
        for i in range(len(found)):
            others = log_subset_sums(np.delete(ratios, i, axis=1), self.most - 1)
            with_it = np.logaddexp.reduce(others + self._log_prior[1:], axis=1) + ratios[:, i]
            found[i] = np.exp(with_it - totals).mean()
        return found


def log_subset_sums(logs: Floats, most: int) -> Floats:
    """The log of the sum of exp(sum of logs) over all sets of 0, ..., most of the last axis."""
    before, found = np.zeros(logs.shape), [np.zeros(logs.shape[:-1])]
    for _ in range(most):
        # Of the first i, sets with the i-th add it to sets, one smaller, of those before it.
        running = np.logaddexp.accumulate(before + logs, axis=-1)
        found.append(running[..., -1])
        before = np.concatenate((np.full_like(running[..., :1], -np.inf), running[..., :-1]), -1)
    return np.stack(found, axis=-1)
