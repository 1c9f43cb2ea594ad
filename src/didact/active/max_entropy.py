"""Max entropy queries (Lopes, Melo and Montesano 2009): ask where the action is least known.

In each state and for each action the belief has a distribution of pi_w(a|s), the probability that
a softmax demonstrator with weights w takes the action. It is put into bins of [0, 1], and the score
of a state is the mean over the actions of the entropies of those histograms. It is not the entropy
of the mean policy: two actions that are known to be equally good are known, and score 0.
"""

from __future__ import annotations

import numpy as np

from didact.active.situation import Situation
from didact.inputs import whole_number
from didact.numerics.exact import Floats

BINS = 10
"""The paper's number of bins, K."""

EDGE = 1e-9
"""A probability so little above the edge of a bin lies on it: ties come with rounding."""


def max_entropy(situation: Situation, rng: np.random.Generator, *, n_bins: int = BINS) -> Floats:
    """The score of every state (S,): how spread the belief is over its action probabilities."""
    return binned_entropy(situation.policies, n_bins)


def binned_entropy(policies: Floats, n_bins: int = BINS) -> Floats:
    """Mean over the actions of the entropy, in nats, of the binned pi_w(a|s): (S,).

    policies: (draws, S, A). Bins are open on the left and closed on the right, as in the paper, so
    1/2 is in the fifth of ten; the first one holds 0 too.
    """
    count = whole_number(n_bins, "n_bins", 1)
    n_draws, n_states, n_actions = policies.shape
    scores = np.zeros(n_states)
    for action in range(n_actions):
        bins = _bins(policies[:, :, action], count)
        for number in range(count):
            shares = (bins == number).sum(axis=0) / n_draws
            scores += entropy_terms(shares)
    return np.asarray(scores / n_actions)


def _bins(probabilities: Floats, n_bins: int) -> Floats:
    """The bin of each probability, from 0."""
    return np.clip(np.ceil(probabilities * n_bins - EDGE) - 1.0, 0.0, n_bins - 1.0)


def entropy_terms(probabilities: Floats) -> Floats:
    """-p log p of each entry; 0 where p is 0."""
    return np.asarray(-probabilities * np.log(np.where(probabilities > 0.0, probabilities, 1.0)))
