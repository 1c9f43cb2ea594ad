"""The likelihood of weights on large stochastic models: the planner's BiCGSTAB policy iteration.

It starts from the values and the policy of the step before and stops when a greedy sweep changes
nothing but the last bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from didact.learners.chains.deterministic import weigh_features
from didact.learners.chains.steps import Shown, log_likelihood, sampler_of
from didact.numerics.compiled import kernel
from didact.planning.derived import UNIT
from didact.planning.sweeps import (
    Model,
    SweepPlan,
    expected_value,
    iterate_by_sweeps,
    largest_of,
)

MOST_ROUNDS = 10_000


class SweepModel(NamedTuple):
    """A model, and feature j of all states, or rows, from place j * (S or S*A) of `columns` on."""

    model: Model
    columns: Any


class SweepWork(NamedTuple):
    """The rewards of the last weights by rows, and the plan that is optimal for them.

    paid: the rewards by what the features are of. failures[0]: plans that did not settle.
    """

    rewards: Any
    paid: Any
    plan: SweepPlan
    failures: Any


@kernel
def plan_by_sweeps(model: SweepModel, work: SweepWork, weights: Any) -> None:
    """Optimal values of the weights, from the values and the policy left in `work`."""
    rewards, paid = work.rewards, work.paid
    weigh_features(model.columns, weights, paid)
    repeats = len(rewards) // len(paid)
    for i in range(len(paid)):
        for a in range(repeats):
            rewards[i * repeats + a] = paid[i]
    tolerance = 2.0 * UNIT * largest_of(work.plan.values)
    if iterate_by_sweeps(model.model, rewards, tolerance, MOST_ROUNDS, work.plan) < 0:
        work.failures[0] += 1


@kernel
def score_by_sweeps(model: SweepModel, work: SweepWork, shown: Shown, weights: Any) -> float:
    """log P(D | w) with the exact optimal values of w."""
    moves, n_actions, discount = model.model.moves, model.model.n_actions, model.model.discount
    states, shown_values = shown.states, shown.values
    rewards, values = work.rewards, work.plan.values
    plan_by_sweeps(model, work, weights)
    for i in range(len(states)):
        for a in range(n_actions):
            row = states[i] * n_actions + a
            expected = expected_value(moves, row, values)
            shown_values[i * n_actions + a] = rewards[row] + discount * expected
    found: float = log_likelihood(n_actions, shown)
    return found


BY_SWEEPS = sampler_of(score_by_sweeps)
