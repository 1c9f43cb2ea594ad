"""Optimal values of one model under many rewards, each planned from the policy of the one before.

Draws of a chain lie close together, so the last optimal policy is nearly optimal again and a few
rounds of policy iteration settle the next one. A draw that repeats the one before is not solved.
Values are within a few roundings of those of `didact.planning.solve`, whatever the order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from didact.errors import InvalidNumber, InvalidParameter
from didact.inputs import shown
from didact.mdp import MDP
from didact.numerics.compiled import kernel
from didact.numerics.exact import Floats
from didact.planning.derived import LARGEST, UNIT, longest_row, reward_reach, single_successors
from didact.planning.direct import iterate_directly
from didact.planning.floats import MOST_ROUNDS
from didact.planning.kernels import iterate_policies, iterate_policies_deterministic

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
        rewards = _rewards(mdp, given[rows]).reshape(len(block), mdp.n_states, -1)
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


def _rewards(mdp: MDP, weights: Floats) -> Floats:
    """w.phi(s), or w.phi(s, a), for each of the weights: (n, S) or (n, S*A)."""
    features = mdp.features.floats
    return np.ascontiguousarray(weights @ features.reshape(-1, mdp.n_features).T)


class _Planner:
    """The policy and the workspace that go from one reward to the next."""

    def __init__(self, mdp: MDP):
        n = mdp.n_states
        self.mdp = mdp
        self.fixed = (np.zeros(n, dtype=np.uint32), np.zeros(n), np.zeros(n * mdp.n_actions))
        self.allowed = np.ones(n * mdp.n_actions, dtype=np.uint8)

    def values(self, weights: Floats) -> Floats:
        """V* (m, S) under each of the weights (m, k)."""
        mdp = self.mdp
        rewards = _rewards(mdp, weights)
        columns = rewards.shape[1] // mdp.n_states
        rounding = UNIT * value_reach(mdp, weights)
        solve = self._deterministic if mdp.is_deterministic() else self._stochastic
        found = np.empty((weights.shape[0], mdp.n_states))
        done = 0
        while done < len(found):
            stopped = solve(columns, rewards[done:].ravel(), rounding[done:], found[done:].ravel())
            done = len(found) if stopped < 0 else done + stopped + 1
            if stopped >= 0:
                found[done - 1] = self._directly(rewards[done - 1])
        return found

    def _directly(self, rewards: Floats) -> Floats:
        """The values of one reward by direct solves, from the last policy on."""
        policy, values, _ = self.fixed
        table = np.repeat(rewards, self.mdp.n_states * self.mdp.n_actions // rewards.size)
        values[:], _ = iterate_directly(self.mdp, table, self.allowed, policy)
        return values

    def _deterministic(self, columns: int, rewards: Floats, rounding: Floats, found: Floats) -> int:
        mdp, n_states, n = self.mdp, self.mdp.n_states, rounding.size
        stopped: int = plan_each_deterministic.run(
            20 * n * n_states * mdp.n_actions,
            n, n_states, mdp.n_actions, columns, single_successors(mdp),
            mdp.terminal.view(np.uint8), self.allowed, rewards, mdp.discount, 32 * rounding,
            MOST_ROUNDS, *self.fixed, found, np.zeros(n_states),
            np.zeros(n_states, dtype=np.uint32), np.zeros(n_states, dtype=np.uint8),
            np.zeros(n_states, dtype=np.uint32),
        )  # fmt: skip
        return stopped

    def _stochastic(self, columns: int, rewards: Floats, rounding: Floats, found: Floats) -> int:
        mdp, moves, n_states = self.mdp, self.mdp.transitions, self.mdp.n_states
        n = rounding.size
        n_chosen = n_states * longest_row(mdp)
        stopped: int = plan_each.run(
            100 * n * moves.n_entries,
            n, n_states, mdp.n_actions, columns, moves.offsets, moves.successors,
            moves.probabilities.floats, mdp.terminal.view(np.uint8), self.allowed, rewards,
            mdp.discount, 4 * rounding, UNIT, MOST_ROUNDS, *self.fixed, found,
            np.zeros(n_states + 1, dtype=np.uint32), np.zeros(n_chosen, dtype=np.uint32),
            np.zeros(n_chosen), *np.zeros((7, n_states)),
        )  # fmt: skip
        return stopped


@kernel
def spread_rewards(
    n_states: int, n_actions: int, columns: int, rewards: Any, first: int, table: Any
) -> None:
    """table[s*A + a] = the reward of s (columns 1) or of s, a (columns A), from `first` on."""
    for state in range(n_states):
        for action in range(n_actions):
            column = action if columns > 1 else 0
            table[state * n_actions + action] = rewards[first + state * columns + column]


@kernel
def plan_each_deterministic(
    n_rewards: int,
    n_states: int,
    n_actions: int,
    columns: int,
    successor: Any,
    ends: Any,
    allowed: Any,
    rewards: Any,
    discount: float,
    tolerances: Any,
    most: int,
    policy: Any,
    values: Any,
    table: Any,
    found: Any,
    payments: Any,
    following: Any,
    seen: Any,
    path: Any,
) -> int:
    """Values of each reward by policy iteration from the last policy; -1, or who did not settle."""
    for i in range(n_rewards):
        spread_rewards(n_states, n_actions, columns, rewards, i * n_states * columns, table)
        rounds = iterate_policies_deterministic(
            n_states, n_actions, successor, ends, allowed, table, discount, tolerances[i], most,
            policy, values, payments, following, seen, path,
        )  # fmt: skip
        if rounds < 0:
            return i
        for state in range(n_states):
            found[i * n_states + state] = values[state]
    return -1


@kernel
def plan_each(
    n_rewards: int,
    n_states: int,
    n_actions: int,
    columns: int,
    offsets: Any,
    successors: Any,
    probabilities: Any,
    ends: Any,
    allowed: Any,
    rewards: Any,
    discount: float,
    tolerances: Any,
    unit: float,
    most: int,
    policy: Any,
    values: Any,
    table: Any,
    found: Any,
    chosen_offsets: Any,
    chosen_successors: Any,
    chosen_probabilities: Any,
    payments: Any,
    r: Any,
    shadow: Any,
    p: Any,
    v: Any,
    s: Any,
    t: Any,
) -> int:
    """The same for stochastic models, from the last policy and its values.

    A reward that is zero everywhere has values that are zero: nothing is left to be small against.
    """
    for i in range(n_rewards):
        if tolerances[i] == 0.0:
            for state in range(n_states):
                values[state] = 0.0
        spread_rewards(n_states, n_actions, columns, rewards, i * n_states * columns, table)
        rounds = iterate_policies(
            n_states, n_actions, offsets, successors, probabilities, ends, allowed, table,
            discount, tolerances[i], unit, most, policy, values, chosen_offsets,
            chosen_successors, chosen_probabilities, payments, r, shadow, p, v, s, t,
        )  # fmt: skip
        if rounds < 0:
            return i
        for state in range(n_states):
            found[i * n_states + state] = values[state]
    return -1
