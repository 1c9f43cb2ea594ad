"""Many rewards on one model: optimal values, action values, and what their learners lose.

Draws of a chain lie close together, so the last optimal policy is nearly optimal again and a few
rounds of policy iteration settle the next one. A draw that repeats the one before is not solved.
Values are within a few roundings of those of `didact.planning.solve`, whatever the order.

Losses: weights w leave a set M(w) of optimal policies; the loss of w is the least true loss among
them, ties being broken for the best. It is found lexicographically: plan for w, keep the actions
that are optimal, and plan among them for the true reward. The policy that is left is put into one
form: of actions whose successor features are equal, the first is taken. So two weights have the
same policy if and only if the same successor features, from every state, are best for them and then
for the truth. Floats: actions within `TIE` of the best, beside the largest value, are ties; what is
between that and `CLEAR` is counted as a close call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidNumber, InvalidParameter
from didact.inputs import shown
from didact.mdp import MDP, Task
from didact.numerics.compiled import kernel
from didact.numerics.exact import Floats
from didact.planning.kernels import (
    LARGEST,
    UNIT,
    Model,
    PlanWorkspace,
    action_value,
    expected_next,
    iterate,
    model_of,
    new_plan,
    reward_reach,
    roundings,
)
from didact.planning.solve import MAX_ROUNDS, discounted_sums, iterate_directly, plan_in_floats
from didact.random import stream

MAX_BYTES = 2_000_000_000
"""No result may be larger; ask for fewer draws or for fewer states at once."""

BLOCK_BYTES = 16_000_000
"""Rewards and values of so many bytes are held at once."""


TIE = 1e-13
"""Actions so near the best, as a share of the largest value there can be, are as good ..."""
CLEAR = 2e-12
"""... and those beyond this share are worse; between the two it is a close call."""


def action_values_of(mdp: MDP, weights: Any) -> Floats:
    """Q*(s, a) under each of n weight vectors (n, k); shape (n, S, A)."""
    given = as_weight_rows(mdp, weights)
    shape = (given.shape[0], mdp.n_states, mdp.n_actions)
    require_memory(int(np.prod(shape)), "action values", given.shape[0])
    found = np.empty(shape)
    for first, block in value_blocks(mdp, given):
        rows = slice(first, first + len(block))
        following = mdp.discount * expected_next(mdp, block.T).T.reshape(-1, *shape[1:])
        rewards = rewards_of(mdp, given[rows]).reshape(len(block), mdp.n_states, -1)
        np.add(rewards, following, out=found[rows])
    return found


def value_blocks(mdp: MDP, weights: Floats) -> Iterator[tuple[int, Floats]]:
    """Optimal values (m, S) of consecutive weights, and the number of the first; constant memory.

    weights: (n, k), checked by `as_weight_rows`.
    """
    planner = _Planner(mdp)
    size = max(1, BLOCK_BYTES // (8 * mdp.n_states * mdp.n_actions))
    for first in range(0, weights.shape[0], size):
        block = weights[first : first + size]
        fresh = np.ones(len(block), dtype=np.bool_)
        fresh[1:] = (block[1:] != block[:-1]).any(axis=1)
        solved = planner.values(block[fresh])
        yield first, solved if fresh.all() else solved[np.cumsum(fresh) - 1]


def as_weight_rows(mdp: MDP, weights: Any) -> Floats:
    """Weights as an array (n, k) of finite numbers that no value will overflow from."""
    try:
        rows = np.ascontiguousarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(
            f"weights must be numbers (n, k); they are {shown(weights)}"
        ) from None
    if rows.ndim != 2 or rows.shape[1] != mdp.n_features:
        raise InvalidParameter(
            f"weights must have the shape (n, {mdp.n_features}); the shape is {rows.shape}"
        )
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0]
        raise InvalidNumber(f"weights[{row}, {column}] must be finite; it is {rows[row, column]}")
    if rows.size and not value_reach(mdp, rows).max() < LARGEST:
        raise InvalidNumber("weights * features / (1 - discount) must stay below 1e300; rescale")
    return rows


def require_memory(n_numbers: int, what: str, n_draws: int) -> None:
    """Refuse a result that would not fit in memory, before any work is done."""
    if 8 * n_numbers > MAX_BYTES:
        fewer = max(1, int(n_draws * MAX_BYTES / (8 * n_numbers)))
        raise InvalidParameter(
            f"{what} of {n_draws} draws would take {8 * n_numbers / 1e9:.1f} GB, more than "
            f"{MAX_BYTES / 1e9:.0f}; take at most {fewer} draws"
        )


def value_reach(mdp: MDP, weights: Floats) -> Floats:
    """A bound on |V| under each of the weights, shape (n,)."""
    with np.errstate(over="ignore"):
        return np.asarray(reward_reach(mdp, weights) / (1.0 - mdp.discount))


def rewards_of(mdp: MDP, weights: Floats) -> Floats:
    """w.phi(s), or w.phi(s, a), for each of the weights: (n, S) or (n, S*A)."""
    features = mdp.features.floats
    return np.ascontiguousarray(weights @ features.reshape(-1, mdp.n_features).T)


class Batch(NamedTuple):
    """Rewards of states (columns 1) or of pairs (columns A), one after the other.

    tolerances: of each reward's values. table: workspace for a reward, by pairs. found: values.
    """

    columns: int
    rewards: Any
    tolerances: Any
    table: Any
    found: Any


class _Planner:
    """The policy and the workspace that go from one reward to the next."""

    def __init__(self, mdp: MDP):
        self.mdp = mdp
        self.table = np.zeros(mdp.n_states * mdp.n_actions)
        self.model, self.plan = model_of(mdp), new_plan(mdp)
        self.work = 20 * self.table.size
        if not mdp.is_deterministic():
            self.work = 100 * mdp.transitions.n_entries

    def values(self, weights: Floats) -> Floats:
        """V* (m, S) under each of the weights (m, k)."""
        mdp = self.mdp
        rewards = rewards_of(mdp, weights)
        columns = rewards.shape[1] // mdp.n_states
        tolerances = roundings(mdp) * (UNIT * value_reach(mdp, weights))
        found = np.empty((weights.shape[0], mdp.n_states))
        done = 0
        while done < len(found):
            rest = (rewards[done:].ravel(), tolerances[done:], self.table, found[done:].ravel())
            work = self.work * (len(found) - done)
            stopped = plan_each.run(work, self.model, Batch(columns, *rest), MAX_ROUNDS, self.plan)
            done = len(found) if stopped < 0 else done + stopped + 1
            if stopped >= 0:  # by direct solves, from the last policy on
                table = np.repeat(rewards[done - 1], self.table.size // rewards.shape[1])
                policy, values = self.plan.policy, self.plan.values
                values[:], _ = iterate_directly(mdp, table, self.model.allowed, policy)
                found[done - 1] = values
        return found


@kernel
def spread_rewards(number: int, n_states: int, batch: Batch) -> None:
    """table[s*A + a] = that reward of s (columns 1) or of s, a (columns A)."""
    columns, rewards, table = batch.columns, batch.rewards, batch.table
    n_actions = len(table) // n_states
    first = number * n_states * columns
    for state in range(n_states):
        for action in range(n_actions):
            column = action if columns > 1 else 0
            table[state * n_actions + action] = rewards[first + state * columns + column]


@kernel
def plan_each(model: Model, batch: Batch, most: int, plan: PlanWorkspace) -> int:
    """Values of each reward by policy iteration from the last policy; -1, or who did not settle.

    A reward that is zero everywhere has values that are zero: nothing is left to be small against.
    """
    values, found, table = plan.values, batch.found, batch.table
    n_states = len(values)
    for i in range(len(batch.tolerances)):
        if batch.tolerances[i] == 0.0:
            for state in range(n_states):
                values[state] = 0.0
        spread_rewards(i, n_states, batch)
        if iterate(model, table, batch.tolerances[i], most, plan) < 0:
            return i
        for state in range(n_states):
            found[i * n_states + state] = values[state]
    return -1


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


class LossArrays(NamedTuple):
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
        self.kernel, self.plan = lose_each, new_plan(mdp)
        self.work = 60 * gaps.size
        if not mdp.is_deterministic():
            self.work = 300 * mdp.transitions.n_entries
        self.truth = self._level(-gaps.ravel(), float(gaps.max(initial=0.0)) / (1 - mdp.discount))
        probed = self._table(probe)
        self.probe = self._level(probed, float(np.abs(probed).max()) / (1 - mdp.discount))
        self.table = np.zeros(gaps.size)
        self.start = mdp.start.floats

    def _level(self, rewards: Floats, reach: float) -> Level:
        allowed = np.ones(rewards.size, dtype=np.uint8)
        tolerance = roundings(self.mdp) * UNIT * reach
        return Level(model_of(self.mdp, allowed), rewards, tolerance, new_plan(self.mdp))

    def _table(self, weights: Floats) -> Floats:
        rewards = rewards_of(self.mdp, weights[None])[0]
        return np.repeat(rewards, self.mdp.n_states * self.mdp.n_actions // rewards.size)

    def among(self, optimal: NDArray[np.bool_]) -> float:
        """The least loss of policies that take marked actions (S, A) only, surely not too large."""
        gaps = self.truth.rewards
        found = plan_in_floats(self.mdp, gaps, float(np.abs(gaps).max(initial=0.0)), optimal)
        return max(0.0, -float(self.start @ found.values) - found.error_bound) / self.unit

    def most(self, optimal: NDArray[np.bool_] | None = None) -> float:
        """The largest loss of policies that take marked actions (S, A) only; of all by default."""
        gaps = -self.truth.rewards
        found = plan_in_floats(self.mdp, gaps, float(gaps.max(initial=0.0)), optimal)
        return max(0.0, float(self.start @ found.values)) / self.unit

    def _lose_directly(self, weights: Floats, i: int, found: LossArrays) -> None:
        """The same as `lose_each` of one reward whose inexact evaluations went in circles.

        Its plan then is solved by elimination; the equations are those of the kernel.
        """
        mdp, alive = self.mdp, ~self.mdp.terminal
        n, m = mdp.n_states, mdp.n_actions
        table, scale = self._table(weights), float(reward_reach(mdp, weights))
        values = plan_in_floats(mdp, table, scale).action_values.reshape(n, m)
        gaps = values.max(axis=1, keepdims=True) - values
        optimal = (gaps <= found.ties[i]) | ~alive[:, None]
        true, paid = self.truth.rewards, self.probe.rewards.reshape(n, m)
        best = plan_in_floats(mdp, true, float(np.abs(true).max(initial=0.0)), optimal)
        policy = np.where(alive, best.policy, 0)
        taken = np.eye(m)[policy] * alive[:, None]
        own = paid[np.arange(n), policy]
        after = expected_next(mdp, discounted_sums(mdp, taken, own[:, None])[:, 0])
        worth = paid + mdp.discount * after.reshape(n, m)
        gained = np.abs(worth - worth[np.arange(n), policy][:, None])
        found.close[i] = int(np.count_nonzero(~optimal & (gaps <= found.clear[i])))
        found.optimal[i * n * m : (i + 1) * n * m] = optimal.ravel()
        found.values[i * n : (i + 1) * n] = best.values
        alike = (gained <= 1e4 * self.probe.tolerance).argmax(axis=1)
        found.policies[i * n : (i + 1) * n] = np.where(alive, alike, 0)

    def of(self, weights: Floats) -> Lost:
        """What each of the weights (n, k) leads to."""
        mdp, n = self.mdp, len(weights)
        reach = value_reach(mdp, weights)
        rewards = rewards_of(mdp, weights)
        columns = rewards.shape[1] // mdp.n_states
        found = LossArrays(
            TIE * reach,
            CLEAR * reach,
            np.zeros(n * mdp.n_states),
            np.zeros(n * mdp.n_states, dtype=np.uint32),
            np.zeros(n * mdp.n_states * mdp.n_actions, dtype=np.uint8),
            np.zeros(n, dtype=np.int64),
        )
        nothing, done = np.zeros(0), 0
        tolerances = roundings(mdp) * UNIT * reach
        while done < n:
            left = LossArrays(*(part[done * (len(part) // n) :] for part in found))
            rest = (rewards[done:].ravel(), tolerances[done:], self.table, nothing)
            stopped = self.kernel.run(
                self.work * (n - done),
                *(model_of(mdp), Batch(columns, *rest), MAX_ROUNDS, self.plan),
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
def keep_best(model: Model, rewards: Any, values: Any, tie: float, clear: float, kept: Any) -> int:
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
            best = max(best, action_value(model, rewards, row, values))
        for row in range(first, first + n_actions):
            gap = best - action_value(model, rewards, row, values)
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
        worth = action_value(model, rewards, own, values)
        for row in range(first, own):
            if abs(action_value(model, rewards, row, values) - worth) <= tie:
                policy[state] = row - first
                break


@kernel
def lose_each(
    model: Model,
    batch: Batch,
    most: int,
    plan: PlanWorkspace,
    levels: tuple[Level, Level],
    found: LossArrays,
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
        # Actions of equal successor features tie for every reward: without ties there are none.
        if ties > 0:
            if iterate(probe.model, probe.rewards, probe.tolerance, most, probe.plan) < 0:
                return i
            first_alike(probe, 1e4 * probe.tolerance, probe.plan.policy)
        for state in range(n_states):
            ended = model.ends[state] != 0
            found.policies[i * n_states + state] = 0 if ended else probe.plan.policy[state]
    return -1
