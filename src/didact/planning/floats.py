"""Float planning with a proved error bound.

Deterministic models: policy iteration, each policy evaluated exactly in O(S) on its functional
graph. Others: policy iteration with inexact evaluation (BiCGSTAB; greedy sweeps when it breaks
down), and with direct solves where that goes in circles. The result is any value function V; what
makes it an answer is the bound |V - V*| <= (residual + rounding) / (1 - discount), which holds for
every V.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from didact.mdp import MDP
from didact.numerics.exact import Floats
from didact.planning.derived import UNIT, contraction_gap, longest_row, rounding_of_backup
from didact.planning.direct import iterate_directly
from didact.planning.graphs import graph_of, iterate_on_graph, new_graph_plan
from didact.planning.sweeps import back_up_values, iterate_by_sweeps, model_of, new_sweep_plan

MOST_ROUNDS = 1_000
"""Then direct solves take over."""


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
        found = new_graph_plan(mdp.n_states, policy)
        n_rounds = iterate_on_graph.run(
            10 * rewards.size,
            *(graph_of(mdp, allowed), rewards, 32 * UNIT * largest, MOST_ROUNDS, found),
        )
        values, method = found.values, "policy iteration on the functional graph"
    else:
        swept = new_sweep_plan(mdp, policy)
        n_rounds = iterate_by_sweeps.run(
            200 * mdp.transitions.n_entries,
            *(model_of(mdp, allowed), rewards, 4 * UNIT * largest, MOST_ROUNDS, swept),
        )
        values, method = swept.values, "policy iteration with BiCGSTAB"
    if n_rounds < 0:
        values, n_rounds = iterate_directly(mdp, rewards, allowed, policy)
        method = "policy iteration with direct solves"
    action_values, residual, error_bound = _with_bound(mdp, rewards, allowed, values, scale)
    return FloatPlan(values, action_values, policy, residual, error_bound, method, n_rounds)


def _with_bound(
    mdp: MDP, rewards: Floats, allowed: NDArray[np.uint8], values: Floats, scale: float
) -> tuple[Floats, float, float]:
    """The action values of V, its residual, and how far both can be from the true ones."""
    action_values = np.empty(rewards.size)
    residual = back_up_values.run(
        mdp.transitions.n_entries + rewards.size,
        *(model_of(mdp, allowed), rewards, values, action_values),
    )
    reach = max(float(values.max()), -float(values.min()))
    rounding = rounding_of_backup(mdp, scale, reach, longest_row(mdp))
    error_bound = (residual + rounding) / contraction_gap(mdp) * (1 + 8 * UNIT) + rounding
    return action_values, residual, error_bound
