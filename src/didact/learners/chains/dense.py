"""The likelihood of weights on small stochastic models: the resolvent of the last policy is kept.

Column t of the resolvent, resolvent[t*S + i], says how often t is visited from i, discounted:
(I - discount T)^-1. While the policy stays optimal, values are counts times weights; a state that
switches its action changes one row of T, and Sherman and Morrison's formula follows it. The
Bellman residual is looked at each time, so that values are right to rounding whatever the
updates have lost; where one correction is not enough, the resolvent is computed anew.
"""

from __future__ import annotations

from typing import Any

from didact.learners.chains.deterministic import PATIENCE, ULPS, weigh_features
from didact.learners.chains.steps import (
    NEW_LIKELIHOOD,
    begin_step,
    end_step,
    log_likelihood,
)
from didact.numerics.compiled import kernel

RESIDUAL = 16.0 * 2.0**-53
"""Values are corrected while the residual is above this share of the largest one."""

CORRECTIONS = 3
"""How often, before the resolvent is computed anew; and how often after that."""

MOST_UPDATES = 200
"""Rank-one changes after which the resolvent is computed anew in any case."""

MANY_SWITCHES = 6
"""The resolvent is computed anew when more than a state in so many switches."""


@kernel
def factor(
    n_states: int, discount: float, moves: Any, chosen: Any, resolvent: Any, pivots: Any
) -> None:
    """The resolvent by Gauss-Jordan elimination, unpivoted: the matrix is diagonally dominant."""
    offsets, successors, probabilities = moves
    for i in range(n_states * n_states):
        resolvent[i] = 0.0
    for state in range(n_states):
        resolvent[state * n_states + state] = 1.0
        row = chosen[state]
        for e in range(offsets[row], offsets[row + 1]):
            resolvent[successors[e] * n_states + state] -= discount * probabilities[e]
    for pivot in range(n_states):
        first = pivot * n_states
        scale = 1.0 / resolvent[first + pivot]
        resolvent[first + pivot] = 1.0
        for i in range(n_states):
            pivots[i] = scale * resolvent[first + i]
            resolvent[first + i] = pivots[i]
        for state in range(n_states):
            share = resolvent[state * n_states + pivot]
            if state != pivot and share != 0.0:
                other = state * n_states
                resolvent[other + pivot] = 0.0
                for i in range(n_states):
                    resolvent[other + i] -= share * pivots[i]


