"""Candidate demonstrations: what a teacher who follows the optimal policy could show.

One step long they are all optimal pairs of the start states. Where policy and transitions are
deterministic there is one trajectory from each start. Otherwise trajectories are sampled; `aimed`
adds those that no sample has.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidParameter
from didact.inputs import entries, shown, whole_number
from didact.mdp import MDP, Demonstration, Task, as_mdp
from didact.mdp.demonstrations import demonstration_of
from didact.mdp.naming import numbered_state
from didact.mdp.transitions import require_index
from didact.planning import Plan, reachable_pairs
from didact.planning.kernels import single_successors
from didact.random import Seed, as_generator

Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]

_FACTOR = 0x9E3779B97F4A7C15
"""Odd, and far from any number of a pair."""
ROLLOUTS = 20
"""Sampled trajectories from each start, where the number is not given."""
MOST_PAIRS = 50_000_000
"""Candidates hold at most so many pairs together."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Demonstrations as an array of pair numbers s*A + a, (n, H), filled up with -1.

    sampled: whether there are more within the horizon than these. firsts: in a family, whose states
    are numbered one member after the other, each member's first state.
    """

    pairs: Indices
    n_actions: int
    horizon: int
    sampled: bool
    firsts: tuple[int, ...] | None = None

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, number: int) -> Demonstration:
        row = self.pairs[number]
        return self.demonstration(row[row >= 0].tolist())

    def demonstration(self, line: Sequence[int]) -> Demonstration:
        """What shows these pairs s*A + a, at least one."""
        width = self.n_actions
        if self.firsts is None:
            return demonstration_of(tuple([divmod(pair, width) for pair in line]))
        member = bisect_right(self.firsts, line[0] // width) - 1
        first = self.firsts[member] * width
        return demonstration_of(tuple([divmod(pair - first, width) for pair in line]), member)

    def lengths(self) -> Indices:
        """How many pairs each candidate shows."""
        return np.asarray((self.pairs >= 0).sum(axis=1))

    @classmethod
    def of(
        cls,
        lines: Sequence[Sequence[int]],
        n_actions: int,
        horizon: int,
        firsts: tuple[int, ...] | None = None,
    ) -> Candidates:
        """The candidates that show these pairs, one line each, and no others."""
        width = max(map(len, lines), default=1)
        pairs = np.full((len(lines), width), -1, dtype=np.int64)
        for i, line in enumerate(lines):
            pairs[i, : len(line)] = line
        return cls(pairs, n_actions, horizon, False, firsts)

    def joined(self, others: Candidates) -> Candidates:
        """These candidates and others after them."""
        width = max(self.pairs.shape[1], others.pairs.shape[1])
        both = [widened(part.pairs, width) for part in (self, others)]
        return replace(self, pairs=np.concatenate(both))


def as_starts(where: MDP | Task, starts: Any) -> Indices:
    """Start states, ascending: those given, or all of the task's that are not terminal."""
    mdp = as_mdp(where)
    if starts is None:
        return ((mdp.start.floats > 0) & ~mdp.terminal).nonzero()[0]
    given = entries(starts, "starts", "states")
    chosen = sorted({require_index(s, mdp.n_states, "starts") for s in given})
    ending = [s for s in chosen if mdp.terminal[s]]
    if ending:
        raise InvalidParameter(
            f"starts must not be terminal; {numbered_state(where, ending[0])} is"
        )
    if not chosen:
        raise InvalidParameter("starts must name at least one state; it is empty")
    return np.array(chosen, dtype=np.int64)


def as_horizon(mdp: MDP, horizon: int | None) -> int:
    """The given number of steps; else the end of the episode, or 1 / (1 - discount) steps.

    Sampled episodes are cut after so many steps as there are states, or after ten times
    1 / (1 - discount), whichever is more.
    """
    if horizon is None:
        effective = effective_horizon(mdp)
        return max(mdp.n_states, 10 * effective) if mdp.terminal.any() else effective
    return whole_number(horizon, "horizon", 1)


