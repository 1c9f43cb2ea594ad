"""Float planning with a proved error bound.

Deterministic models: policy iteration, each policy evaluated exactly in O(S) on its functional
graph. Others: policy iteration with inexact evaluation (BiCGSTAB; greedy sweeps when it breaks
down). The result is any value function V; what makes it an answer is the bound
|V - V*| <= (residual + rounding) / (1 - discount), which holds for every V.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidNumber, NotConverged
from didact.mdp import MDP
from didact.numerics.exact import Floats
from didact.planning import kernels

UNIT = 2.0**-53
MOST_ROUNDS = 10_000
LARGEST = 1e300


@dataclass(frozen=True, eq=False)
class FloatPlan:
    """Values (S,), action values (S*A,), a greedy policy (S,), and the bound on their errors."""

    values: Floats
    action_values: Floats
    policy: NDArray[np.uint32]
    residual: float
    error_bound: float
    method: str
    n_rounds: int


def reward_table(mdp: MDP, weights: Floats) -> tuple[Floats, float]:
    """R[s*A + a] = w.phi(s, a), and a bound on the sums of |w|.|phi|, which bound its rounding."""
    features = mdp.features.floats
    if "largest_row" not in mdp._derived:
        mdp._derived["largest_row"] = float(np.abs(features).sum(axis=-1).max())
    scale = mdp._derived["largest_row"] * float(np.abs(weights).max())
    if not scale / (1.0 - mdp.discount) < LARGEST:
        raise InvalidNumber("weights * features / (1 - discount) must stay below 1e300; rescale")
    rewards = features @ weights
    if features.ndim == 2:
        return np.repeat(rewards, mdp.n_actions), scale
    return np.ascontiguousarray(rewards).reshape(-1), scale


def plan_in_floats(
    mdp: MDP, rewards: Floats, scale: float, allowed: NDArray[np.uint8] | None = None
) -> FloatPlan:
    """The best value of every state when only allowed actions may be taken.

    rewards: (S*A,), each within rounding of sums of k products whose absolute terms add up to at
    most `scale`. allowed: (S*A,) of 0 and 1; every non-terminal state needs one.
    """
    if allowed is None:
        allowed = np.ones(rewards.size, dtype=np.uint8)
        policy = np.zeros(mdp.n_states, dtype=np.uint32)
    else:
        policy = allowed.reshape(mdp.n_states, -1).argmax(axis=1).astype(np.uint32)
    largest = scale / (1.0 - mdp.discount)
    if mdp.is_deterministic():
        values, n_rounds = _iterate_deterministic(mdp, rewards, allowed, policy, largest)
        method = "policy iteration on the functional graph"
    else:
        values, n_rounds = _iterate_stochastic(mdp, rewards, allowed, policy, largest)
        method = "policy iteration with BiCGSTAB"
    if n_rounds < 0:
        raise NotConverged(
            f"policy iteration did not settle in {MOST_ROUNDS} rounds; "
            "use arithmetic='exact' or a smaller discount"
        )
    action_values, residual, error_bound = _with_bound(mdp, rewards, allowed, values, scale)
    return FloatPlan(values, action_values, policy, residual, error_bound, method, n_rounds)


def single_successors(mdp: MDP) -> NDArray[np.uint32]:
    """The one next state of each row of a deterministic model; its own where the row is empty."""
    if "successor" not in mdp._derived:
        moves = mdp.transitions
        own = np.repeat(np.arange(mdp.n_states, dtype=np.uint32), mdp.n_actions)
        own[np.diff(moves.offsets) > 0] = moves.successors
        own.setflags(write=False)
        mdp._derived["successor"] = own
    found: NDArray[np.uint32] = mdp._derived["successor"]
    return found


def longest_row(mdp: MDP) -> int:
    """The largest number of next states of one row."""
    if "longest_row" not in mdp._derived:
        mdp._derived["longest_row"] = int(np.diff(mdp.transitions.offsets).max(initial=1))
    return int(mdp._derived["longest_row"])


def _iterate_deterministic(
    mdp: MDP,
    rewards: Floats,
    allowed: NDArray[np.uint8],
    policy: NDArray[np.uint32],
    largest: float,
) -> tuple[Floats, int]:
    n = mdp.n_states
    values, payments = np.zeros((2, n))
    following, path = np.zeros((2, n), dtype=np.uint32)
    n_rounds = kernels.iterate_policies_deterministic.run(
        10 * rewards.size,
        n,
        mdp.n_actions,
        single_successors(mdp),
        mdp.terminal.view(np.uint8),
        allowed,
        rewards,
        mdp.discount,
        32 * UNIT * largest,
        MOST_ROUNDS,
        policy,
        values,
        payments,
        following,
        np.zeros(n, dtype=np.uint8),
        path,
    )
    return values, n_rounds


def _iterate_stochastic(
    mdp: MDP,
    rewards: Floats,
    allowed: NDArray[np.uint8],
    policy: NDArray[np.uint32],
    largest: float,
) -> tuple[Floats, int]:
    moves, n = mdp.transitions, mdp.n_states
    values, payments, *workspace = np.zeros((8, n))
    n_rounds = kernels.iterate_policies.run(
        200 * moves.n_entries,
        n,
        mdp.n_actions,
        moves.offsets,
        moves.successors,
        moves.probabilities.floats,
        mdp.terminal.view(np.uint8),
        allowed,
        rewards,
        mdp.discount,
        4 * UNIT * largest,
        UNIT,
        MOST_ROUNDS,
        policy,
        values,
        np.zeros(n + 1, dtype=np.uint32),
        np.zeros(n * longest_row(mdp), dtype=np.uint32),
        np.zeros(n * longest_row(mdp)),
        payments,
        *workspace,
    )
    return values, n_rounds


def _with_bound(
    mdp: MDP, rewards: Floats, allowed: NDArray[np.uint8], values: Floats, scale: float
) -> tuple[Floats, float, float]:
    """The action values of V, its residual, and how far both can be from the true ones."""
    moves = mdp.transitions
    action_values = np.empty(rewards.size)
    residual = kernels.back_up_values.run(
        moves.n_entries + rewards.size,
        mdp.n_states,
        mdp.n_actions,
        moves.offsets,
        moves.successors,
        moves.probabilities.floats,
        allowed,
        rewards,
        mdp.discount,
        values,
        action_values,
    )
    reach = max(float(values.max()), -float(values.min()))
    rounding = rounding_of_backup(mdp, scale, reach, longest_row(mdp))
    error_bound = (residual + rounding) / contraction_gap(mdp) * (1 + 8 * UNIT) + rounding
    return action_values, residual, error_bound


def rounding_of_backup(mdp: MDP, scale: float, reach: float, longest: int) -> float:
    """How far a computed R + discount * sum(p V) can be from the one in exact numbers.

    Stored features, weights, discount and probabilities are within rounding of the exact ones
    (probabilities of rows with n entries within 2n + 8 units), and sums of n products add n more.
    """
    return (
        1.01 * UNIT * ((mdp.n_features + 6) * scale + (3 * longest + 16) * mdp.discount * reach)
        + 1e-300
    )


def contraction_gap(mdp: MDP) -> float:
    """1 - discount, rounded down."""
    if "gap" not in mdp._derived:
        mdp._derived["gap"] = float(1 - mdp.exact_discount) * (1 - 4 * UNIT)
    return float(mdp._derived["gap"])
