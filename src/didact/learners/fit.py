"""How well a recording fits a belief: how likely it is, and which steps are not believed.

A learner with a confidence c holds pi_w(a|s) proportional to exp(c Q_w(s, a)) for each of its draws
w. The probability of a step is the mean of pi_w(a|s) over the draws; the number of wrong steps that
such a teacher takes in the same states is the mean of its chance of an action that w makes worse.

How surprising so many wrong steps are is a posterior predictive p-value (Gelman, Meng and Stern,
1996) of that number: for each draw w, the chance that a teacher with w and this confidence takes at
least as many steps that w makes worse as were shown, in the states that were shown, and the mean of
it over the draws. Steps are independent given w, so the number has a Poisson-binomial distribution,
which is summed exactly.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidParameter
from didact.learners.belief import Belief
from didact.learners.evidence import as_evidence, log_likelihood_of
from didact.learners.risk import thinned
from didact.numerics.exact import Floats
from didact.planning.batch import action_values_of

MOST_DRAWS = 400
"""Fit is read from at most so many draws, evenly spaced along the chains."""
DOUBTED = 0.05
"""A step that is less probable is not believed."""
MOST_SUMMED = 200_000_000
"""Products that the distribution of wrong steps is summed from; draws are thinned to stay below."""
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

    n_steps: of the recording. log_likelihood: of the recording, answers included, under the
    most likely weights.
    wrong: the mean number of steps that a draw makes worse than another action; expected_wrong: how
    many of them a teacher of this confidence takes in the same states. p_value: the posterior
    predictive probability of at least so many wrong steps. doubted: the steps whose probability
    over the draws is below 5%.
    """

    n_steps: int
    log_likelihood: float
    wrong: float
    expected_wrong: float
    p_value: float
    doubted: tuple[DoubtedStep, ...]

    def to_dict(self) -> dict[str, Any]:
        """The same for machines."""
        return {**vars(self), "doubted": [asdict(step) for step in self.doubted]}


def fit_of(belief: Belief, *, most: int = MOST_DRAWS) -> Fit:
    """How well the demonstrations fit the belief about them; it must have a confidence."""
    if belief.confidence is None:
        raise InvalidParameter(f"learner {belief.learner!r} has no confidence to judge steps by")
    mdp, confidence = belief.mdp, float(belief.confidence)
    evidence = as_evidence(mdp, [*belief.demonstrations, *belief.feedback])
    draws = thinned(belief, max(most, belief.n_chains)).reshape(-1, mdp.n_features)
    size = max(1, 2_000_000 // (mdp.n_states * mdp.n_actions))
    shape = (mdp.n_states, mdp.n_actions)
    taken, worse, slips = np.zeros(shape), np.zeros(shape), np.zeros(mdp.n_states)
    tails: list[float] = []
    counts, states = evidence.counts, evidence.states
    for first in range(0, len(draws), size):
        values = action_values_of(mdp, draws[first : first + size])
        best = values.max(axis=2, keepdims=True)
        shares = np.exp(confidence * (values - best))
        shares /= shares.sum(axis=2, keepdims=True)
        bad = values < best - TIED * np.abs(values).max(axis=(1, 2), keepdims=True)
        taken += shares.sum(axis=0)
        worse += bad.sum(axis=0)
        astray = (shares * bad).sum(axis=2)
        slips += astray.sum(axis=0)
        shown_wrong = (counts * bad[:, states]).sum(axis=(1, 2)).astype(np.int64)
        tails += _tails(astray[:, states], counts.sum(axis=1).astype(np.int64), shown_wrong)
    taken, worse, slips = taken / len(draws), worse / len(draws), slips / len(draws)
    at_best = action_values_of(mdp, belief.map_weights[None])[0]
    return Fit(
        n_steps=evidence.n_pairs,
        log_likelihood=log_likelihood_of(evidence, at_best, belief.map_weights, confidence),
        wrong=float((counts * worse[states]).sum()),
        expected_wrong=float((counts.sum(axis=1) * slips[states]).sum()),
        p_value=float(np.mean(tails)),
        doubted=tuple(
            DoubtedStep(i, step, s, a, int(taken[s].argmax()), float(taken[s, a]))
            for i, demonstration in enumerate(belief.demonstrations)
            for step, (s, a) in enumerate(demonstration)
            if taken[s, a] < DOUBTED
        ),
    )


def _tails(chances: Floats, repeats: NDArray[np.int64], least: NDArray[np.int64]) -> list[float]:
    """The probability of at least `least` (n,) wrong steps, for each of n draws.

    chances: of a wrong step in each shown state (n, states); repeats: steps shown there. Draws are
    thinned where the sum would take long.
    """
    size = int(repeats.sum()) * (int(least.max(initial=0)) + 1)
    every = 1 + len(chances) * size // MOST_SUMMED
    chances, least = chances[::every], least[::every]
    below = np.zeros((len(chances), int(least.max(initial=0)) + 1))
    below[:, 0] = 1.0
    for state, n in enumerate(repeats.tolist()):
        chance = chances[:, state, None]
        for _ in range(n):
            below[:, 1:] = below[:, 1:] * (1 - chance) + below[:, :-1] * chance
            below[:, :1] *= 1 - chance
    reached = np.arange(below.shape[1]) < least[:, None]
    return [float(tail) for tail in np.clip(1.0 - (below * reached).sum(axis=1), 0.0, 1.0)]
