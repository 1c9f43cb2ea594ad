"""The BIRL likelihood log P(D | w) of proposed weights, with the exact optimal values of each.

    log P(D | w) = sum over shown pairs (s, a) of
        confidence Q*_w(s, a) - log sum_b exp(confidence Q*_w(s, b)),

confidence being the paper's alpha; answers add their own terms (see `evidence`). Every proposal is
planned from the optimal policy of the one before it, which is mostly optimal again or nearly so.
The result does not depend on that policy, up to rounding.

Deterministic models: policy iteration on the functional graph. Under a policy every state has one
successor, terminal states a sink that is worth 0. The states are kept in an order in which each
comes after its successor (a cycle is opened at its head, whose value is one equation), so a policy
is evaluated in one pass.

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
from didact.numerics.exact import Floats
from didact.planning.kernels import (
    LARGEST,
    UNIT,
    Model,
    PlanWorkspace,
    expected_value,
    largest_of,
    model_of,
    new_plan,
    single_successors,
    sweep_until,
)

NEGLIGIBLE = -45.0
"""exp of it is lost beside 1 in double precision."""

ULPS = 8.0 * 2.0**-53
"""An action is better only if it is better by this share of the largest value."""

PATIENCE = 30
"""Rounds after which that share grows, so that rounding cannot make policies go in circles."""

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
    """A model as scores read it: its rows, and the features of states, or of rows (by_action).

    columns: feature j of all from place j * (S or S*A) on. successor, gaps: of deterministic models
    only. Terminal states lead to the sink, state S; gaps[n] = 1 - discount**n is what a cycle of n
    states divides by.
    """

    is_deterministic: int
    by_action: int
    columns: Any
    model: Model
    successor: Any
    gaps: Any


class Tour(NamedTuple):
    """The states in an order in which each comes after the one that follows it.

    Cycle c of the n_cycles[0] fills lengths[c] places of `order` from heads[c] on, its head last.
    seen, path: workspace to find it.
    """

    following: Any
    order: Any
    heads: Any
    lengths: Any
    n_cycles: Any
    seen: Any
    path: Any


class ScoreWorkspace(NamedTuple):
    """The rewards of the last weights, and the policy that is optimal for them, with its values.

    paid: rewards of states, or of rows (by_action). On graphs, payments: of the rows taken; values:
    the sink's last, 0; chosen: the row that each state takes. Elsewhere, rewards: of all rows;
    plan: policy and values; failures[0]: plans that did not converge; rough[0]: whether scores may
    be wrong by FINEST nats.
    """

    paid: Any
    rewards: Any
    payments: Any
    values: Any
    chosen: Any
    tour: Tour
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
def evaluate_in_order(model: ScoreModel, payments: Any, tour: Tour, values: Any) -> None:
    """values[s] = payments[s] + discount * values[following[s]]."""
    following, order, discount = tour.following, tour.order, model.model.discount
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


@kernel
def follow_better(model: ScoreModel, values: Any, tolerance: float, following: Any) -> int:
    """Features of states: let every state lead to its best successor; how many were switched."""
    n_actions, successor = model.model.n_actions, model.successor
    switched = 0
    for state in range(model.model.n_states):
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
def choose_better(model: ScoreModel, work: ScoreWorkspace, tolerance: float) -> int:
    """Features of pairs: let every state take its best row; how many were switched."""
    n_actions, discount = model.model.n_actions, model.model.discount
    successor = model.successor
    rewards, values, chosen = work.paid, work.values, work.chosen
    following = work.tour.following
    switched = 0
    for state in range(model.model.n_states):
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
def plan_on_graph(model: ScoreModel, work: ScoreWorkspace) -> None:
    """Optimal values of the rewards in `work`, by policy iteration from the policy left there."""
    rewards, payments, values = work.paid, work.payments, work.values
    chosen, tour = work.chosen, work.tour
    share = ULPS
    rounds = 0
    while True:
        if model.by_action != 0:
            for state in range(model.model.n_states):
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
def score_on_graph(
    model: ScoreModel, work: ScoreWorkspace, shown: ShownCounts, weights: Any
) -> float:
    """log P(D | w) on a deterministic model."""
    n_actions, discount, successor = model.model.n_actions, model.model.discount, model.successor
    values, states, shown_values = work.values, shown.states, shown.values
    weigh_features(model.columns, weights, work.paid)
    plan_on_graph(model, work)
    for i in range(len(states)):
        first = states[i] * n_actions
        for a in range(n_actions):
            value = discount * values[successor[first + a]]
            if model.by_action != 0:
                value += work.paid[first + a]
            shown_values[i * n_actions + a] = value
    found: float = log_likelihood(n_actions, shown, weights)
    return found


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
def plan_by_sweeps(model: ScoreModel, work: ScoreWorkspace, enough: float) -> None:
    """Values that a sweep changes by at most `enough`, from the values left in `work`."""
    tolerance = 2.0 * UNIT * largest_of(work.plan.values)
    if sweep_until(model.model, work.rewards, tolerance, enough, MAX_ROUNDS, work.plan) < 0:
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
def score_by_sweeps(
    model: ScoreModel, work: ScoreWorkspace, shown: ShownCounts, weights: Any
) -> float:
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


@kernel
def score(model: ScoreModel, work: ScoreWorkspace, shown: ShownCounts, weights: Any) -> float:
    """log P(D | w) with the exact optimal values of w, unless it is surely lower than needed."""
    found: float = 0.0
    if model.is_deterministic != 0:
        found = score_on_graph(model, work, shown, weights)
    else:
        found = score_by_sweeps(model, work, shown, weights)
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
        n, m = mdp.n_states, mdp.n_actions
        columns = mdp.features.floats.reshape(-1, mdp.n_features).T.copy().reshape(-1)
        successor, gaps = np.zeros(0, dtype=np.uint32), np.zeros(0)
        is_deterministic = mdp.is_deterministic()
        if is_deterministic:
            successor = single_successors(mdp).copy()
            successor[np.repeat(mdp.terminal, m)] = n
            gaps = 1.0 - mdp.discount ** np.arange(n + 1.0)
            self.method = "policy iteration on the functional graph"
            self.cost = columns.size + 2 * n * m
        else:
            self.method = "policy iteration with BiCGSTAB"
            self.cost = columns.size + 60 * mdp.transitions.n_entries
        by_action = int(mdp.has_action_features)
        parts = (int(is_deterministic), by_action, columns, model_of(mdp), successor, gaps)
        self.model = ScoreModel(*parts)
        self.is_costly = not is_deterministic

    def workspace(self) -> ScoreWorkspace:
        """A fresh one, for one chain."""
        mdp, model = self.mdp, self.model
        n = mdp.n_states if model.is_deterministic else 0
        order, heads, lengths, path = np.zeros((4, n), dtype=np.uint32)
        cycles, seen = np.zeros(1, dtype=np.int64), np.zeros(n + 1, dtype=np.uint8)
        following = model.successor[:: mdp.n_actions].copy()
        tour = Tour(following, order, heads, lengths, cycles, seen, path)
        if n:
            arrange.run(2 * n, tour)
        failures, rough = np.zeros((2, 1), dtype=np.int64)
        return ScoreWorkspace(
            np.zeros(model.columns.size // mdp.n_features),
            np.zeros(0 if n else mdp.n_states * mdp.n_actions),
            np.zeros(n),
            np.zeros(n + 1),
            (np.arange(n) * mdp.n_actions).astype(np.uint32),
            tour,
            new_plan(mdp),
            failures,
            rough,
        )

    def values(self, work: ScoreWorkspace) -> Floats:
        """V* (S,) of the weights that were scored last."""
        found = (
            work.values[: self.mdp.n_states] if self.model.is_deterministic else work.plan.values
        )
        return np.asarray(found)

    def row_rewards(self, work: ScoreWorkspace) -> Floats:
        """The rewards (S*A,) of the weights that were scored last."""
        paid: Floats = work.paid
        return paid if self.model.by_action else np.repeat(paid, self.mdp.n_actions)


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
