"""The likelihood of weights on large stochastic models: the planner's BiCGSTAB policy iteration.

It starts from the values and the policy of the step before and stops when a greedy sweep changes
nothing but the last bits.
"""

from __future__ import annotations

from typing import Any

from didact.learners.chains.deterministic import weigh_features
from didact.learners.chains.steps import (
    NEW_LIKELIHOOD,
    begin_step,
    end_step,
    log_likelihood,
)
from didact.numerics.compiled import kernel
from didact.planning.sweeps import expected_value, iterate_by_sweeps, largest_of

UNIT = 2.0**-53
MOST_ROUNDS = 10_000


@kernel
def plan_by_sweeps(model: Any, work: Any, columns: Any, weights: Any) -> None:
    """Optimal values of the weights, from the values and the policy left in `work`."""
    rewards, values, plan, paid, failures = work
    weigh_features(columns, len(paid), weights, paid)
    repeats = len(rewards) // len(paid)
    for i in range(len(paid)):
        for a in range(repeats):
            rewards[i * repeats + a] = paid[i]
    tolerance = 2.0 * UNIT * largest_of(values)
    rounds = iterate_by_sweeps(model, rewards, tolerance, MOST_ROUNDS, plan)
    if rounds < 0:
        failures[0] += 1


@kernel
def score_by_sweeps(model: Any, work: Any, columns: Any, evidence: Any, weights: Any) -> float:
    """log P(D | w) with the exact optimal values of w."""
    n_actions = model.n_actions
    confidence, shown, counts, shown_values = evidence
    rewards, values = work[0], work[1]
    plan_by_sweeps(model, work, columns, weights)
    for i in range(len(shown)):
        for a in range(n_actions):
            row = shown[i] * n_actions + a
            total = expected_value(model.moves, row, values)
            shown_values[i * n_actions + a] = rewards[row] + model.discount * total
    found: float = log_likelihood(len(shown), n_actions, confidence, shown_values, counts)
    return found


@kernel
def try_by_sweeps(
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
        chain[3][NEW_LIKELIHOOD] = score_by_sweeps(model, work, columns, evidence, chain[1])
    return inside


@kernel
def run_by_sweeps(
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
        inside = try_by_sweeps(t, model, work, columns, evidence, proposal, randomness, chain)
        end_step(inside, randomness[2][t], chain, samples, densities)
