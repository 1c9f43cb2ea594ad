"""What was shown and said, counted: the part of it that a likelihood needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.learners.answers import NO_STATE, Answers, as_answers
from didact.mdp import MDP, Demonstration, Task, as_mdp
from didact.mdp.recordings.formats import given_items
from didact.numerics.exact import Floats


@dataclass(frozen=True, eq=False)
class Evidence:
    """Demonstrations, how often each action was shown in each demonstrated state, and answers.

    states: (m,) ascending; counts: (m, A). Repeated pairs count each time. answers: what other
    feedback says. There may be none of all: then every reward explains it equally well, and a
    posterior is the prior.
    """

    mdp: MDP
    demonstrations: tuple[Demonstration, ...]
    states: NDArray[np.int64]
    counts: Floats
    answers: Answers = field(default_factory=Answers)

    @property
    def n_pairs(self) -> int:
        """How many pairs were shown, repetitions included."""
        return int(self.counts.sum())

    @property
    def is_empty(self) -> bool:
        """Whether nothing was shown and nothing was said."""
        return not self.n_pairs and not len(self.answers)

    def scored(self) -> tuple[NDArray[np.int64], Floats]:
        """The states whose actions' values a likelihood needs, and how often each was shown."""
        asked = self.answers.states[self.answers.states != NO_STATE]
        if not asked.size:
            return self.states, self.counts
        states = np.union1d(self.states, asked)
        counts = np.zeros((states.size, self.mdp.n_actions))
        counts[np.searchsorted(states, self.states)] = self.counts
        return states, counts


def as_evidence(where: MDP | Task, given: Any) -> Evidence:
    """The evidence in what was shown and said of this model.

    given: demonstrations, as (state, action) pairs in any grouping, and other feedback.
    """
    items, mdp = given_items(given, where), as_mdp(where)
    checked = tuple(item for item in items if isinstance(item, Demonstration))
    said = [item for item in items if not isinstance(item, Demonstration)]
    pairs = [pair for demonstration in checked for pair in demonstration]
    shown = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    states, place = np.unique(shown[:, 0], return_inverse=True)
    counts = np.zeros((states.size, mdp.n_actions))
    np.add.at(counts, (place, shown[:, 1]), 1.0)
    states.setflags(write=False)
    counts.setflags(write=False)
    return Evidence(mdp, checked, states, counts, as_answers(mdp, said))


def softmax_log_likelihood(evidence: Evidence, action_values: Floats, confidence: float) -> float:
    """log P(D | Q) = sum over pairs of confidence Q(s, a) - log sum_b exp(confidence Q(s, b)).

    action_values: (S, A). The best action of a state is subtracted first, so nothing overflows.
    Of the demonstrations alone: answers are judged by `Answers`.
    """
    values = action_values[evidence.states]
    scaled = confidence * (values - values.max(axis=1, keepdims=True, initial=-np.inf))
    logs = scaled - np.log(np.exp(scaled).sum(axis=1, keepdims=True))
    return float((evidence.counts * logs).sum())


def log_likelihood_of(
    evidence: Evidence, action_values: Floats, weights: Floats, confidence: float
) -> float:
    """The log likelihood of demonstrations and answers, from weights (k,) and their values."""
    answers = evidence.answers
    said, _ = answers.judged(answers.worths(action_values, weights), confidence)
    return softmax_log_likelihood(evidence, action_values, confidence) + said
