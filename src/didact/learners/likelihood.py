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

from didact.errors import NotConverged
from didact.learners.evidence import Evidence, softmax
from didact.mdp import MDP
from didact.numerics.exact import Floats
from didact.planning.kernels import (
    UNIT,
    iterate_on_graph,
    model_of,
    new_plan,
    reward_table,
    single_successors,
    walk_functional_graph,
)
from didact.planning.solve import DENSE_STATES, discounted_sums

MAX_ROUNDS = 1_000
"""Rounds of policy iteration before rounding is suspected of making it cycle."""

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
        self.policy = np.zeros(mdp.n_states, dtype=np.uint32)
        self.n_solves = 0
        self._known: NDArray[np.uint32] | None = None
        self._by_state = np.zeros((mdp.n_states, mdp.n_features))
        self._shown = np.zeros((self.states.size, mdp.n_actions, mdp.n_features))
        self._rows = (
            self.states[:, None] * mdp.n_actions + np.arange(mdp.n_actions)[None, :]
        ).ravel()
        self._payments = _payments(mdp, self.states)
        is_deterministic = mdp.is_deterministic()
        self._deterministic = _Walker(mdp, self.policy) if is_deterministic else None
        self._stochastic = None if is_deterministic else _Solver(mdp)

    def __call__(self, weights: Floats) -> Floats:
        """mu(s, a) of all actions of the shown states, shape (m, A, k); not to be changed."""
        self.n_solves += 1
        rewards, scale = reward_table(self.mdp, weights)
        tolerance = 4.0 * UNIT * scale / (1.0 - self.mdp.discount)
        for _ in range(3):
            if self._converges(weights, rewards, tolerance):
                return self._shown
            tolerance *= 32.0
        raise NotConverged("policy iteration did not settle; use a smaller discount")

    def _converges(self, weights: Floats, rewards: Floats, tolerance: float) -> bool:
        """Iterate policies until none is better by the tolerance; False after too many rounds."""
        if self._deterministic is not None:
            converged = self._deterministic.improve(rewards, tolerance)
            self._evaluate()
            return converged
        for _ in range(MAX_ROUNDS):
            self._evaluate()
            if not self._improve(rewards, self._by_state @ weights, tolerance):
                return True
        return False

    def _improve(self, rewards: Floats, values: Floats, tolerance: float) -> bool:
        """Switch every state to its best action if that is better; whether any was."""
        assert self._stochastic is not None
        after = self._stochastic.moves @ values
        q = (rewards + self.mdp.discount * after).reshape(self.mdp.n_states, -1)
        best = q.argmax(axis=1)
        everywhere = np.arange(self.mdp.n_states)
        better = q[everywhere, best] > q[everywhere, self.policy] + tolerance
        self.policy[better] = best[better]
        return bool(better.any())

    def _evaluate(self) -> None:
        """Successor features of the policy, unless they are known already."""
        if self._known is not None and (self._known == self.policy).all():
            return
        if self._deterministic is not None:
            self._deterministic.count(self._by_state)
            after = self._by_state[single_successors(self.mdp)[self._rows]]
        else:
            assert self._stochastic is not None
            self._by_state = self._stochastic.count(self.policy)
            after = (self._stochastic.moves @ self._by_state)[self._rows]
        self._shown = self._payments + self.mdp.discount * after.reshape(self._shown.shape)
        self._known = self.policy.copy()


class _Walker:
    """Policy iteration and successor features of a deterministic model, with their workspace."""

    def __init__(self, mdp: MDP, policy: NDArray[np.uint32]):
        """policy (S,): followed, and made optimal in place."""
        self.mdp, self.graph = mdp, model_of(mdp)
        self.plan = new_plan(mdp, policy)
        self.work = EXPECTED_CALLS * policy.size * mdp.n_actions

    def improve(self, rewards: Floats, tolerance: float) -> bool:
        """Make the policy optimal; False when it did not converge."""
        rounds = iterate_on_graph.run(
            self.work, self.graph, rewards, tolerance, MAX_ROUNDS, self.plan
        )
        return bool(rounds >= 0)

    def count(self, counts: Floats) -> None:
        """Successor features of the policy, written into counts (S, k)."""
        n, k = counts.shape
        taken = np.arange(n) * self.mdp.n_actions + self.plan.policy
        features = self.mdp.features.floats
        payments = features if features.ndim == 2 else features.reshape(-1, k)[taken]
        paths = self.plan.paths._replace(following=self.graph.successor[taken])
        walk_functional_graph.run(
            self.work,
            *(k, self.mdp.discount, self.graph.ends, paths),
            *(np.ascontiguousarray(payments).ravel(), counts.ravel()),
        )


class _Solver:
    """Successor features of a stochastic model, with its moves as matrices.

    moves: (S*A, S), sparse.
    """

    def __init__(self, mdp: MDP):
        self.mdp = mdp
        self.moves = mdp.transitions.matrix()
        self._dense = self.moves.toarray() if mdp.n_states <= DENSE_STATES else None

    def count(self, policy: NDArray[np.uint32]) -> Floats:
        """Successor features (S, k) of actions (S,)."""
        mdp, everywhere = self.mdp, np.arange(self.mdp.n_states)
        features = mdp.features.floats
        payments = features if features.ndim == 2 else features[everywhere, policy]
        if self._dense is not None:
            followed = self._dense[everywhere * mdp.n_actions + policy]
            followed[mdp.terminal] = 0.0
            return np.linalg.solve(np.eye(mdp.n_states) - mdp.discount * followed, payments)
        chosen = np.zeros((mdp.n_states, mdp.n_actions))
        chosen[everywhere, policy] = 1.0
        chosen[mdp.terminal] = 0.0
        return discounted_sums(mdp, chosen, np.ascontiguousarray(payments))


def _payments(mdp: MDP, states: NDArray[np.int64]) -> Floats:
    """phi(s, a) of the states; (m, A, k), or (m, 1, k) when actions do not matter."""
    features = mdp.features.floats[states]
    return features if features.ndim == 3 else features[:, None, :]


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
