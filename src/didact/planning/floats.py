"""Float planning with a proved error bound.

Deterministic models: policy iteration, each policy evaluated exactly in O(S) on its functional
graph. Others: policy iteration with inexact evaluation (BiCGSTAB; Gauss-Seidel sweeps when it
breaks down). The result is any value function V; what makes it an answer is the bound
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
REDUCTION = 0.05
MOST_STEPS = 200


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
    """R[s*A + a] = w.phi(s, a), and the largest sum of |w|.|phi|, which bounds its rounding."""
    features = mdp.features.floats
    rewards = features @ weights
    largest = float((np.abs(features) @ np.abs(weights)).max())
    if not np.isfinite(largest / (1.0 - float(mdp.exact_discount))):
        raise InvalidNumber("weights * features / (1 - discount) must stay below 1e308; rescale")
    if features.ndim == 2:
        rewards = np.repeat(rewards, mdp.n_actions)
    return np.ascontiguousarray(rewards.reshape(-1)), largest


def plan_in_floats(
    mdp: MDP, rewards: Floats, scale: float, allowed: NDArray[np.uint8] | None = None
) -> FloatPlan:
    """The best value of every state when only allowed actions may be taken.

    rewards: (S*A,), each within rounding of sums of k products whose absolute terms add up to at
    most `scale`. allowed: (S*A,) of 0 and 1; every non-terminal state needs one.
    """
    ends = mdp.terminal.view(np.uint8)
    if allowed is None:
        allowed = np.ones(rewards.size, dtype=np.uint8)
        policy = np.zeros(mdp.n_states, dtype=np.uint32)
    else:
        policy = allowed.reshape(mdp.n_states, -1).argmax(axis=1).astype(np.uint32)
    largest = scale / (1.0 - mdp.discount)
    if mdp.is_deterministic():
        values, n_rounds = _iterate_deterministic(mdp, rewards, ends, allowed, policy, largest)
        method = "policy iteration on the functional graph"
    else:
        values, n_rounds = _iterate_stochastic(mdp, rewards, ends, allowed, policy, largest)
        method = "policy iteration with BiCGSTAB"
    return _with_bound(mdp, rewards, allowed, values, policy, scale, method, n_rounds)


def single_successors(mdp: MDP) -> NDArray[np.uint32]:
    """The one next state of each row; its own state where the row is empty."""
    if "successor" not in mdp._derived:
        moves = mdp.transitions
        own = np.repeat(np.arange(mdp.n_states, dtype=np.uint32), mdp.n_actions)
        own[np.diff(moves.offsets) > 0] = moves.successors
        own.setflags(write=False)
        mdp._derived["successor"] = own
    found: NDArray[np.uint32] = mdp._derived["successor"]
    return found


def _iterate_deterministic(
    mdp: MDP,
    rewards: Floats,
    ends: NDArray[np.uint8],
    allowed: NDArray[np.uint8],
    policy: NDArray[np.uint32],
    largest: float,
) -> tuple[Floats, int]:
    n = mdp.n_states
    values = np.zeros(n)
    n_rounds = kernels.iterate_policies_deterministic.run(
        10 * rewards.size,
        n,
        mdp.n_actions,
        single_successors(mdp),
        ends,
        allowed,
        rewards,
        mdp.discount,
        32 * UNIT * largest,
        MOST_ROUNDS,
        policy,
        values,
        np.zeros(n),
        np.zeros(n, dtype=np.uint32),
        np.zeros(n, dtype=np.uint8),
        np.zeros(n, dtype=np.uint32),
    )
    if n_rounds < 0:
        raise NotConverged(f"policy iteration still switched actions after {MOST_ROUNDS} rounds")
    return values, int(n_rounds)


def _iterate_stochastic(
    mdp: MDP,
    rewards: Floats,
    ends: NDArray[np.uint8],
    allowed: NDArray[np.uint8],
    policy: NDArray[np.uint32],
    largest: float,
) -> tuple[Floats, int]:
    """Greedy sweeps and inexact evaluations in turn, until a sweep changes nothing that counts."""
    moves, n, discount = mdp.transitions, mdp.n_states, mdp.discount
    model = (n, mdp.n_actions, moves.offsets, moves.successors, moves.probabilities.floats, ends)
    work = 20 * moves.n_entries
    values = np.zeros(n)
    longest = int(np.diff(moves.offsets).max())
    offsets = np.zeros(n + 1, dtype=np.uint32)
    successors = np.zeros(n * longest, dtype=np.uint32)
    weights = np.zeros(n * longest)
    payments = np.zeros(n)
    workspace = [np.zeros(n) for _ in range(6)]
    best, stalled = np.inf, 0
    for n_rounds in range(1, MOST_ROUNDS + 1):
        change = kernels.backup.run(
            work, *model, allowed, rewards, discount, values, policy, 4 * UNIT * largest
        )
        reach = float(np.abs(values).max())
        stalled = 0 if change < 0.5 * best else stalled + 1
        best = min(best, change)
        if change <= 16 * UNIT * reach or (stalled >= 8 and change <= 1e-12 * reach):
            return values, n_rounds
        kernels.take_policy.run(
            work, *model, rewards, discount, policy, offsets, successors, weights, payments
        )
        steps = kernels.solve_policy.run(
            10 * work,
            n,
            offsets,
            successors,
            weights,
            payments,
            REDUCTION,
            MOST_STEPS,
            values,
            *workspace,
        )
        if steps < 0:
            if not np.isfinite(values).all():
                values[:] = 0.0
            kernels.sweep_policy.run(10 * work, *model, rewards, discount, values, policy, 20)
    raise NotConverged(
        f"policy iteration changed values by {best:.3g} after {MOST_ROUNDS} rounds; "
        "use arithmetic='exact' or a smaller discount"
    )


def _with_bound(
    mdp: MDP,
    rewards: Floats,
    allowed: NDArray[np.uint8],
    values: Floats,
    policy: NDArray[np.uint32],
    scale: float,
    method: str,
    n_rounds: int,
) -> FloatPlan:
    """The action values of V, and how far they can be from the true ones."""
    moves = mdp.transitions
    action_values = np.empty(rewards.size)
    if mdp.is_deterministic():
        np.multiply(values[single_successors(mdp)], mdp.discount, out=action_values)
        action_values += rewards
        ending = np.flatnonzero(mdp.terminal)
        action_values.reshape(mdp.n_states, -1)[ending] = rewards.reshape(mdp.n_states, -1)[ending]
        longest = 1
    else:
        kernels.action_values_of.run(
            moves.n_entries,
            rewards.size,
            moves.offsets,
            moves.successors,
            moves.probabilities.floats,
            rewards,
            mdp.discount,
            values,
            action_values,
        )
        longest = int(np.diff(moves.offsets).max())
    choices = action_values.reshape(mdp.n_states, -1)
    best = np.where(allowed.reshape(choices.shape) != 0, choices, -np.inf).max(axis=1)
    residual = float(np.abs(best - values).max())
    rounding = rounding_of_backup(mdp, scale, float(np.abs(values).max()), longest)
    error_bound = (residual + rounding) / contraction_gap(mdp) * (1 + 8 * UNIT) + rounding
    return FloatPlan(values, action_values, policy, residual, error_bound, method, n_rounds)


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
    return float(1 - mdp.exact_discount) * (1 - 4 * UNIT)