def effective_horizon(mdp: MDP) -> int:
    """1 / (1 - discount) steps, rounded up."""
    discount = mdp.exact_discount
    return -(-discount.denominator // (discount.denominator - discount.numerator))


def candidate_demonstrations(
    mdp: MDP,
    plan: Plan,
    *,
    starts: Indices,
    horizon: int,
    rollouts: int | None,
    seed: Seed,
) -> Candidates:
    """All single pairs, one trajectory from each start, or `rollouts` samples from each."""
    each = ROLLOUTS if rollouts is None else whole_number(rollouts, "rollouts", 1)
    if rollouts is None and horizon == 1:
        chosen = np.argwhere(plan.optimal[starts])
        pairs = starts[chosen[:, 0]] * mdp.n_actions + chosen[:, 1]
        return Candidates(pairs[:, None], mdp.n_actions, 1, False)
    if rollouts is None and _is_one_path(mdp, plan, starts):
        pairs, is_cut = _walk(mdp, plan, starts, horizon)
        return Candidates(pairs, mdp.n_actions, horizon, is_cut)
    if each * starts.size > MOST_PAIRS:
        raise InvalidParameter(
            f"rollouts must be at most {MOST_PAIRS // starts.size} from each of {starts.size} "
            f"starts; it is {shown(each)}"
        )
    rng = as_generator(seed, "rollouts")
    pairs = _sample(mdp, plan, starts, each, horizon, rng)
    return Candidates(pairs, mdp.n_actions, horizon, True)


def _is_one_path(mdp: MDP, plan: Plan, starts: Indices) -> bool:
    """Whether policy and transitions leave no choice on the way from the starts."""
    if not mdp.is_deterministic() or (plan.n_optimal[starts] > 1).any():
        return False
    begin = np.zeros(mdp.n_states, dtype=np.bool_)
    begin[starts] = True
    visited = reachable_pairs(mdp, plan.optimal, starts=begin)
    return bool((visited.sum(axis=1) <= 1).all())


def _walk(mdp: MDP, plan: Plan, starts: Indices, horizon: int) -> tuple[Indices, bool]:
    """The trajectories of a deterministic policy, and whether some that never end are cut short."""
    shown = np.arange(mdp.n_states) * mdp.n_actions + plan.optimal.argmax(axis=1)
    following = single_successors(mdp)[shown]
    limits = np.full(starts.size, horizon)
    if mdp.terminal.any() and horizon >= mdp.n_states:
        endless = ~_comes_to_an_end(mdp, following)[starts]
        limits[endless] = np.minimum(limits[endless], effective_horizon(mdp))
    pairs = _unroll(mdp, starts, limits, lambda s: (shown[s], following[s].astype(np.int64)))
    return pairs, bool((limits < horizon).any())


def _comes_to_an_end(mdp: MDP, following: NDArray[np.uint32]) -> Mask:
    """Whether the path from each state reaches a terminal one: following, squared repeatedly."""
    after = np.where(mdp.terminal, np.arange(mdp.n_states), following)
    for _ in range(mdp.n_states.bit_length()):
        after = after[after]
    return np.asarray(mdp.terminal[after])


def _sample(
    mdp: MDP, plan: Plan, starts: Indices, each: int, horizon: int, rng: np.random.Generator
) -> Indices:
    """So many trajectories sampled from each start, all at once, those alike once."""
    counts, choices = plan.n_optimal, plan.optimal.ravel().nonzero()[0]
    firsts = counts.cumsum() - counts
    starts = np.repeat(starts, each)
    moves = mdp.transitions
    heights = np.cumsum(moves.probabilities.floats)
    before = np.concatenate(([0.0], heights))[moves.offsets]
    sure = single_successors(mdp).astype(np.int64) if mdp.is_deterministic() else None

    def step(states: Indices) -> tuple[Indices, Indices]:
        draws = rng.random(2 * states.size)  # where steps are sure, too: seeds keep their meaning
        chosen = (draws[: states.size] * counts[states]).astype(np.int64)
        rows = choices[firsts[states] + chosen]
        if sure is not None:
            return rows, sure[rows]
        low, high = before[rows], before[rows + 1]
        points = low + draws[states.size :] * (high - low)
        entries = np.searchsorted(heights, points, side="right")
        entries = np.clip(entries, moves.offsets[rows], moves.offsets[rows + 1] - 1)
        return rows, moves.successors[entries].astype(np.int64)

    sampled = _unroll(mdp, starts, np.full(starts.size, horizon), step)
    return _distinct(np.ascontiguousarray(sampled.T))


def _unroll(mdp: MDP, starts: Indices, limits: Indices, step: Any) -> Indices:
    """Follow `step` from all starts until the end of the episode or the limit of each."""
    states, active = starts, np.arange(starts.size)
    columns: list[Indices] = []
    soonest = 0 if mdp.terminal.any() else int(limits.min(initial=MOST_PAIRS))
    while active.size:
        _require_room(starts.size, len(columns) + 1)
        pairs, states = step(states)
        if active.size == starts.size:
            columns.append(pairs)
        else:
            columns.append(np.full(starts.size, -1, dtype=np.int64))
            columns[-1][active] = pairs
        if len(columns) < soonest:
            continue
        goes_on = ~mdp.terminal[states] & (limits[active] > len(columns))
        if not goes_on.all():
            active, states = active[goes_on], states[goes_on]
    return np.stack(columns, axis=1)


def _require_room(n_starts: int, n_steps: int) -> None:
    if n_steps * n_starts > MOST_PAIRS:
        raise InvalidParameter(
            f"demonstrations from {n_starts} starts hold more than {MOST_PAIRS} pairs; "
            "give a shorter horizon or fewer starts"
        )


def _distinct(columns: Indices) -> Indices:
    """Columns (H, n) without repetition, in order of first appearance, as rows.

    They are told apart by a number each; where two have the same one, by all they hold.
    """
    factors = np.cumprod(np.full(len(columns), _FACTOR, dtype=np.uint64))
    keys = factors @ columns.view(np.uint64)
    order = np.argsort(keys, kind="stable")
    again = 1 + np.flatnonzero(keys[order[1:]] == keys[order[:-1]])
    first = np.delete(order, again)
    if not np.array_equal(columns[:, order[again]], columns[:, order[again - 1]]):
        first = np.unique(columns, axis=1, return_index=True)[1]
    return np.ascontiguousarray(columns[:, np.sort(first)].T)


def widened(pairs: Indices, width: int) -> Indices:
    """The same pairs in rows of that width, filled up with -1."""
    missing = width - pairs.shape[1]
    return np.pad(pairs, ((0, 0), (0, missing)), constant_values=-1) if missing else pairs
