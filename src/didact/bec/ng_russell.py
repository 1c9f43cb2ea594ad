"""Ng and Russell's matrix form of the BEC (the appendix's corollary to Theorem 1).

A policy pi is optimal for the state rewards R if and only if, for every action a,

    (T_pi - T_a) (I - discount T_pi)^-1 R >= 0,

with T_a the transition matrix of always taking a. With R = Phi w the rows of
(T_pi - T_a) (I - discount T_pi)^-1 Phi are half-space normals: (I - discount T_pi)^-1 Phi are the
successor features mu(s), so the row of (s, a), multiplied by the discount, is
E[mu(s, pi(s))] - mu(s, a), the normal of Theorem 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from didact.errors import Unsupported
from didact.mdp import MDP, Task, as_mdp
from didact.numerics.exact import Floats
from didact.planning import float_successor_features, solve
from didact.planning.policies import as_policy


def ng_russell(task: MDP | Task, policy: Any = None) -> Floats:
    """Half-space normals (T_pi - T_a) (I - discount T_pi)^-1 Phi, shape (A, S, k), in floats.

    Weights w make the policy optimal if and only if all entries of `ng_russell(task, policy) @ w`
    are at least 0, up to rounding. Rows of terminal states, and of the policy's own action where
    it is deterministic, are 0. Source: the appendix, Example.

    task: an MDP or a task, whose features are of states, as in the paper.
    policy: in any form that `evaluate` takes; by default the task's optimal policy.
    """
    mdp = as_mdp(task)
    if mdp.has_action_features:
        raise Unsupported(
            "ng_russell is for rewards of states, as in the paper; these features are of "
            "state-action pairs. Use equivalence_class"
        )
    if policy is None:
        if not isinstance(task, Task):
            raise Unsupported("an MDP has no weights, so no optimal policy; give a policy")
        policy = solve(mdp, task.true_weights)
    chances = as_policy(mdp, policy)
    after = mdp.transitions.matrix() @ float_successor_features(mdp, chances).states
    by_action = after.reshape(mdp.n_states, mdp.n_actions, mdp.n_features)
    followed = np.einsum("sa,sak->sk", chances, by_action)
    return np.ascontiguousarray((followed[:, None, :] - by_action).transpose(1, 0, 2))
