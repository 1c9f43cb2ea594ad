"""What learners of many rewards lose, each when ties are broken for the best.

Weights w leave a set M(w) of optimal policies; the loss of w is the least true loss among them. It
is found lexicographically: plan for w, keep the actions that are optimal, and plan among them for
the true reward. The policy that is left is put into one form: of actions whose feature counts are
equal, the first is taken. So two weights have the same policy if and only if the same feature
counts, from every state, are best for them and then for the truth.

Floats: actions within `TIE` of the best, beside the largest value, are ties; what is between that
and `CLEAR` is counted as a close call.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.mdp import Task
from didact.numerics.compiled import inlined, kernel
from didact.numerics.exact import Floats
from didact.planning.derived import UNIT, reward_reach
from didact.planning.floats import MOST_ROUNDS, plan_in_floats
from didact.planning.graphs import Graph, GraphPlan, graph_of, iterate_on_graph, new_graph_plan
from didact.planning.linear import discounted_sums
from didact.planning.many_rewards import Batch, rewards_of, spread_rewards, value_reach
from didact.planning.sweeps import (
    Model,
    SweepPlan,
    expected_value,
    iterate_by_sweeps,
    model_of,
    new_sweep_plan,
)
from didact.random import stream

TIE = 1e-13
"""Actions so near the best, as a share of the largest value there can be, are as good ..."""
CLEAR = 2e-12
"""... and those beyond this share are worse; between the two it is a close call."""


class Lost(NamedTuple):
    """What n weights lead to.

    losses: (n,), of the best policy that is optimal for each. optimal: (n, S, A), which actions
    are. policies: (n, S), the action of that best policy. close: (n,), close calls.
    """

    losses: Floats
    optimal: NDArray[np.bool_]
    policies: NDArray[np.uint32]
    close: NDArray[np.int64]

    def where(self, kept: NDArray[np.bool_]) -> Lost:
        """The same of some of the weights only."""
        losses, optimal, policies, close = self
        return Lost(losses[kept], optimal[kept], policies[kept], close[kept])


class Level(NamedTuple):
    """What is maximised once the reward is: the model with its allowed rows, rewards, tolerance."""

    model: Any
    rewards: Any
    tolerance: float
    plan: Any


class Found(NamedTuple):
    """Of each reward: its policy and values of the true gaps (S,), optimal rows, close calls."""

    ties: Any
    clear: Any
    values: Any
    policies: Any
    optimal: Any
    close: Any


class Losses:
    """The losses of many weights on one task; arrays stay from one call to the next.

    gaps: V*(s) - Q*(s, a) of the task, (S, A). unit: of return, what losses are counted in.
    """

    def __init__(self, task: Task, gaps: Floats, unit: float = 1.0):
        self.mdp, self.unit = task.mdp, unit
        mdp = self.mdp
        gaps = np.where(mdp.terminal[:, None], 0.0, gaps)
        probe = stream(0, "losses", "probe").standard_normal(mdp.n_features)
        self.reach = 0.0
        if mdp.is_deterministic():
            self.kernel, self.slack, self.work = lose_each_on_graph, 32, 60 * gaps.size
        else:
            self.kernel, self.slack = lose_each_by_sweeps, 4
            self.work = 300 * mdp.transitions.n_entries
        self.plan = self._new_plan()
        self.truth = self._level(-gaps.ravel(), float(gaps.max(initial=0.0)) / (1 - mdp.discount))
        probed = self._table(probe)
        self.probe = self._level(probed, float(np.abs(probed).max()) / (1 - mdp.discount))
        self.table = np.zeros(gaps.size)
        self.start = mdp.start.floats

    def _new_plan(self) -> GraphPlan | SweepPlan:
        is_graph = self.mdp.is_deterministic()
        return new_graph_plan(self.mdp.n_states) if is_graph else new_sweep_plan(self.mdp)

    def _model(self, allowed: NDArray[np.uint8] | None = None) -> Graph | Model:
        return (
            graph_of(self.mdp, allowed)
            if self.mdp.is_deterministic()
            else model_of(self.mdp, allowed)
        )

    def _level(self, rewards: Floats, reach: float) -> Level:
        allowed = np.ones(rewards.size, dtype=np.uint8)
        tolerance = self.slack * UNIT * reach
        return Level(self._model(allowed), rewards, tolerance, self._new_plan())

    def _table(self, weights: Floats) -> Floats:
        rewards = rewards_of(self.mdp, weights[None])[0]
        return np.repeat(rewards, self.mdp.n_states * self.mdp.n_actions // rewards.size)

    def among(self, optimal: NDArray[np.bool_]) -> float:
        """The least loss of policies that take marked actions (S, A) only, surely not too large."""
        allowed = np.ascontiguousarray(optimal, dtype=np.uint8)
        allowed[self.mdp.terminal] = 1
        gaps = self.truth.rewards
        scale = float(np.abs(gaps).max(initial=0.0))
        found = plan_in_floats(self.mdp, gaps, scale, allowed.ravel())
        return max(0.0, -float(self.start @ found.values) - found.error_bound) / self.unit

    def most(self) -> float:
        """The most that any policy loses."""
        gaps = -self.truth.rewards
        found = plan_in_floats(self.mdp, gaps, float(gaps.max(initial=0.0)))
        return max(0.0, float(self.start @ found.values)) / self.unit

    def most_among(self, optimal: NDArray[np.bool_]) -> float:
        """The largest loss of policies that take marked actions (S, A) only."""
        allowed = np.ascontiguousarray(optimal, dtype=np.uint8)
        allowed[self.mdp.terminal] = 1
        gaps = -self.truth.rewards
        found = plan_in_floats(self.mdp, gaps, float(gaps.max(initial=0.0)), allowed.ravel())
        return max(0.0, float(self.start @ found.values)) / self.unit

    def _lose_directly(self, weights: Floats, i: int, found: Found) -> None:
        """The same as `lose_each` of one reward whose inexact evaluations went in circles.

        Its plan then is solved by elimination; the equations are those of the kernel.
        """
        mdp = self.mdp
        shape, states = (mdp.n_states, mdp.n_actions), np.arange(mdp.n_states)
        alive = ~mdp.terminal
        table, scale = self._table(weights), float(reward_reach(mdp, weights))
        values = plan_in_floats(mdp, table, scale).action_values.reshape(shape)
        gaps = values.max(axis=1, keepdims=True) - values
        optimal = (gaps <= found.ties[i]) | ~alive[:, None]
        close = (gaps > found.ties[i]) & (gaps <= found.clear[i]) & alive[:, None]
        true = self.truth.rewards
        allowed = np.ascontiguousarray(optimal, dtype=np.uint8).ravel()
        best = plan_in_floats(mdp, true, float(np.abs(true).max(initial=0.0)), allowed)
        policy = best.policy.copy()
        taken = np.zeros(shape)
        taken[states, policy] = 1.0
        taken[mdp.terminal] = 0.0
        paid = self.probe.rewards.reshape(shape)
        own = paid[states, np.where(alive, policy, 0)]
        following = mdp.transitions.matrix() @ discounted_sums(mdp, taken, own[:, None])[:, 0]
        worth = paid + mdp.discount * following.reshape(shape)
        alike = np.abs(worth - worth[states, policy][:, None]) <= 1e4 * self.probe.tolerance
        policy[alive] = alike[alive].argmax(axis=1)
        policy[~alive] = 0
        n, m = shape
        found.close[i] = int(np.count_nonzero(close))
        found.optimal[i * n * m : (i + 1) * n * m] = allowed
        found.values[i * n : (i + 1) * n] = best.values
        found.policies[i * n : (i + 1) * n] = policy

    def of(self, weights: Floats) -> Lost:
        """What each of the weights (n, k) leads to."""
        mdp, n = self.mdp, len(weights)
        reach = value_reach(mdp, weights)
        rewards = rewards_of(mdp, weights)
        columns = rewards.shape[1] // mdp.n_states
        found = Found(
            TIE * reach,
            CLEAR * reach,
            np.zeros(n * mdp.n_states),
            np.zeros(n * mdp.n_states, dtype=np.uint32),
            np.zeros(n * mdp.n_states * mdp.n_actions, dtype=np.uint8),
            np.zeros(n, dtype=np.int64),
        )
        nothing, done = np.zeros(0), 0
        while done < n:
            left = Found(*(part[done * (len(part) // n) :] for part in found))
            rest = (rewards[done:].ravel(), self.slack * UNIT * reach[done:], self.table, nothing)
            stopped = self.kernel.run(
                self.work * (n - done),
                *(self._model(), Batch(columns, *rest), MOST_ROUNDS, self.plan),
                *((self.truth, self.probe), left),
            )
            if stopped < 0:
                break
            self._lose_directly(weights[done + stopped], stopped, left)
            done += stopped + 1
        shape = (n, mdp.n_states, mdp.n_actions)
        lost = -(found.values.reshape(shape[:2]) @ self.start)
        optimal = found.optimal.reshape(shape).astype(np.bool_)
        return Lost(
            np.maximum(lost, 0.0) / self.unit,
            optimal,
            found.policies.reshape(shape[:2]),
            found.close,
        )


@kernel
def iterate(model: Any, rewards: Any, tolerance: float, most: int, plan: Any) -> int:
    """What settles one reward: `iterate_on_graph` or `iterate_by_sweeps`."""
    raise NotImplementedError


@inlined
def after_graph(model: Graph, row: int, values: Any) -> float:
    """The value of the state that a row leads to."""
    value: float = values[model.successor[row]]
    return value


@inlined
def after_sweep(model: Model, row: int, values: Any) -> float:
    """The expected value after a row."""
    value: float = expected_value(model.moves, row, values)
    return value


@inlined
def after(model: Any, row: int, values: Any) -> float:
    """What follows a row: `after_graph` or `after_sweep`."""
    raise NotImplementedError


@kernel
def keep_best(
    model: Graph | Model, rewards: Any, values: Any, tie: float, clear: float, kept: Any
) -> int:
    """kept[row] = 1 where a row is within the tie of the best of its state; how many are close."""
    n_actions = model.n_actions
    close = 0
    for state in range(model.n_states):
        first = state * n_actions
        if model.ends[state] != 0:
            for row in range(first, first + n_actions):
                kept[row] = 1
            continue
        best = -1e308
        for row in range(first, first + n_actions):
            best = max(best, rewards[row] + model.discount * after(model, row, values))
        for row in range(first, first + n_actions):
            gap = best - (rewards[row] + model.discount * after(model, row, values))
            kept[row] = 1 if gap <= tie else 0
            if tie < gap <= clear:
                close += 1
    return close


@kernel
def first_alike(level: Level, tie: float, policy: Any) -> None:
    """Let each state take the first row that is worth as much to the probe as its own."""
    model, rewards, values = level.model, level.rewards, level.plan.values
    n_actions = model.n_actions
    for state in range(model.n_states):
        if model.ends[state] != 0:
            policy[state] = 0
            continue
        first = state * n_actions
        own = first + policy[state]
        worth = rewards[own] + model.discount * after(model, own, values)
        for row in range(first, own):
            value = rewards[row] + model.discount * after(model, row, values)
            if abs(value - worth) <= tie:
                policy[state] = row - first
                break


@kernel
def lose_each(
    model: Graph | Model,
    batch: Batch,
    most: int,
    plan: GraphPlan | SweepPlan,
    levels: tuple[Level, Level],
    found: Found,
) -> int:
    """The loss and policy of each reward; -1, or the number of one that did not settle."""
    truth, probe = levels
    n_states, n_actions = model.n_states, model.n_actions
    n_rows = n_states * n_actions
    allowed, own = truth.model.allowed, probe.model.allowed
    for i in range(len(batch.tolerances)):
        spread_rewards(i, n_states, batch)
        if iterate(model, batch.table, batch.tolerances[i], most, plan) < 0:
            return i
        found.close[i] = keep_best(
            model, batch.table, plan.values, found.ties[i], found.clear[i], allowed
        )
        ties = 0
        for state in range(n_states):
            choice, n_best = 0, 0
            for action in range(n_actions - 1, -1, -1):
                if allowed[state * n_actions + action] != 0:
                    choice, n_best = action, n_best + 1
            ties += n_best > 1 and model.ends[state] == 0
            truth.plan.policy[state] = choice
            truth.plan.values[state] = 0.0
        if iterate(truth.model, truth.rewards, truth.tolerance, most, truth.plan) < 0:
            return i
        for row in range(n_rows):
            found.optimal[i * n_rows + row] = allowed[row]
            own[row] = 0
        for state in range(n_states):
            probe.plan.policy[state] = truth.plan.policy[state]
            own[state * n_actions + truth.plan.policy[state]] = 1
            found.values[i * n_states + state] = truth.plan.values[state]
        # Actions whose feature counts are equal tie for every reward: without ties there are none.
        if ties > 0:
            if iterate(probe.model, probe.rewards, probe.tolerance, most, probe.plan) < 0:
                return i
            first_alike(probe, 1e4 * probe.tolerance, probe.plan.policy)
        for state in range(n_states):
            ended = model.ends[state] != 0
            found.policies[i * n_states + state] = 0 if ended else probe.plan.policy[state]
    return -1


lose_each_on_graph = lose_each.filled(
    iterate=iterate_on_graph,
    keep_best=keep_best.filled(after=after_graph),
    first_alike=first_alike.filled(after=after_graph),
)
lose_each_by_sweeps = lose_each.filled(
    iterate=iterate_by_sweeps,
    keep_best=keep_best.filled(after=after_sweep),
    first_alike=first_alike.filled(after=after_sweep),
)
