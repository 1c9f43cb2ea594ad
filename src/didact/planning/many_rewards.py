"""Optimal values of one model under many rewards, each planned from the policy of the one before.

Draws of a chain lie close together, so the last optimal policy is nearly optimal again and a few
rounds of policy iteration settle the next one. A draw that repeats the one before is not solved.
Values are within a few roundings of those of `didact.planning.solve`, whatever the order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from didact.errors import InvalidNumber, InvalidParameter
from didact.inputs import shown
from didact.mdp import MDP
from didact.numerics.compiled import kernel
from didact.numerics.exact import Floats
from didact.planning.derived import LARGEST, UNIT, reward_reach
from didact.planning.direct import iterate_directly
from didact.planning.floats import MOST_ROUNDS
from didact.planning.graphs import Graph, GraphPlan, graph_of, iterate_on_graph, new_graph_plan
from didact.planning.sweeps import Model, SweepPlan, iterate_by_sweeps, model_of, new_sweep_plan

MOST_BYTES = 2_000_000_000
"""No result may be larger; ask for fewer draws or for fewer states at once."""

BLOCK_BYTES = 16_000_000
"""Rewards and values of so many bytes are held at once."""


def optimal_values(mdp: MDP, weights: Any) -> Floats:
    """V*(s) under each of n weight vectors (n, k); shape (n, S)."""
    given = as_weight_rows(mdp, weights)
    require_room(given.shape[0] * mdp.n_states, "values", given.shape[0])
    values = np.empty((given.shape[0], mdp.n_states))
    for first, block in value_blocks(mdp, given):
        values[first : first + len(block)] = block
    return values


def action_values_of(mdp: MDP, weights: Any) -> Floats:
    """Q*(s, a) under each of n weight vectors (n, k); shape (n, S, A)."""
    given = as_weight_rows(mdp, weights)
    shape = (given.shape[0], mdp.n_states, mdp.n_actions)
    require_room(int(np.prod(shape)), "action values", given.shape[0])
    found = np.empty(shape)
    moves = mdp.transitions.matrix()
    for first, block in value_blocks(mdp, given):
        rows = slice(first, first + len(block))
        following = mdp.discount * (moves @ block.T).T.reshape(-1, *shape[1:])
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


def require_room(n_numbers: int, what: str, n_draws: int) -> None:
    """Refuse a result that would not fit in memory, before any work is done."""
    if 8 * n_numbers > MOST_BYTES:
        fewer = max(1, int(n_draws * MOST_BYTES / (8 * n_numbers)))
        raise InvalidParameter(
            f"{what} of {n_draws} draws would take {8 * n_numbers / 1e9:.1f} GB, more than "
            f"{MOST_BYTES / 1e9:.0f}; take at most {fewer} draws"
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

    tolerances: of each reward's values. table: room for one reward, by pairs. found: the values.
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
        if mdp.is_deterministic():
            self.model: Graph | Model = graph_of(mdp)
            self.plan: GraphPlan | SweepPlan = new_graph_plan(mdp.n_states)
            self.kernel, self.slack, self.work = plan_each_on_graph, 32, 20 * self.table.size
        else:
            self.model, self.plan = model_of(mdp), new_sweep_plan(mdp)
            self.kernel, self.slack = plan_each_by_sweeps, 4
            self.work = 100 * mdp.transitions.n_entries

    def values(self, weights: Floats) -> Floats:
        """V* (m, S) under each of the weights (m, k)."""
        mdp = self.mdp
        rewards = rewards_of(mdp, weights)
        columns = rewards.shape[1] // mdp.n_states
        tolerances = self.slack * (UNIT * value_reach(mdp, weights))
        found = np.empty((weights.shape[0], mdp.n_states))
        done = 0
        while done < len(found):
            rest = (rewards[done:].ravel(), tolerances[done:], self.table, found[done:].ravel())
            work = self.work * (len(found) - done)
            stopped = self.kernel.run(
                work, self.model, Batch(columns, *rest), MOST_ROUNDS, self.plan
            )
            done = len(found) if stopped < 0 else done + stopped + 1
            if stopped >= 0:
                found[done - 1] = self._directly(rewards[done - 1])
        return found

    def _directly(self, rewards: Floats) -> Floats:
        """The values of one reward by direct solves, from the last policy on."""
        table = np.repeat(rewards, self.table.size // rewards.size)
        values = self.plan.values
        values[:], _ = iterate_directly(self.mdp, table, self.model.allowed, self.plan.policy)
        return np.asarray(values)


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
def iterate(model: Any, rewards: Any, tolerance: float, most: int, plan: Any) -> int:
    """What settles one reward: `iterate_on_graph` or `iterate_by_sweeps`."""
    raise NotImplementedError


@kernel
def plan_each(model: Any, batch: Batch, most: int, plan: GraphPlan | SweepPlan) -> int:
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


plan_each_on_graph = plan_each.filled(iterate=iterate_on_graph)
plan_each_by_sweeps = plan_each.filled(iterate=iterate_by_sweeps)
