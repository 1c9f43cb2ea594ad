"""The likelihood of weights on deterministic models: policy iteration on the functional graph.

Every state has one successor under a policy, terminal states a sink that is worth nothing. The
states are kept in an order in which each comes after its successor (a cycle is opened at its head,
whose value is one equation), so evaluating the policy of the step before is one pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from didact.learners.chains.steps import Shown, log_likelihood, sampler_of
from didact.numerics.compiled import inlined, kernel
from didact.planning.kernels import largest_of

ULPS = 8.0 * 2.0**-53
"""An action is better only if it is better by this share of the largest value."""

PATIENCE = 30
"""Rounds after which that share grows, so that rounding cannot make policies go in circles."""


class GraphModel(NamedTuple):
    """Where each row leads, and the features of states, or of rows (by_action).

    successor: terminal states lead to the sink, state S. gaps[n] = 1 - discount**n: what a cycle of
    n states divides by. columns: feature j of all from place j * (S or S*A) on.
    """

    n_states: int
    n_actions: int
    discount: float
    by_action: int
    successor: Any
    gaps: Any
    columns: Any


class Tour(NamedTuple):
    """The states in an order in which each comes after the one that follows it.

    Cycle c of the n_cycles[0] fills lengths[c] places of `order` from heads[c] on, its head last.
    seen, path: room to find it.
    """

    following: Any
    order: Any
    heads: Any
    lengths: Any
    n_cycles: Any
    seen: Any
    path: Any


class GraphWork(NamedTuple):
    """The rewards of the last weights, and the policy that is optimal for them, with its values.

    rewards: of states or rows. chosen: the row that each state takes. values: the sink's last, 0.
    """

    rewards: Any
    payments: Any
    values: Any
    chosen: Any
    tour: Tour


@kernel
def weigh_features(columns: Any, weights: Any, rewards: Any) -> None:
    """rewards = sum_j weights[j] * column j; the columns lie one after the other."""
    n_rows = len(rewards)
    for i in range(n_rows):
        rewards[i] = weights[0] * columns[i]
    for j in range(1, len(weights)):
        first = j * n_rows
        weight = weights[j]
        for i in range(n_rows):
            rewards[i] += weight * columns[first + i]


@kernel
def arrange(tour: Tour) -> None:
    """Order the states anew, so that each comes after its successor."""
    following, order, heads, lengths = tour.following, tour.order, tour.heads, tour.lengths
    seen, path = tour.seen, tour.path
    n_states = len(order)
    for state in range(n_states):
        seen[state] = 0
    seen[n_states] = 2
    n_cycles = 0
    at = 0
    for root in range(n_states):
        length = 0
        state = root
        while seen[state] == 0:
            seen[state] = 1
            path[length] = state
            length += 1
            state = following[state]
        if seen[state] == 1:
            first = length - 1
            while path[first] != state:
                first -= 1
            heads[n_cycles] = at
            lengths[n_cycles] = length - first
            n_cycles += 1
        for i in range(length - 1, -1, -1):
            seen[path[i]] = 2
            order[at] = path[i]
            at += 1
    tour.n_cycles[0] = n_cycles


@kernel
def evaluate_in_order(model: GraphModel, payments: Any, tour: Tour, values: Any) -> None:
    """values[s] = payments[s] + discount * values[following[s]]."""
    following, order, discount = tour.following, tour.order, model.discount
    heads, lengths, gaps = tour.heads, tour.lengths, model.gaps
    for cycle in range(tour.n_cycles[0]):
        first = heads[cycle]
        length = lengths[cycle]
        total = 0.0
        for i in range(first, first + length):
            total = payments[order[i]] + discount * total
        values[order[first + length - 1]] = total / gaps[length]
    for i in range(len(order)):
        state = order[i]
        values[state] = payments[state] + discount * values[following[state]]


@inlined
def follow_better(model: GraphModel, values: Any, tolerance: float, following: Any) -> int:
    """Features of states: let every state lead to its best successor; how many were switched."""
    n_actions, successor = model.n_actions, model.successor
    switched = 0
    for state in range(model.n_states):
        own = following[state]
        best = values[own] + tolerance
        choice = own
        for row in range(state * n_actions, (state + 1) * n_actions):
            target = successor[row]
            if values[target] > best:
                best = values[target]
                choice = target
        if choice != own:
            following[state] = choice
            switched += 1
    return switched


@inlined
def choose_better(model: GraphModel, work: GraphWork, tolerance: float) -> int:
    """Features of pairs: let every state take its best row; how many were switched."""
    n_actions, discount, successor = model.n_actions, model.discount, model.successor
    rewards, values, chosen = work.rewards, work.values, work.chosen
    following = work.tour.following
    switched = 0
    for state in range(model.n_states):
        own = chosen[state]
        best = rewards[own] + discount * values[following[state]] + tolerance
        choice = own
        for row in range(state * n_actions, (state + 1) * n_actions):
            value = rewards[row] + discount * values[successor[row]]
            if value > best:
                best = value
                choice = row
        if choice != own:
            chosen[state] = choice
            following[state] = successor[choice]
            switched += 1
    return switched


@kernel
def plan_on_graph(model: GraphModel, work: GraphWork) -> None:
    """Optimal values of the rewards in `work`, by policy iteration from the policy left there."""
    rewards, payments, values = work.rewards, work.payments, work.values
    chosen, tour = work.chosen, work.tour
    share = ULPS
    rounds = 0
    while True:
        if model.by_action != 0:
            for state in range(model.n_states):
                payments[state] = rewards[chosen[state]]
            evaluate_in_order(model, payments, tour, values)
            switched = choose_better(model, work, share * largest_of(values))
        else:
            evaluate_in_order(model, rewards, tour, values)
            switched = follow_better(model, values, share * largest_of(values), tour.following)
        if switched == 0:
            break
        arrange(tour)
        rounds += 1
        if rounds > PATIENCE:
            share *= 2.0


@kernel
def score_on_graph(model: GraphModel, work: GraphWork, shown: Shown, weights: Any) -> float:
    """log P(D | w) with the exact optimal values of w."""
    n_actions, successor = model.n_actions, model.successor
    rewards, values = work.rewards, work.values
    states, shown_values = shown.states, shown.values
    weigh_features(model.columns, weights, rewards)
    plan_on_graph(model, work)
    for i in range(len(states)):
        first = states[i] * n_actions
        for a in range(n_actions):
            value = model.discount * values[successor[first + a]]
            if model.by_action != 0:
                value += rewards[first + a]
            shown_values[i * n_actions + a] = value
    found: float = log_likelihood(n_actions, shown, weights)
    return found


ON_GRAPH = sampler_of(score_on_graph)
