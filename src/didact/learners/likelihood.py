"""The likelihood of what was shown and said, and its gradient in the weights, on exact values.

Inside one policy cell Q*_w(s, a) = mu(s, a).w with mu the successor features of an optimal policy,
so the gradient of log P(D | w) is confidence times the sum over shown states of
counts(s, a) mu(s, a) - n(s) sum_b p(b|s) mu(s, b); answers add theirs (see `evidence`). On the
border of cells the optimal policy is not unique; any of them gives the same value, and one of the
gradients that meet there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from didact.learners.evidence import Evidence, softmax
from didact.numerics.exact import Floats
from didact.planning.kernels import UNIT, iterate, model_of, new_plan, reward_table, roundings
from didact.planning.solve import MAX_ROUNDS, discounted_sums, iterate_directly
from didact.planning.successor import pair_features

EXPECTED_CALLS = 2_000
"""How often a learner asks for values, about: what a compiled kernel is worth here."""


class ShownFeatures:
    """Successor features of the shown states under an optimal policy, from weights to weights.

    Keeps the last optimal policy: most of the time it, or one close to it, is optimal for the next
    weights as well. The values do not depend on where it comes from, up to rounding.
    """

    def __init__(self, evidence: Evidence):
        mdp = evidence.mdp
        self.mdp = mdp
        self.states, _ = evidence.scored()
        self.n_solves = 0
        self._model, self._plan = model_of(mdp), new_plan(mdp)
        self._evaluated: NDArray[np.uint32] | None = None
        self._shown: Floats

    @property
    def policy(self) -> NDArray[np.uint32]:
        """The action of each state (S,) in the last optimal policy."""
        found: NDArray[np.uint32] = self._plan.policy
        return found

    def __call__(self, weights: Floats) -> Floats:
        """mu(s, a) of all actions of the shown states, shape (m, A, k); not to be changed."""
        self.n_solves += 1
        mdp = self.mdp
        rewards, scale = reward_table(mdp, weights)
        tolerance = roundings(mdp) * UNIT * scale / (1.0 - mdp.discount)
        work = EXPECTED_CALLS * rewards.size
        if iterate.run(work, self._model, rewards, tolerance, MAX_ROUNDS, self._plan) < 0:
            iterate_directly(mdp, rewards, self._model.allowed, self.policy)
        # Evaluation takes longer than planning, and neighbouring weights share their policy.
        if self._evaluated is None or (self._evaluated != self.policy).any():
            self._evaluated = self.policy.copy()
            self._shown = self._features_of(self._evaluated)
        return self._shown

    def _features_of(self, actions: NDArray[np.uint32]) -> Floats:
        """mu(s, a) of the shown states when actions (S,) follow."""
        mdp = self.mdp
        features, everywhere = mdp.features.floats, np.arange(mdp.n_states)
        policy = np.zeros((mdp.n_states, mdp.n_actions))
        policy[everywhere, actions] = 1.0
        policy[mdp.terminal] = 0.0
        payments = features if features.ndim == 2 else features[everywhere, actions]
        sums = discounted_sums(mdp, policy, np.ascontiguousarray(payments))
        return pair_features(mdp, sums)[self.states]


class Likelihood:
    """log P(D | w) of the softmax policy on Q*_w and of answers, and its gradient (k,), by w.

    features: an evaluator to share with other functions of the same evidence.
    """

    def __init__(
        self, evidence: Evidence, confidence: float, features: ShownFeatures | None = None
    ):
        self.evidence = evidence
        self.confidence = confidence
        self.features = ShownFeatures(evidence) if features is None else features
        states, self._counts = evidence.scored()
        self._totals = self._counts.sum(axis=1, keepdims=True)
        self._places = np.searchsorted(states, evidence.answers.states)

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """The value and the gradient at weights (k,)."""
        mu = self.features(weights)
        shares, logs = softmax(mu @ weights, self.confidence)
        surplus = self._counts - self._totals * shares
        gradient = self.confidence * (surplus.ravel() @ mu.reshape(-1, weights.size))
        value = float((self._counts * logs).sum())
        if not len(self.evidence.answers):
            return value, gradient
        said, more = self._said(mu, weights)
        return value + said, gradient + more

    def _said(self, mu: Floats, weights: Floats) -> tuple[float, Floats]:
        """Value and gradient of the answers; mu (m, A, k): of the states that they are about."""
        answers = self.evidence.answers
        counts = answers.counts.copy()
        acted = answers.of_actions
        counts[acted] = mu[self._places[acted], answers.actions[acted]]
        value, pulls = answers.judged(counts @ weights, self.confidence)
        return value, self.confidence * (pulls @ counts)

    @property
    def n_solves(self) -> int:
        """How many weight vectors were planned for."""
        return self.features.n_solves


def likelihood_gradient(
    evidence: Evidence, weights: Floats, confidence: float
) -> tuple[float, Floats]:
    """log P(D | w) and its gradient (k,) at one weight vector."""
    return Likelihood(evidence, confidence)(np.asarray(weights, dtype=np.float64))
