"""Policy iteration with direct solves, for models on which inexact evaluations go in circles.

Each policy is solved by elimination, then improved wherever an action is better by more than
rounding. Policies whose values differ by less than that may follow one another for ever, so the
first one that comes again ends the rounds. What is returned has the least Bellman residual seen;
the bound of `plan_in_floats` holds for every value function, so it is an answer whatever ended it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from didact.errors import NotConverged
from didact.mdp import MDP
from didact.numerics.exact import Floats
from didact.planning.derived import UNIT
from didact.planning.linear import discounted_sums

MOST_ROUNDS = 200


def iterate_directly(
    mdp: MDP, rewards: Floats, allowed: NDArray[np.uint8], policy: NDArray[np.uint32]
) -> tuple[Floats, int]:
    """Values (S,) of the best policy found from this one on, and the rounds; `policy` follows."""
    pairs = rewards.reshape(mdp.n_states, mdp.n_actions)
    closed = allowed.reshape(pairs.shape) == 0
    states = np.arange(mdp.n_states)
    best, least, best_policy = np.zeros(mdp.n_states), np.inf, policy.copy()
    seen: set[bytes] = set()
    while policy.tobytes() not in seen and len(seen) < MOST_ROUNDS:
        seen.add(policy.tobytes())
        try:
            values = _values_of(mdp, pairs, policy)
        except NotConverged:
            break
        following = (mdp.transitions.matrix() @ values).reshape(pairs.shape)
        choices = np.where(closed, -np.inf, pairs + mdp.discount * following)
        residual = float(np.abs(choices.max(axis=1) - values).max())
        if residual < least:
            best, least, best_policy = values, residual, policy.copy()
        bar = choices[states, policy] + 4 * UNIT * float(np.abs(values).max())
        better = (choices.max(axis=1) > bar) & ~mdp.terminal
        policy[better] = choices[better].argmax(axis=1)
    policy[:] = best_policy
    return best, len(seen)


def _values_of(mdp: MDP, pairs: Floats, policy: NDArray[np.uint32]) -> Floats:
    """The values of a deterministic policy, corrected once by the solution for its residual."""
    states = np.arange(mdp.n_states)
    taken = np.zeros(pairs.shape)
    taken[states, policy] = 1.0
    taken[mdp.terminal] = 0.0
    paid = np.where(mdp.terminal, pairs[:, 0], pairs[states, policy])
    values = discounted_sums(mdp, taken, paid[:, None])[:, 0]
    rows = mdp.transitions.matrix()[states * mdp.n_actions + policy]
    missing = paid + mdp.discount * (rows @ values) - values
    return np.asarray(values + discounted_sums(mdp, taken, missing[:, None])[:, 0])
