"""The likelihood of weights on small stochastic models: the resolvent of the last policy is kept.

Column t of the resolvent, resolvent[t*S + i], says how often t is visited from i, discounted:
(I - discount T)^-1. While the policy stays optimal, values are counts times weights; a state that
switches its action changes one row of T, and Sherman and Morrison's formula follows it. The
Bellman residual is looked at each time, so that values are right to rounding whatever the
updates have lost; where one correction is not enough, the resolvent is computed anew.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from didact.learners.chains.deterministic import PATIENCE, ULPS, weigh_features
from didact.learners.chains.steps import Shown, log_likelihood, sampler_of
from didact.numerics.compiled import inlined, kernel
from didact.planning.kernels import Moves, expected_value, largest_of

RESIDUAL = 16.0 * 2.0**-53
"""Values are corrected while the residual is above this share of the largest one."""

CORRECTIONS = 3
"""How often, before the resolvent is computed anew; and how often after that."""

MOST_UPDATES = 200
"""Rank-one changes after which the resolvent is computed anew in any case."""

MANY_SWITCHES = 6
"""The resolvent is computed anew when more than a state in so many switches."""


class DenseModel(NamedTuple):
    """A model's rows, and the features of states, or of rows where there are as many as those.

    columns: feature j of all from place j * (S or S*A) on.
    """

    n_states: int
    n_actions: int
    discount: float
    moves: Moves
    columns: Any


class DenseWork(NamedTuple):
    """The rewards of the last weights, and the policy that is optimal for them, with its values.

    chosen: the row that each state takes; better: its best one. counts[j*S + i]: discounted sum of
    feature j from state i on. residual: see `look_for_better`. visits: room for 2*S numbers.
    updates[0]: rank-one changes since the resolvent was computed.
    """

    rewards: Any
    values: Any
    chosen: Any
    better: Any
    resolvent: Any
    counts: Any
    residual: Any
    visits: Any
    updates: Any


@kernel
def factor(model: DenseModel, work: DenseWork) -> None:
    """The resolvent by Gauss-Jordan elimination, unpivoted: the matrix is diagonally dominant."""
    n_states, (offsets, successors, probabilities) = model.n_states, model.moves
    chosen, resolvent, pivots = work.chosen, work.resolvent, work.visits
    for i in range(n_states * n_states):
        resolvent[i] = 0.0
    for state in range(n_states):
        resolvent[state * n_states + state] = 1.0
        row = chosen[state]
        for e in range(offsets[row], offsets[row + 1]):
            resolvent[successors[e] * n_states + state] -= model.discount * probabilities[e]
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
def count_features(model: DenseModel, work: DenseWork) -> None:
    """Fill the counts from the resolvent."""
    n_states, n_rows, columns = model.n_states, len(work.rewards), model.columns
    chosen, counts, resolvent = work.chosen, work.counts, work.resolvent
    for i in range(len(counts)):
        counts[i] = 0.0
    for j in range(len(counts) // n_states):
        for state in range(n_states):
            row = chosen[state] if n_rows > n_states else state
            paid = columns[j * n_rows + row]
            if paid != 0.0:
                for i in range(n_states):
                    counts[j * n_states + i] += paid * resolvent[state * n_states + i]


@kernel
def switch_row(state: int, row: int, model: DenseModel, work: DenseWork) -> None:
    """Take another row in one state: a rank-one change of resolvent and counts."""
    n_states, n_rows, columns = model.n_states, len(work.rewards), model.columns
    offsets, successors, probabilities = model.moves
    resolvent, counts, visits = work.resolvent, work.counts, work.visits
    own = work.chosen[state]
    for i in range(n_states):
        visits[i] = 0.0
    for e in range(offsets[row], offsets[row + 1]):
        share = model.discount * probabilities[e]
        for i in range(n_states):
            visits[i] += share * resolvent[i * n_states + successors[e]]
    for e in range(offsets[own], offsets[own + 1]):
        share = model.discount * probabilities[e]
        for i in range(n_states):
            visits[i] -= share * resolvent[i * n_states + successors[e]]
    gap = 1.0 / (1.0 - visits[state])
    first = state * n_states
    for j in range(len(counts) // n_states):
        base = j * n_states
        if n_rows > n_states:
            change = columns[j * n_rows + row] - columns[j * n_rows + own]
            for i in range(n_states):
                counts[base + i] += change * resolvent[first + i]
        change = 0.0
        for e in range(offsets[row], offsets[row + 1]):
            change += probabilities[e] * counts[base + successors[e]]
        for e in range(offsets[own], offsets[own + 1]):
            change -= probabilities[e] * counts[base + successors[e]]
        change *= model.discount * gap
        for i in range(n_states):
            counts[base + i] += change * resolvent[first + i]
    for i in range(n_states):
        visits[n_states + i] = resolvent[first + i]
    for t in range(n_states):
        change = visits[t] * gap
        if change != 0.0:
            for i in range(n_states):
                resolvent[t * n_states + i] += change * visits[n_states + i]
    work.chosen[state] = row


@inlined
def row_value(state: int, row: int, model: DenseModel, rewards: Any, values: Any) -> float:
    """R + discount * E[V(next)] of one row of a state; rewards are of states or of pairs."""
    paid: float = rewards[row if len(rewards) > model.n_states else state]
    expected: float = expected_value(model.moves, row, values)
    return paid + model.discount * expected


@kernel
def look_for_better(model: DenseModel, work: DenseWork, share: float) -> int:
    """better[s]: the best row of s, its own unless another is better by a share; how many switch.

    residual[s] = R + discount * E[V(next)] - V(s) for its own row, residual[S] the largest |V|,
    residual[S + 1] the largest residual.
    """
    n_states, n_actions = model.n_states, model.n_actions
    rewards, values = work.rewards, work.values
    chosen, better, residual = work.chosen, work.better, work.residual
    reach = largest_of(values)
    largest = 0.0
    switched = 0
    for state in range(n_states):
        own = chosen[state]
        value = row_value(state, own, model, rewards, values)
        residual[state] = value - values[state]
        largest = max(largest, abs(residual[state]))
        best = value + share * reach
        better[state] = own
        for row in range(state * n_actions, (state + 1) * n_actions):
            if row != own:
                value = row_value(state, row, model, rewards, values)
                if value > best:
                    best = value
                    better[state] = row
        if better[state] != own:
            switched += 1
    residual[n_states] = reach
    residual[n_states + 1] = largest
    return switched


@kernel
def correct_values(work: DenseWork) -> None:
    """Add the discounted sum of the residuals to the values."""
    values, residual, resolvent = work.values, work.residual, work.resolvent
    n_states = len(values)
    for state in range(n_states):
        change = residual[state]
        first = state * n_states
        for i in range(n_states):
            values[i] += change * resolvent[first + i]


@kernel
def take_better(switched: int, model: DenseModel, work: DenseWork, weights: Any) -> None:
    """Let every state take its better row; where many switch, the resolvent is to be anew."""
    chosen, better, updates = work.chosen, work.better, work.updates
    if switched * MANY_SWITCHES > model.n_states:
        for state in range(model.n_states):
            chosen[state] = better[state]
        updates[0] = MOST_UPDATES + 1
    else:
        updates[0] += switched
        for state in range(model.n_states):
            if better[state] != chosen[state]:
                switch_row(state, better[state], model, work)
        weigh_features(work.counts, weights, work.values)


@kernel
def plan_by_resolvent(model: DenseModel, work: DenseWork, weights: Any) -> None:
    """Optimal values of the weights, by policy iteration from the policy left in `work`."""
    n_states, residual, updates = model.n_states, work.residual, work.updates
    share = ULPS
    rounds = 0
    corrections = 0
    if updates[0] <= MOST_UPDATES:
        weigh_features(work.counts, weights, work.values)
    while True:
        if updates[0] > MOST_UPDATES:
            factor(model, work)
            count_features(model, work)
            weigh_features(work.counts, weights, work.values)
            updates[0] = 0
        switched = look_for_better(model, work, share)
        if residual[n_states + 1] > RESIDUAL * residual[n_states] and corrections < 2 * CORRECTIONS:
            corrections += 1
            if corrections == CORRECTIONS:
                updates[0] = MOST_UPDATES + 1
            else:
                correct_values(work)
            continue
        if switched == 0:
            break
        take_better(switched, model, work, weights)
        corrections = 0
        rounds += 1
        if rounds > PATIENCE:
            share *= 2.0


@kernel
def score_by_resolvent(model: DenseModel, work: DenseWork, shown: Shown, weights: Any) -> float:
    """log P(D | w) with the exact optimal values of w."""
    n_actions, states, shown_values = model.n_actions, shown.states, shown.values
    rewards, values = work.rewards, work.values
    weigh_features(model.columns, weights, rewards)
    plan_by_resolvent(model, work, weights)
    for i in range(len(states)):
        for a in range(n_actions):
            row = states[i] * n_actions + a
            shown_values[i * n_actions + a] = row_value(states[i], row, model, rewards, values)
    found: float = log_likelihood(n_actions, shown, weights)
    return found


BY_RESOLVENT = sampler_of(score_by_resolvent)
