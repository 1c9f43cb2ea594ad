"""The BIRL likelihood log P(D | w) of proposed weights, with the exact optimal values of each.

    log P(D | w) = sum over shown pairs (s, a) of
        confidence Q*_w(s, a) - log sum_b exp(confidence Q*_w(s, b)),

confidence being the paper's alpha; answers add their own terms (see `evidence`). Every proposal is
planned from the optimal policy of the one before it, which is mostly optimal again or nearly so.
The result does not depend on that policy, up to rounding.

Deterministic models: the planner's policy iteration on the functional graph, which is exact.

Stochastic models: the planner's policy iteration with BiCGSTAB. A sweep that changes no value by
more than c leaves values within c / (1 - discount) of the optimal ones, and log P(D | w) within
2 * confidence * pairs times that. So where a rough score is enough it comes in stages, each ten
times as fine: a step whose upper bound is lower than it needs to be is rejected at once, as it
would have been with the exact score.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from didact.errors import InvalidNumber
from didact.learners.evidence import Evidence
from didact.numerics.compiled import kernel
from didact.planning.kernels import (
    LARGEST,
    UNIT,
    Model,
    PlanWorkspace,
    expected_value,
    iterate_on_graph,
    largest_of,
    model_of,
    new_plan,
    sweep_until,
)

NEGLIGIBLE = -45.0
"""exp of it is lost beside 1 in double precision."""

ON_GRAPHS = 32.0
"""On graphs an action is better only if it is by so many roundings of the largest value there can
be: sums along whole paths would else make tied actions take turns for ever."""

MAX_ROUNDS = 10_000
"""Rounds of sweeps after which a plan counts as failed."""

COARSEST, FINEST = 10.0, 0.1
"""Nats by which the first stage of a score may be wrong, and the last one before it is exact."""


class Choices(NamedTuple):
    """Choice c is among the alternatives first[c] to first[c + 1], the best first.

    places: of an alternative among the values; -1 where it is worth its row of counts, (n * k,).
    worths: workspace for what the alternatives are worth.
    """

    first: Any
    places: Any
    counts: Any
    worths: Any


class ShownCounts(NamedTuple):
    """The shown states, how often each of their actions was shown, and workspace for their values.

    needed[0]: a score that is surely lower need not be exact; -inf where all must be. choices: what
    other feedback says.
    """

    confidence: float
    states: Any
    counts: Any
    values: Any
    needed: Any
    choices: Choices


class ScoreModel(NamedTuple):
    """A model as scores read it: its rows, and the features of states, or of rows.

    columns: feature j of all from place j * (S or S*A) on.
    """

    columns: Any
    model: Model


class ScoreWorkspace(NamedTuple):
    """The rewards of the last weights, and the policy that is optimal for them, with its values.

    paid: rewards of states, or of rows where these have features. rewards: of all rows. plan:
    policy and values; failures[0]: plans that did not converge; rough[0]: whether scores may be
    wrong by FINEST nats.
    """

    paid: Any
    rewards: Any
    plan: PlanWorkspace
    failures: Any
    rough: Any


class ScoreInputs(NamedTuple):
    """What a score is computed from: a model, the workspace of one chain, and the evidence."""

    model: ScoreModel
    work: ScoreWorkspace
    shown: ShownCounts


@kernel
def choice_likelihood(shown: ShownCounts, weights: Any) -> float:
    """Sum over choices of log P(the best is chosen, then the best of the rest, and so on).

    It begins with the last alternative: beyond = log sum exp of those from there on.
    """
    confidence, values = shown.confidence, shown.values
    first, places, counts, worths = shown.choices
    k = len(weights)
    total = 0.0
    for i in range(len(places)):
        if places[i] >= 0:
            worths[i] = confidence * values[places[i]]
        else:
            worth = 0.0
            for j in range(k):
                worth += counts[i * k + j] * weights[j]
            worths[i] = confidence * worth
    for c in range(len(first) - 1):
        beyond = worths[first[c + 1] - 1]
        for i in range(first[c + 1] - 2, first[c] - 1, -1):
            best = max(worths[i], beyond)
            beyond = best + math.log(math.exp(worths[i] - best) + math.exp(beyond - best))
            total += worths[i] - beyond
    return total


@kernel
def log_likelihood(n_actions: int, shown: ShownCounts, weights: Any) -> float:
    """Sum over shown pairs of confidence Q(s, a) - log sum_b exp(confidence Q(s, b)), and choices.

    Values and counts have a row of actions for each shown state.
    """
    confidence, counts, values = shown.confidence, shown.counts, shown.values
    total = 0.0
    for i in range(len(shown.states)):
        row = i * n_actions
        best = values[row]
        for a in range(row + 1, row + n_actions):
            if values[a] > best:
                best = values[a]
        weight = 0.0
        pairs = 0.0
        for a in range(row, row + n_actions):
            scaled = confidence * (values[a] - best)
            if counts[a] != 0.0:
                pairs += counts[a]
                total += counts[a] * scaled
            if scaled == 0.0:
                weight += 1.0
            elif scaled > NEGLIGIBLE:
                weight += math.exp(scaled)
        if weight != 1.0:
            total -= pairs * math.log(weight)
    if len(shown.choices.places) > 0:
        total += choice_likelihood(shown, weights)
    return total


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
def pay_rows(model: ScoreModel, work: ScoreWorkspace, weights: Any) -> None:
    """The rewards of all rows under the weights."""
    rewards, paid = work.rewards, work.paid
    weigh_features(model.columns, weights, paid)
    repeats = len(rewards) // len(paid)
    for i in range(len(paid)):
        for a in range(repeats):
            rewards[i * repeats + a] = paid[i]


@kernel
def plan_for(model: ScoreModel, work: ScoreWorkspace, enough: float) -> None:
    """Values that a sweep changes by at most `enough`, from the policy left in `work`; exact on
    graphs."""
    tolerance = 0.0
    if len(model.model.successor) > 0:
        tolerance = ON_GRAPHS * UNIT * largest_of(work.rewards) / (1.0 - model.model.discount)
        rounds = iterate_on_graph(model.model, work.rewards, tolerance, MAX_ROUNDS, work.plan)
    else:
        tolerance = 2.0 * UNIT * largest_of(work.plan.values)
        rounds = sweep_until(model.model, work.rewards, tolerance, enough, MAX_ROUNDS, work.plan)
    if rounds < 0:
        work.failures[0] += 1


@kernel
def likelihood_of_values(
    model: ScoreModel, work: ScoreWorkspace, shown: ShownCounts, weights: Any
) -> float:
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
def score(model: ScoreModel, work: ScoreWorkspace, shown: ShownCounts, weights: Any) -> float:
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
        plan_for(model, work, wrong / reach)
        found = likelihood_of_values(model, work, shown, weights)
        if found + wrong < shown.needed[0]:
            return found
        wrong *= 0.1
    if not in_stages or work.rough[0] == 0:
        plan_for(model, work, 0.0)
        found = likelihood_of_values(model, work, shown, weights)
    return found


@kernel
def score_each(
    model: ScoreModel, work: ScoreWorkspace, shown: ShownCounts, weights: Any, found: Any
) -> None:
    """The scores (n,) of weights (n, k), written into `found`."""
    for i in range(len(found)):
        found[i] = score(model, work, shown, weights[i])


class Scorer:
    """log P(D | w) on one model: what the kernels read, and a workspace for each chain.

    method: how it plans, in words. cost: inner-loop steps of one score, roughly. is_costly: whether
    a score may be ended early, and be rough.
    """

    def __init__(self, evidence: Evidence):
        mdp = evidence.mdp
        if not float(np.abs(mdp.features.floats).max()) / (1.0 - mdp.discount) < LARGEST:
            raise InvalidNumber("features / (1 - discount) must stay below 1e300; rescale")
        self.mdp = mdp
        columns = mdp.features.floats.reshape(-1, mdp.n_features).T.copy().reshape(-1)
        self.model = ScoreModel(columns, model_of(mdp))
        self.is_costly = not mdp.is_deterministic()
        planned = 60 * mdp.transitions.n_entries
        self.method = "policy iteration with BiCGSTAB"
        if not self.is_costly:
            planned = 3 * mdp.n_states * mdp.n_actions
            self.method = "policy iteration on the functional graph"
        self.cost = columns.size + planned

    def workspace(self) -> ScoreWorkspace:
        """A fresh one, for one chain."""
        mdp = self.mdp
        failures, rough = np.zeros((2, 1), dtype=np.int64)
        paid = np.zeros(self.model.columns.size // mdp.n_features)
        rewards = np.zeros(mdp.n_states * mdp.n_actions)
        return ScoreWorkspace(paid, rewards, new_plan(mdp), failures, rough)


def shown_in(evidence: Evidence, confidence: float) -> ShownCounts:
    """What the likelihood kernels read of evidence."""
    states, shown = evidence.scored()
    answers = evidence.answers
    at = np.searchsorted(states, answers.states) * evidence.mdp.n_actions + answers.actions
    places = np.where(answers.of_actions, at, -1)
    choices = Choices(
        answers.first.copy(), places, answers.counts.reshape(-1).copy(), np.zeros(len(places))
    )
    counts = shown.reshape(-1).copy()
    return ShownCounts(
        confidence,
        states.astype(np.uint32),
        counts,
        np.zeros(counts.size),
        np.full(1, -np.inf),
        choices,
    )
