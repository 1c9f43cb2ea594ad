"""What was shown and said, counted, and how likely it is: the part that all learners share.

Shown pairs: who has a confidence c (the paper's alpha) takes action a in state s with probability
exp(c Q(s, a)) / sum_b exp(c Q(s, b)).

Other feedback counts as choices. Somebody of confidence c who is asked which of several
alternatives is best says so with a probability proportional to exp(c worth). Of a comparison the
worths are Q*_w(s, a) and Q*_w(s, b) (Boltzmann); of a preference what the two trajectories count,
discounted from their start, times w (Bradley and Terry, 1952), and a correction says the same. A
ranking is the choice of the best, then of the best of the rest, and so on (Plackett and Luce); a
stop the choice of being off, worth 0, rather than of what would have followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.mdp import MDP, Comparison, Demonstration, Stop, Task, as_mdp
from didact.mdp.items import Feedback, has_ended, ways_of
from didact.mdp.recordings.formats import given_items
from didact.numerics.exact import Floats

Indices = NDArray[np.int64]

NO_STATE = -1
"""Where an alternative is a trajectory and no action."""


def softmax(values: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Probabilities and log probabilities (..., A) of actions or alternatives of these values.

    The best value is subtracted first, so nothing overflows.
    """
    best = values.max(axis=-1, keepdims=True, initial=-np.inf)
    scaled = confidence * (values - best)
    raised = np.exp(scaled)
    totals = raised.sum(axis=-1, keepdims=True)
    return raised / totals, scaled - np.log(totals)


@dataclass(frozen=True, eq=False)
class Answers:
    """Choices, one after the other; of each its alternatives, the best first.

    items: what was said, a choice each. first: (n + 1,), where the alternatives of each begin.
    states, actions: (m,), whose value an alternative is worth; NO_STATE where it is worth counts
    (m, k) times the weights.
    """

    items: tuple[Feedback, ...] = ()
    first: Indices = field(default_factory=lambda: np.zeros(1, np.int64))
    states: Indices = field(default_factory=lambda: np.zeros(0, np.int64))
    actions: Indices = field(default_factory=lambda: np.zeros(0, np.int64))
    counts: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    def __len__(self) -> int:
        return len(self.first) - 1

    @property
    def of_actions(self) -> NDArray[np.bool_]:
        """Which alternatives are actions (m,)."""
        return np.asarray(self.states != NO_STATE)

    def worths(self, action_values: Floats, weights: Floats) -> Floats:
        """What each alternative is worth (m,), from action values (S, A) and weights (k,)."""
        linear = self.counts @ weights if self.counts.size else np.zeros(len(self.states))
        return np.where(self.of_actions, action_values[self.states, self.actions], linear)

    def judged(self, worths: Floats, confidence: float) -> tuple[float, Floats]:
        """The log probability of all choices, and its slope in confidence times worths (m,)."""
        total, pulls = 0.0, np.zeros(len(worths))
        for places in self._by_size:
            for best in range(places.shape[1] - 1):
                left = places[:, best:]
                shares, logs = softmax(worths[left], confidence)
                total += float(logs[:, 0].sum())
                pulls[left[:, 0]] += 1.0
                pulls[left] -= shares
        return total, pulls

    @cached_property
    def _by_size(self) -> tuple[Indices, ...]:
        """The places (choices, alternatives) of all choices of as many alternatives."""
        sizes = np.diff(self.first)
        return tuple(
            self.first[:-1][sizes == size][:, None] + np.arange(size)
            for size in np.unique(sizes).tolist()
        )


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

    action_values: (S, A). Of the demonstrations alone: answers are judged by `Answers`.
    """
    _, logs = softmax(action_values[evidence.states], confidence)
    return float((evidence.counts * logs).sum())


def log_likelihood_of(
    evidence: Evidence, action_values: Floats, weights: Floats, confidence: float
) -> float:
    """The log likelihood of demonstrations and answers, from weights (k,) and their values."""
    answers = evidence.answers
    said, _ = answers.judged(answers.worths(action_values, weights), confidence)
    return softmax_log_likelihood(evidence, action_values, confidence) + said


def as_answers(mdp: MDP, items: Sequence[Feedback]) -> Answers:
    """What checked items of a model say, as choices."""
    first, states, actions, counts = [0], [], [], []
    for item in items:
        for state, action, row in _alternatives(mdp, item):
            states.append(state)
            actions.append(action)
            counts.append(row)
        first.append(len(states))
    if not first[-1]:
        return Answers()
    return Answers(
        tuple(items),
        np.array(first, dtype=np.int64),
        np.array(states, dtype=np.int64),
        np.array(actions, dtype=np.int64),
        np.array(counts),
    )


def _alternatives(mdp: MDP, item: Feedback) -> list[tuple[int, int, Floats]]:
    """(state, action, counts (k,)) of what was chosen among, the best first."""
    nothing = np.zeros(mdp.n_features)
    if isinstance(item, Comparison):
        return [(item.state, action, nothing) for action in (item.better, item.other)]
    if isinstance(item, Stop):
        rest = trajectory_features(mdp, item.way, item.after)
        return [(NO_STATE, 0, nothing), (NO_STATE, 0, rest)]
    return [(NO_STATE, 0, trajectory_features(mdp, way)) for way in ways_of(item)]


def trajectory_features(mdp: MDP, way: Demonstration, after: int = 0) -> Floats:
    """Discounted feature counts (k,) of a trajectory from a step on, with the end where it ends."""
    features, moves = mdp.features.floats, mdp.transitions
    total = np.zeros(mdp.n_features)
    for step in range(after, len(way)):
        state, action = way[step]
        paid = features[state, action] if features.ndim == 3 else features[state]
        total += mdp.discount**step * paid
    if has_ended(way, mdp):
        state, action = way[-1]
        row = state * mdp.n_actions + action
        ends = slice(moves.offsets[row], moves.offsets[row + 1])
        for target, share in zip(
            moves.successors[ends].tolist(), moves.probabilities.floats[ends].tolist(), strict=True
        ):
            paid = features[target, 0] if features.ndim == 3 else features[target]
            total += mdp.discount ** len(way) * share * paid
    return total
