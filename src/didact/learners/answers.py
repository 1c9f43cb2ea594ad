"""Other feedback than demonstrations as choices: what was chosen, among what, and how likely.

Somebody of confidence c who is asked which of several alternatives is best says so with a
probability proportional to exp(c worth). Of a comparison the worths are Q*_w(s, a) and Q*_w(s, b)
(Boltzmann); of a preference what the two trajectories count, discounted from their start, times w
(Bradley and Terry, 1952), and a correction says the same. A ranking is the choice of the best, then
of the best of the rest, and so on (Plackett and Luce); a stop the choice of being off, worth 0,
rather than of what would have followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from didact.mdp import MDP, Comparison, Demonstration, Stop
from didact.mdp.items import Feedback, has_ended, ways_of
from didact.numerics.exact import Floats

Indices = NDArray[np.int64]

NO_STATE = -1
"""Where an alternative is a trajectory and no action."""


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
                scaled = confidence * worths[left]
                scaled -= scaled.max(axis=1, keepdims=True)
                raised = np.exp(scaled)
                sums = raised.sum(axis=1, keepdims=True)
                total += float((scaled[:, 0] - np.log(sums[:, 0])).sum())
                pulls[left[:, 0]] += 1.0
                pulls[left] -= raised / sums
        return total, pulls

    @cached_property
    def _by_size(self) -> tuple[Indices, ...]:
        """The places (choices, alternatives) of all choices of as many alternatives."""
        sizes = np.diff(self.first)
        return tuple(
            self.first[:-1][sizes == size][:, None] + np.arange(size)
            for size in np.unique(sizes).tolist()
        )


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
