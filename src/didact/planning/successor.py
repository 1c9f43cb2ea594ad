"""Successor features: expected discounted feature counts, the paper's mu.

mu(s) = sum over a of pi(a|s) mu(s, a), mu(s, a) = phi(s, a) + discount * E[mu(next)], and a
terminal state counts phi once. k right-hand sides of one linear system.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidParameter
from didact.inputs import choice, explains_names
from didact.mdp import MDP, as_mdp
from didact.numerics.exact import Floats
from didact.numerics.texts import short_repr
from didact.planning.exact import ExactSuccessorFeatures, PolicyGraph, exact_model
from didact.planning.kernels import (
    UNIT,
    actions_by_state,
    contraction_gap,
    expected_next,
    feature_sizes,
    longest_row,
    rounding_of_backup,
)
from didact.planning.policies import as_policy
from didact.planning.solve import Plan, discounted_sums


@dataclass(frozen=True, eq=False)
class SuccessorFeatures:
    """mu of states (S, k) and pairs (S, A, k), and (k,) bounds on the errors of columns.

    mdp, policy: whose successor features they are, with action probabilities (S, A).
    """

    states: Floats
    pairs: Floats
    error_bounds: Floats
    mdp: MDP
    policy: Floats

    __repr__ = short_repr

    @property
    def error_bound(self) -> float:
        """A bound that holds for every entry."""
        return float(self.error_bounds.max(initial=0.0))

    def comparable(self) -> tuple[Floats, Floats]:
        """Counts of pairs (S, A, k) for differences of a state's actions, and (k,) error bounds.

        What all actions of a state pay alike is left out: it cancels, and its rounding would hide
        all that follows where the discount is small.
        """
        mdp = self.mdp
        if mdp.has_action_features:
            return self.pairs, self.error_bounds
        after = mdp.discount * expected_next(mdp, self.states).reshape(self.pairs.shape)
        longest = longest_row(mdp) + mdp.n_actions
        reach = np.maximum(self.states.max(axis=0), -self.states.min(axis=0))
        rounding = rounding_of_backup(mdp, 0.0, reach, longest)
        return after, np.asarray(mdp.discount * self.error_bounds * (1 + 8 * UNIT) + rounding)


@explains_names
def successor_features(
    mdp: MDP, policy: Any, *, arithmetic: Literal["float", "exact"] = "float"
) -> SuccessorFeatures | ExactSuccessorFeatures:
    """Successor features of a policy: expected discounted counts of features from each state.

    mdp: the model.
    policy: in any form that `evaluate` takes.
    arithmetic: 'float', or 'exact' for fractions; these need a policy that is uniform over some
        actions of each state, such as a Plan.
    """
    mdp = as_mdp(mdp)
    if choice(arithmetic, "arithmetic", ("float", "exact")) == "exact":
        return exact_successor_features(mdp, policy)
    return float_successor_features(mdp, as_policy(mdp, policy))


def float_successor_features(mdp: MDP, policy: Floats) -> SuccessorFeatures:
    """Successor features of action probabilities (S, A), with a proved error bound."""
    payments = policy_payments(mdp, policy)
    states = discounted_sums(mdp, policy, payments)
    pairs = pair_features(mdp, states)
    bounds = _bounds(mdp, policy, payments, states, pairs)
    return SuccessorFeatures(states, pairs, bounds, mdp, policy)


def pair_features(mdp: MDP, states: Floats) -> Floats:
    """mu(s, a) = phi(s, a) + discount * E[mu(next)], shape (S, A, k)."""
    after = mdp.discount * expected_next(mdp, states)
    features = mdp.features.floats
    paid = features if features.ndim == 3 else features[:, None, :]
    return np.asarray(after.reshape(mdp.n_states, mdp.n_actions, mdp.n_features) + paid)


def features_after(mdp: MDP, actions: NDArray[np.uint32]) -> Floats:
    """mu(s, a) (S, A, k) when one action of each state (S,) follows; without an error bound."""
    policy = np.zeros((mdp.n_states, mdp.n_actions))
    policy[np.arange(mdp.n_states), actions] = 1.0
    policy[mdp.terminal] = 0.0
    return pair_features(mdp, discounted_sums(mdp, policy, policy_payments(mdp, policy)))


def policy_payments(mdp: MDP, policy: Floats) -> Floats:
    """The features (S, k) that action probabilities (S, A) count at one step of each state."""
    features = mdp.features.floats
    if features.ndim == 2:
        return np.ascontiguousarray(features)
    payments = np.einsum("sa,sak->sk", policy, features)
    payments[mdp.terminal] = features[mdp.terminal, 0]
    return np.asarray(payments)


def _bounds(mdp: MDP, policy: Floats, payments: Floats, states: Floats, pairs: Floats) -> Floats:
    """(residual + rounding) / (1 - discount) for the states, one backup more for the pairs."""
    expected = np.einsum("sa,sak->sk", policy, pairs)
    if mdp.n_going < mdp.n_states:
        expected[mdp.terminal] = payments[mdp.terminal]
    residual = np.abs(expected - states).max(axis=0)
    longest = longest_row(mdp) + mdp.n_actions
    reach = np.maximum(states.max(axis=0), -states.min(axis=0))
    rounding = rounding_of_backup(mdp, feature_sizes(mdp), reach, longest)
    return np.asarray((residual + rounding) / contraction_gap(mdp) * (1 + 8 * UNIT) + rounding)


def exact_successor_features(mdp: MDP, policy: Any) -> ExactSuccessorFeatures:
    """Rational successor features of the policy that is uniform over the chosen actions."""
    model = exact_model(mdp)
    return ExactSuccessorFeatures.of(model, PolicyGraph.of(model, _uniform_choices(mdp, policy)))


def _uniform_choices(mdp: MDP, policy: Any) -> list[list[int]]:
    if isinstance(policy, Plan):
        return actions_by_state(policy.optimal)
    probabilities = as_policy(mdp, policy)
    taken = probabilities > 0
    equal = np.where(taken, 1.0 / np.maximum(taken.sum(axis=1, keepdims=True), 1), 0.0)
    if np.abs(probabilities - equal).max() > 1e-12:
        raise InvalidParameter(
            "exact successor features need a policy that gives equal probability to some "
            "actions of each state; this one does not. Use arithmetic='float'"
        )
    return actions_by_state(taken)
