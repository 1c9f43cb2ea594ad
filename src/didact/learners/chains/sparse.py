"""The likelihood of weights on large stochastic models: the planner's BiCGSTAB policy iteration.

It starts from the values and the policy of the step before and stops when a greedy sweep changes
nothing but the last bits. A sweep that changes no value by more than c leaves values within
c / (1 - discount) of the optimal ones, and log P(D | w) within 2 * confidence * pairs times that.
So where less will do a score comes in stages, each ten times as fine: where even the upper end of
what it may be is lower than a step needs, the step is rejected then and there, as it would have
been in the end.

Several rewards in one pass over the transitions do not pay: only sweeps over all actions can share
it, because policies differ, and eight rewards at once then took three times as long for each (30x30
cells, 20 features, a tenth of a nat).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from didact.learners.chains.deterministic import weigh_features
from didact.learners.chains.steps import Shown, log_likelihood, sampler_of
from didact.numerics.compiled import kernel
from didact.planning.kernels import UNIT, Model, SweepPlan, expected_value, largest_of, sweep_until

MOST_ROUNDS = 10_000

COARSEST, FINEST = 10.0, 0.1
"""Nats by which the first stage of a score may be wrong, and the last one before it is exact."""


class SweepModel(NamedTuple):
    """A model, and feature j of all states, or rows, from place j * (S or S*A) of `columns` on."""

    model: Model
    columns: Any


class SweepWork(NamedTuple):
    """The rewards of the last weights by rows, and the plan that is optimal for them.

    paid: the rewards by what the features are of. failures[0]: plans that did not settle. rough[0]:
    whether scores may be wrong by FINEST nats.
    """

    rewards: Any
    paid: Any
    plan: SweepPlan
    failures: Any
    rough: Any


@kernel
def pay_rows(model: SweepModel, work: SweepWork, weights: Any) -> None:
    """The rewards of all rows under the weights."""
    rewards, paid = work.rewards, work.paid
    weigh_features(model.columns, weights, paid)
    repeats = len(rewards) // len(paid)
    for i in range(len(paid)):
        for a in range(repeats):
            rewards[i * repeats + a] = paid[i]


@kernel
def plan_by_sweeps(model: SweepModel, work: SweepWork, enough: float) -> None:
    """Values that a sweep changes by at most `enough`, from the values left in `work`."""
    tolerance = 2.0 * UNIT * largest_of(work.plan.values)
    if sweep_until(model.model, work.rewards, tolerance, enough, MOST_ROUNDS, work.plan) < 0:
        work.failures[0] += 1


@kernel
def likelihood_of_values(model: SweepModel, work: SweepWork, shown: Shown, weights: Any) -> float:
    """log P(D | w) with the values in `work`."""
    moves, n_actions, discount = model.model.moves, model.model.n_actions, model.model.discount
    states, shown_values = shown.states, shown.values
    rewards, values = work.rewards, work.plan.values
    for i in range(len(states)):
        for a in range(n_actions):
            row = states[i] * n_actions + a
            expected = expected_value(moves, row, values)
            shown_values[i * n_actions + a] = rewards[row] + discount * expected
    found: float = log_likelihood(n_actions, shown, weights)
    return found


@kernel
def score_by_sweeps(model: SweepModel, work: SweepWork, shown: Shown, weights: Any) -> float:
    """log P(D | w) with the exact optimal values of w, unless it is surely lower than needed."""
    pay_rows(model, work, weights)
    pairs = 0.0
    for i in range(len(shown.counts)):
        pairs += shown.counts[i]
    pairs += len(shown.choices.places)
    reach = 2.0 * shown.confidence * pairs / (1.0 - model.model.discount)
    in_stages = reach > 0.0 and (work.rough[0] != 0 or shown.needed[0] > -math.inf)
    found: float = 0.0
    wrong = COARSEST
    while in_stages and wrong > 0.5 * FINEST:
        plan_by_sweeps(model, work, wrong / reach)
        found = likelihood_of_values(model, work, shown, weights)
        if found + wrong < shown.needed[0]:
            return found
        wrong *= 0.1
    if not in_stages or work.rough[0] == 0:
        plan_by_sweeps(model, work, 0.0)
        found = likelihood_of_values(model, work, shown, weights)
    return found


BY_SWEEPS = sampler_of(score_by_sweeps)
