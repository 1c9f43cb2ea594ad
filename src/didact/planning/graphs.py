"""Deterministic models: policy iteration, each policy evaluated exactly on its functional graph.

Under a policy every state has one next state, so paths end in a terminal state or in a cycle, and
a cycle of length n is one equation: value = sum(discount^i * payment_i) / (1 - discount^n). All
values are found in O(S). Rounds end when no action is better by a tolerance. Terminal states are
worth their reward. Kernels on flat arrays: row s*A + a, no checks, no allocation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.mdp import MDP
from didact.numerics.compiled import kernel
from didact.planning.derived import single_successors


class Graph(NamedTuple):
    """A deterministic model, flat: where each row leads, which states end, which rows are allowed.

    successor: of an empty row its own state.
    """

    n_states: int
    n_actions: int
    discount: float
    successor: Any
    ends: Any
    allowed: Any


class Paths(NamedTuple):
    """The next state of each state under a policy, and room to walk there; S entries each."""

    following: Any
    seen: Any
    path: Any


class GraphPlan(NamedTuple):
    """A policy and its values (S,), which stay from one reward to the next, and their room."""

    policy: Any
    values: Any
    payments: Any
    paths: Paths


def graph_of(mdp: MDP, allowed: NDArray[np.uint8] | None = None) -> Graph:
    """The arrays of a deterministic model; without a mask all rows are allowed."""
    n_rows = mdp.n_states * mdp.n_actions
    return Graph(
        mdp.n_states,
        mdp.n_actions,
        mdp.discount,
        single_successors(mdp),
        mdp.terminal.view(np.uint8),
        np.ones(n_rows, dtype=np.uint8) if allowed is None else allowed,
    )


def new_paths(n_states: int, following: NDArray[np.uint32] | None = None) -> Paths:
    """Room for the paths of so many states."""
    first, path = np.zeros((2, n_states), dtype=np.uint32)
    seen = np.zeros(n_states, dtype=np.uint8)
    return Paths(first if following is None else following, seen, path)


def new_graph_plan(n_states: int, policy: NDArray[np.uint32] | None = None) -> GraphPlan:
    """A plan that begins with the policy, or with the first action everywhere."""
    first = np.zeros(n_states, dtype=np.uint32) if policy is None else policy
    values, payments = np.zeros((2, n_states))
    return GraphPlan(first, values, payments, new_paths(n_states))


@kernel
def walk_functional_graph(
    n_columns: int, discount: float, ends: Any, paths: Paths, payments: Any, values: Any
) -> None:
    """values[s] = payments[s] + discount * values[following[s]], all columns, in O(S).

    Walks each path until it meets a solved state, a terminal one or itself.
    """
    following, seen, path = paths
    n_states = len(path)
    for state in range(n_states):
        seen[state] = 0
    for root in range(n_states):
        if seen[root] != 0:
            continue
        length = 0
        state = root
        while seen[state] == 0 and ends[state] == 0:
            seen[state] = 1
            path[length] = state
            length += 1
            state = following[state]
        if seen[state] == 0:
            seen[state] = 2
            for c in range(n_columns):
                values[state * n_columns + c] = payments[state * n_columns + c]
        elif seen[state] == 1:
            first = length - 1
            while path[first] != state:
                first -= 1
            power = discount ** (length - first)
            for c in range(n_columns):
                total = 0.0
                for i in range(length - 1, first - 1, -1):
                    total = payments[path[i] * n_columns + c] + discount * total
                values[state * n_columns + c] = total / (1.0 - power)
            seen[state] = 2
        for i in range(length - 1, -1, -1):
            state = path[i]
            if seen[state] == 1:
                after = following[state]
                for c in range(n_columns):
                    values[state * n_columns + c] = (
                        payments[state * n_columns + c] + discount * values[after * n_columns + c]
                    )
                seen[state] = 2


@kernel
def improve_on_graph(graph: Graph, rewards: Any, tolerance: float, policy: Any, values: Any) -> int:
    """Switch every state to its best action if that is better by the tolerance; count switches."""
    successor, ends, allowed = graph.successor, graph.ends, graph.allowed
    switched = 0
    for state in range(graph.n_states):
        if ends[state] != 0:
            continue
        row = state * graph.n_actions
        own = policy[state]
        best = rewards[row + own] + graph.discount * values[successor[row + own]] + tolerance
        choice = own
        for action in range(graph.n_actions):
            if allowed[row + action] != 0:
                value = rewards[row + action] + graph.discount * values[successor[row + action]]
                if value > best:
                    best = value
                    choice = action
        if choice != own:
            policy[state] = choice
            switched += 1
    return switched


@kernel
def iterate_on_graph(
    graph: Graph, rewards: Any, tolerance: float, most: int, plan: GraphPlan
) -> int:
    """Policy iteration with exact evaluation; the number of rounds, or -1 after `most` of them."""
    n_states, n_actions, discount = graph.n_states, graph.n_actions, graph.discount
    successor, ends = graph.successor, graph.ends
    policy, values, payments, paths = plan.policy, plan.values, plan.payments, plan.paths
    following = paths.following
    for state in range(n_states):
        if ends[state] != 0:
            payments[state] = rewards[state * n_actions]
    for rounds in range(most):
        for state in range(n_states):
            if ends[state] == 0:
                row = state * n_actions + policy[state]
                payments[state] = rewards[row]
                following[state] = successor[row]
        walk_functional_graph(1, discount, ends, paths, payments, values)
        if improve_on_graph(graph, rewards, tolerance, policy, values) == 0:
            return rounds + 1
    return -1
