"""What the policy's action is worth beside every other one, by branching a simulator.

From a situation one copy takes the policy's action and one copy each alternative, once or for so
many steps; after that all follow the policy. Copies step together, so the policy is asked once a
step for all of them. A row is counts of the policy's action minus counts of the alternative. It is
settled when both ended, when both follow the policy from the very same state (what follows
cancels), or at the horizon.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.bec.rewards import BranchRewards
from didact.worlds.simulators.agents import Features, Policy
from didact.worlds.simulators.batches import Batch, Simulator

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

MOST_COPIES = 100_000
"""Of an array simulator, at once."""
MOST_OBJECTS = 256
"""Environment objects at once."""


def branched_rows(
    simulator: Simulator,
    policy: Policy,
    features: Features,
    situations: Sequence[Any],
    firsts: Any,
    *,
    discount: float,
    horizon: int,
    held: Sequence[int] | None = None,
    seeds: Any = None,
    rewards: BranchRewards | None = None,
) -> Floats:
    """Rows (n, B - 1, k): the policy's action, firsts[:, 0], minus each of the others.

    held: for how many steps each branch takes its action, (B,); once by default. seeds: one for
    each situation where steps depend on chance; branches of one share it. rewards: takes what
    every step pays beside its features.
    """
    n, n_branches = len(situations), len(firsts[0])
    most = MOST_OBJECTS if _is_pool(simulator) else MOST_COPIES
    step = max(1, most // n_branches)
    parts = []
    for low in range(0, n, step):
        some = [s for s in situations[low : low + step] for _ in range(n_branches)]
        actions = np.asarray(firsts[low : low + step])
        drawn = None if seeds is None else np.repeat(seeds[low : low + step], n_branches)
        branch = _Branches(simulator.resume(some, drawn), n_branches, discount, held, rewards)
        parts.append(branch.run(actions.reshape(-1, *actions.shape[2:]), policy, features, horizon))
    return np.concatenate(parts)


def _is_pool(simulator: Simulator) -> bool:
    return hasattr(simulator, "give_back")


class _Branches:
    """Copies of a chunk of situations: copy i * B + b took branch b of situation i.

    alive: the copies that still step, ascending; leaders (b = 0) stay while a follower needs them,
    as long as not all rows of their followers are settled.
    """

    def __init__(
        self,
        batch: Batch,
        n_branches: int,
        discount: float,
        held: Sequence[int] | None = None,
        rewards: BranchRewards | None = None,
    ):
        self._batch, self._n_branches, self._discount = batch, n_branches, discount
        self._rewards = rewards
        self.alive: Indices = np.arange(len(batch.observations))
        each = np.ones(n_branches, dtype=np.int64) if held is None else np.asarray(held)
        self._until: Indices = np.tile(each, len(self.alive) // n_branches)
        self._leads: Indices = self.alive // n_branches * n_branches
        self._n_open: Indices = np.full(len(self.alive), n_branches - 1)

    def run(self, actions: Any, policy: Policy, features: Features, horizon: int) -> Floats:
        """Step until all rows are settled, and give them: (n, B - 1, k)."""
        counts: Floats | None = None
        settled = np.zeros(len(self.alive), dtype=np.bool_)
        rows: Floats | None = None
        weight, firsts = 1.0, actions
        for done in range(1, horizon + 1):
            before = self._batch.observations
            stepped = self._batch.step(actions)
            phi = features(before, actions, stepped.observations, stepped.ended)
            if self._rewards is not None:
                self._rewards.add(phi, stepped.rewards, done)
            if counts is None or rows is None:
                counts = np.zeros((len(settled), phi.shape[1]))
                rows = np.zeros_like(counts)
            counts[self.alive] += weight * phi
            weight *= self._discount
            self._settle(counts, rows, settled, stepped.ended, done)
            if not len(self.alive):
                break
            actions = policy(self._batch.observations)
            still = self._until[self.alive] > done
            if still.any():
                actions = np.array(actions)
                actions[still] = firsts[self.alive[still]]
        assert counts is not None
        assert rows is not None
        rows[~settled] = counts[self._leads[~settled]] - counts[~settled]
        self._batch.keep(np.zeros(len(self.alive), dtype=np.bool_))
        return rows.reshape(-1, self._n_branches, rows.shape[1])[:, 1:]

    def _settle(self, counts: Floats, rows: Floats, settled: Any, ended: Any, done: int) -> None:
        """Settle rows whose two copies met, and drop copies that nothing waits for."""
        leads = self._leads[self.alive]
        follows = self.alive != leads
        place = np.full(len(settled), -1)
        place[self.alive] = np.arange(len(self.alive))
        going = follows & ~ended
        followers, before = self.alive[going], leads[going]
        both = (place[before] >= 0) & (self._until[followers] <= done)
        both[both] &= ~ended[place[before[both]]]
        met = np.zeros(len(followers), dtype=np.bool_)
        met[both] = self._batch.same_state(place[followers[both]], place[before[both]])
        merged = followers[met]
        rows[merged] = counts[before[met]] - counts[merged]
        settled[merged] = True
        np.subtract.at(self._n_open, before[met], 1)
        # a leader goes on while a follower does, or while one that ended is measured against it
        stays = ~ended & ~settled[self.alive] & (follows | (self._n_open[leads] > 0))
        self._batch.keep(stays)
        self.alive = self.alive[stays]