@kernel
def count_features(
    n_states: int, n_rows: int, columns: Any, chosen: Any, resolvent: Any, counts: Any
) -> None:
    """counts[j*S + i]: discounted sum of feature j from state i on. Rows are states or pairs."""
    n_actions = n_rows // n_states
    for i in range(len(counts)):
        counts[i] = 0.0
    for j in range(len(counts) // n_states):
        for state in range(n_states):
            row = chosen[state] if n_actions > 1 else state
            paid = columns[j * n_rows + row]
            if paid != 0.0:
                for i in range(n_states):
                    counts[j * n_states + i] += paid * resolvent[state * n_states + i]


@kernel
def switch_row(
    state: int,
    row: int,
    n_states: int,
    n_rows: int,
    discount: float,
    moves: Any,
    columns: Any,
    chosen: Any,
    resolvent: Any,
    counts: Any,
    visits: Any,
) -> None:
    """Take another row in one state: a rank-one change of resolvent and counts."""
    offsets, successors, probabilities = moves
    own = chosen[state]
    for i in range(n_states):
        visits[i] = 0.0
    for e in range(offsets[row], offsets[row + 1]):
        share = discount * probabilities[e]
        for i in range(n_states):
            visits[i] += share * resolvent[i * n_states + successors[e]]
    for e in range(offsets[own], offsets[own + 1]):
        share = discount * probabilities[e]
        for i in range(n_states):
            visits[i] -= share * resolvent[i * n_states + successors[e]]
    gap = 1.0 / (1.0 - visits[state])
    first = state * n_states
    for j in range(len(counts) // n_states):
        base = j * n_states
        change = 0.0
        if n_rows > n_states:
            change = columns[j * n_rows + row] - columns[j * n_rows + own]
            for i in range(n_states):
                counts[base + i] += change * resolvent[first + i]
            change = 0.0
        for e in range(offsets[row], offsets[row + 1]):
            change += probabilities[e] * counts[base + successors[e]]
        for e in range(offsets[own], offsets[own + 1]):
            change -= probabilities[e] * counts[base + successors[e]]
        change *= discount * gap
        for i in range(n_states):
            counts[base + i] += change * resolvent[first + i]
    for i in range(n_states):
        visits[n_states + i] = resolvent[first + i]
    for t in range(n_states):
        change = visits[t] * gap
        if change != 0.0:
            for i in range(n_states):
                resolvent[t * n_states + i] += change * visits[n_states + i]
    chosen[state] = row


@kernel
def row_value(
    row: int, state: int, n_rows: int, n_states: int, discount: float, moves: Any, rewards: Any,
    values: Any,
) -> float:  # fmt: skip
    """R + discount * E[V(next)] of one row; rewards are of states or of pairs."""
    offsets, successors, probabilities = moves
    total = 0.0
    for e in range(offsets[row], offsets[row + 1]):
        total += probabilities[e] * values[successors[e]]
    paid: float = rewards[row if n_rows > n_states else state]
    return paid + discount * total


@kernel
def look_for_better(
    n_states: int,
    n_actions: int,
    discount: float,
    moves: Any,
    rewards: Any,
    values: Any,
    share: float,
    chosen: Any,
    better: Any,
    residual: Any,
) -> int:
    """better[s]: the best row of s, its own unless another is better by a share; how many switch.

    residual[s] = R + discount * E[V(next)] - V(s) for its own row, residual[S] the largest |V|,
    residual[S + 1] the largest residual.
    """
    reach = 0.0
    for state in range(n_states):
        reach = max(reach, abs(values[state]))
    n_rows = len(rewards)
    largest = 0.0
    switched = 0
    for state in range(n_states):
        own = chosen[state]
        value = row_value(own, state, n_rows, n_states, discount, moves, rewards, values)
        residual[state] = value - values[state]
        largest = max(largest, abs(residual[state]))
        best = value + share * reach
        better[state] = own
        for row in range(state * n_actions, (state + 1) * n_actions):
            if row != own:
                value = row_value(row, state, n_rows, n_states, discount, moves, rewards, values)
                if value > best:
                    best = value
                    better[state] = row
        if better[state] != own:
            switched += 1
    residual[n_states] = reach
    residual[n_states + 1] = largest
    return switched


@kernel
def plan_by_resolvent(model: Any, work: Any, columns: Any, weights: Any) -> None:
    """Optimal values of the weights, by policy iteration from the policy left in `work`."""
    n_states, n_actions, discount, moves = model
    rewards, values, chosen, better, resolvent, counts, residual, visits, updates = work
    n_rows = len(rewards)
    share = ULPS
    rounds = 0
    corrections = 0
    if updates[0] <= MOST_UPDATES:
        weigh_features(counts, n_states, weights, values)
    while True:
        if updates[0] > MOST_UPDATES:
            factor(n_states, discount, moves, chosen, resolvent, visits)
            count_features(n_states, n_rows, columns, chosen, resolvent, counts)
            weigh_features(counts, n_states, weights, values)
            updates[0] = 0
        switched = look_for_better(
            n_states, n_actions, discount, moves, rewards, values, share, chosen, better, residual
        )
        if residual[n_states + 1] > RESIDUAL * residual[n_states] and corrections < 2 * CORRECTIONS:
            corrections += 1
            if corrections == CORRECTIONS:
                updates[0] = MOST_UPDATES + 1
            else:
                for state in range(n_states):
                    change = residual[state]
                    first = state * n_states
                    for i in range(n_states):
                        values[i] += change * resolvent[first + i]
            continue
        if switched == 0:
            break
        if switched * MANY_SWITCHES > n_states:
            for state in range(n_states):
                chosen[state] = better[state]
            updates[0] = MOST_UPDATES + 1
        else:
            updates[0] += switched
            for state in range(n_states):
                if better[state] != chosen[state]:
                    switch_row(
                        state, better[state], n_states, n_rows, discount, moves, columns, chosen,
                        resolvent, counts, visits,
                    )  # fmt: skip
            weigh_features(counts, n_states, weights, values)
        corrections = 0
        rounds += 1
        if rounds > PATIENCE:
            share *= 2.0


@kernel
def score_by_resolvent(model: Any, work: Any, columns: Any, evidence: Any, weights: Any) -> float:
    """log P(D | w) with the exact optimal values of w."""
    n_states, n_actions, discount, moves = model
    rewards = work[0]
    values = work[1]
    confidence, shown, counts, shown_values = evidence
    n_rows = len(rewards)
    weigh_features(columns, n_rows, weights, rewards)
    plan_by_resolvent(model, work, columns, weights)
    for i in range(len(shown)):
        for a in range(n_actions):
            shown_values[i * n_actions + a] = row_value(
                shown[i] * n_actions + a, shown[i], n_rows, n_states, discount, moves, rewards,
                values,
            )  # fmt: skip
    found: float = log_likelihood(len(shown), n_actions, confidence, shown_values, counts)
    return found


@kernel
def try_by_resolvent(
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
        chain[3][NEW_LIKELIHOOD] = score_by_resolvent(model, work, columns, evidence, chain[1])
    return inside


@kernel
def run_by_resolvent(
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
        inside = try_by_resolvent(t, model, work, columns, evidence, proposal, randomness, chain)
        end_step(inside, randomness[2][t], chain, samples, densities)
