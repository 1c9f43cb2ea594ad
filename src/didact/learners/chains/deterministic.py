"""The likelihood of weights on deterministic models: policy iteration on the functional graph.

Every state has one successor under a policy, terminal states a sink that is worth nothing. The
states are kept in an order in which each comes after its successor (a cycle is opened at its head,
whose value is one equation), so evaluating the policy of the step before is one pass.
"""

from __future__ import annotations

from typing import Any

from didact.learners.chains.steps import (
    NEW_LIKELIHOOD,
    begin_step,
    end_step,
    log_likelihood,
)
from didact.numerics.compiled import kernel

ULPS = 8.0 * 2.0**-53
"""An action is better only if it is better by this share of the largest value."""

PATIENCE = 30
"""Rounds after which that share grows, so that rounding cannot make policies go in circles."""


@kernel
def weigh_features(columns: Any, n_rows: int, weights: Any, rewards: Any) -> None:
    """rewards = sum_j weights[j] * column j; the columns lie one after the other."""
    for i in range(n_rows):
        rewards[i] = weights[0] * columns[i]
    for j in range(1, len(weights)):
        first = j * n_rows
        weight = weights[j]
        for i in range(n_rows):
            rewards[i] += weight * columns[first + i]


@kernel
def arrange(
    n_states: int,
    following: Any,
    order: Any,
    heads: Any,
    lengths: Any,
    seen: Any,
    path: Any,
) -> int:
    """Order the states so that each comes after its successor; the number of cycles.

    Cycle c fills lengths[c] places of `order` from heads[c] on, its head last. State n_states is
    the sink.
    """
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
    return n_cycles


@kernel
def evaluate_in_order(
    n_states: int,
    n_cycles: int,
    discount: float,
    gaps: Any,
    payments: Any,
    following: Any,
    order: Any,
    heads: Any,
    lengths: Any,
    values: Any,
) -> float:
    """values[s] = payments[s] + discount * values[following[s]]; the largest |value|.

    gaps[n] = 1 - discount**n: what a cycle of n states divides by.
    """
    for cycle in range(n_cycles):
        first = heads[cycle]
        length = lengths[cycle]
        total = 0.0
        for i in range(first, first + length):
            total = payments[order[i]] + discount * total
        values[order[first + length - 1]] = total / gaps[length]
    for i in range(n_states):
        state = order[i]
        values[state] = payments[state] + discount * values[following[state]]
    reach = 0.0
    for state in range(n_states):
        reach = max(reach, abs(values[state]))
    return reach


@kernel
def follow_better(
    n_states: int, n_actions: int, successor: Any, values: Any, tolerance: float, following: Any
) -> int:
    """Features of states: let every state lead to its best successor; how many were switched."""
    switched = 0
    for state in range(n_states):
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


@kernel
def choose_better(
    n_states: int,
    n_actions: int,
    discount: float,
    successor: Any,
    rewards: Any,
    values: Any,
    tolerance: float,
    chosen: Any,
    following: Any,
) -> int:
    """Features of pairs: let every state take its best row; how many were switched."""
    switched = 0
    for state in range(n_states):
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
def plan_on_graph(model: Any, work: Any) -> None:
    """Optimal values of the rewards in `work`, by policy iteration from the policy left there."""
    n_states, n_actions, discount, by_action, successor, gaps = model
    rewards, payments, values, chosen, following, order, heads, lengths, seen, path, cycles = work
    share = ULPS
    rounds = 0
    while True:
        if by_action != 0:
            for state in range(n_states):
                payments[state] = rewards[chosen[state]]
            reach = evaluate_in_order(
                n_states, cycles[0], discount, gaps, payments, following, order, heads, lengths,
                values,
            )  # fmt: skip
            switched = choose_better(
                n_states, n_actions, discount, successor, rewards, values, share * reach, chosen,
                following,
            )  # fmt: skip
        else:
            reach = evaluate_in_order(
                n_states, cycles[0], discount, gaps, rewards, following, order, heads, lengths,
                values,
            )  # fmt: skip
            switched = follow_better(
                n_states, n_actions, successor, values, share * reach, following
            )
        if switched == 0:
            break
        cycles[0] = arrange(n_states, following, order, heads, lengths, seen, path)
        rounds += 1
        if rounds > PATIENCE:
            share *= 2.0


@kernel
def score_on_graph(model: Any, work: Any, columns: Any, evidence: Any, weights: Any) -> float:
    """log P(D | w) with the exact optimal values of w."""
    n_actions, discount, by_action, successor = model[1], model[2], model[3], model[4]
    rewards, values = work[0], work[2]
    confidence, shown, counts, shown_values = evidence
    weigh_features(columns, len(rewards), weights, rewards)
    plan_on_graph(model, work)
    for i in range(len(shown)):
        first = shown[i] * n_actions
        for a in range(n_actions):
            value = discount * values[successor[first + a]]
            if by_action != 0:
                value += rewards[first + a]
            shown_values[i * n_actions + a] = value
    found: float = log_likelihood(len(shown), n_actions, confidence, shown_values, counts)
    return found


@kernel
def try_on_graph(
    t: int,
    model: Any,
    work: Any,
    columns: Any,
    evidence: Any,
    proposal: Any,
    randomness: Any,
    chain: Any,
) -> int:
    """Propose weights with random numbers t and score them; 0 if they lie outside of the prior."""
    inside: int = begin_step(proposal, randomness[0], randomness[1], t, chain)
    if inside != 0:
        chain[3][NEW_LIKELIHOOD] = score_on_graph(model, work, columns, evidence, chain[1])
    return inside


@kernel
def run_on_graph(
    n_steps: int,
    model: Any,
    work: Any,
    columns: Any,
    evidence: Any,
    proposal: Any,
    randomness: Any,
    chain: Any,
    samples: Any,
    densities: Any,
) -> None:
    """So many steps of a chain; randomness: noise, shuffles, levels, read from 0 on."""
    for t in range(n_steps):
        inside = try_on_graph(t, model, work, columns, evidence, proposal, randomness, chain)
        end_step(inside, randomness[2][t], chain, samples, densities)
