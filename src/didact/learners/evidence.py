"""What was shown, counted: the part of demonstrations that a likelihood needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.mdp import MDP, Demonstration, Task, as_mdp, given_demonstrations
from didact.numerics.exact import Floats


@dataclass(frozen=True, eq=False)
class Evidence:
    """Demonstrations and how often each action was shown in each demonstrated state.

    states: (m,) ascending; counts: (m, A). Repeated pairs count each time. There may be none: then
    every reward explains them equally well, and a posterior is the prior.
    """

    mdp: MDP
    demonstrations: tuple[Demonstration, ...]
    states: NDArray[np.int64]
    counts: Floats

    @property
    def n_pairs(self) -> int:
        """How many pairs were shown, repetitions included."""
        return int(self.counts.sum())


def as_evidence(where: MDP | Task, demonstrations: Any) -> Evidence:
    """The evidence in demonstrations of this model: (state, action) pairs, in any grouping."""
    checked, mdp = given_demonstrations(demonstrations, where), as_mdp(where)
    pairs = [pair for demonstration in checked for pair in demonstration]
    shown = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    states, place = np.unique(shown[:, 0], return_inverse=True)
    counts = np.zeros((states.size, mdp.n_actions))
    np.add.at(counts, (place, shown[:, 1]), 1.0)
    states.setflags(write=False)
    counts.setflags(write=False)
    return Evidence(mdp, checked, states, counts)


def softmax_log_likelihood(evidence: Evidence, action_values: Floats, confidence: float) -> float:
    """log P(D | Q) = sum over pairs of confidence Q(s, a) - log sum_b exp(confidence Q(s, b)).

    action_values: (S, A). The best action of a state is subtracted first, so nothing overflows.
    """
    values = action_values[evidence.states]
    scaled = confidence * (values - values.max(axis=1, keepdims=True, initial=-np.inf))
    logs = scaled - np.log(np.exp(scaled).sum(axis=1, keepdims=True))
    return float((evidence.counts * logs).sum())
