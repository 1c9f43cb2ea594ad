"""How well a recording fits a belief: how likely it is, and which steps are not believed.

A learner with a confidence c holds pi_w(a|s) proportional to exp(c Q_w(s, a)) for each of its draws
w. The probability of a step is the mean of pi_w(a|s) over the draws; the number of wrong steps that
such a teacher takes in the same states is the mean of its chance of an action that w makes worse.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from didact.errors import InvalidParameter
from didact.learners.belief import Belief
from didact.learners.evidence import as_evidence, softmax_log_likelihood
from didact.learners.risk import thinned
from didact.planning.many_rewards import action_values_of

MOST_DRAWS = 400
"""Fit is read from at most so many draws, evenly spaced along the chains."""
DOUBTED = 0.05
"""A step that is less probable is not believed."""
TIED = 1e-9
"""Actions within this share of the largest value are tied."""


@dataclass(frozen=True)
class DoubtedStep:
    """A step that a learner does not believe: its probability, and the likeliest action there."""

    demonstration: int
    step: int
    state: int
    action: int
    likelier: int
    probability: float


@dataclass(frozen=True)
class Fit:
    """How well a recording fits what a learner made of it.

    n_steps: of the recording. log_likelihood: of the recording under the most likely weights.
    wrong: the mean number of steps that a draw makes worse than another action; expected_wrong: how
    many of them a teacher of this confidence takes in the same states. doubted: the steps whose
    probability over the draws is below 5%.
    """

    n_steps: int
    log_likelihood: float
    wrong: float
    expected_wrong: float
    doubted: tuple[DoubtedStep, ...]

    def to_dict(self) -> dict[str, Any]:
        """The same for machines."""
        return {**vars(self), "doubted": [asdict(step) for step in self.doubted]}


def fit_of(belief: Belief, *, most: int = MOST_DRAWS) -> Fit:
    """How well the demonstrations fit the belief about them; it must have a confidence."""
    if belief.confidence is None:
        raise InvalidParameter(f"learner {belief.learner!r} has no confidence to judge steps by")
    mdp, confidence = belief.mdp, float(belief.confidence)
    evidence = as_evidence(mdp, belief.demonstrations)
    draws = thinned(belief, max(most, belief.n_chains)).reshape(-1, mdp.n_features)
    size = max(1, 2_000_000 // (mdp.n_states * mdp.n_actions))
    shape = (mdp.n_states, mdp.n_actions)
    taken, worse, slips = np.zeros(shape), np.zeros(shape), np.zeros(mdp.n_states)
    for first in range(0, len(draws), size):
        values = action_values_of(mdp, draws[first : first + size])
        best = values.max(axis=2, keepdims=True)
        shares = np.exp(confidence * (values - best))
        shares /= shares.sum(axis=2, keepdims=True)
        bad = values < best - TIED * np.abs(values).max(axis=(1, 2), keepdims=True)
        taken += shares.sum(axis=0)
        worse += bad.sum(axis=0)
        slips += (shares * bad).sum(axis=(0, 2))
    taken, worse, slips = taken / len(draws), worse / len(draws), slips / len(draws)
    at_best = action_values_of(mdp, belief.map_weights[None])[0]
    counts, states = evidence.counts, evidence.states
    return Fit(
        n_steps=evidence.n_pairs,
        log_likelihood=softmax_log_likelihood(evidence, at_best, confidence),
        wrong=float((counts * worse[states]).sum()),
        expected_wrong=float((counts.sum(axis=1) * slips[states]).sum()),
        doubted=tuple(
            DoubtedStep(i, step, s, a, int(taken[s].argmax()), float(taken[s, a]))
            for i, demonstration in enumerate(belief.demonstrations)
            for step, (s, a) in enumerate(demonstration)
            if taken[s, a] < DOUBTED
        ),
    )
