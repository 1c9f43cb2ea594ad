"""Half-space normals of a policy's actions, measured by branching a simulator.

In a state one copy takes the policy's action and one copy each alternative, once or for so many
steps; after that all follow the policy. Copies step together, so the policy is asked once a step
for all of them. A row is the discounted features of the policy's branch minus those of the
alternative's: mu(s, pi(s)) - mu(s, b). It is settled when both branches ended, when both follow the
policy from the very same state (the tails cancel), or at the horizon; `Setting.tail` bounds what is
cut off.

Where steps depend on chance every state is branched many times. A row is then the mean, with the
covariance of that mean.

States are measured in blocks of fixed size: in this process, in others, or on a cluster. Random
numbers belong to a block, so results do not depend on the workers. Finished blocks can be kept in a
checkpoint file (`didact.observing/1`), from which an interrupted observation goes on.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.bec.observed.setting import (
    HERE,
    BranchRewards,
    Floats,
    ObserveWorkers,
    Setting,
    StepRewards,
    joined_extremes,
)
from didact.errors import InvalidFile
from didact.files.archives import Archive, read_archive, write_archive
from didact.files.extras import require_package
from didact.inputs import own_code
from didact.numerics.threads import begin_worker, without_interrupts
from didact.stages import Deadline, deadline, within
from didact.worlds.simulators.batches import Simulator, SimulatorBatch

Indices = NDArray[np.int64]

MAX_COPIES = 100_000
"""Of an array simulator, at once: more would take memory and win no time."""
MAX_OBJECTS = 256
"""Environment objects at once: each holds a whole environment."""
BLOCK = 128
"""States of a block. Draws depend on it, so changing it changes results with chance."""
PIECE = {True: 0.1, False: 0.5}
"""Share of the time that is left, where it is short, which the states that are branched at once may
take: of objects, and of arrays, whose steps take hardly longer for many. Those that the deadline
interrupts are lost."""
CHECKPOINT_SECONDS = 2.0
"""Seconds between two writings of a checkpoint."""
PARTIAL_FORMAT = "didact.observing/1"


class Measured(NamedTuple):
    """Rows of states against alternatives, and what measuring them has shown.

    rows: (n, B, k). others: the alternatives, (n, B, ...). covariances: of the rows, (n, B, k, k),
    where steps depend on chance. setting: with what these steps paid, and how far single repeats
    differ. numbers: of the states that were measured: all of them unless the deadline came first.
    """

    rows: Floats
    others: Any
    covariances: Floats | None
    setting: Setting
    numbers: Indices


def measure(
    setting: Setting,
    states: Sequence[Any],
    observations: Any,
    rng: np.random.Generator,
    actions: Any = None,
) -> Measured:
    """Rows of the policy's action in each state against all alternatives.

    states: as the simulator saves them. observations: what they show. rng: for chance. actions: of
    a recording, where they are not the policy's.
    """
    own = setting.policy(observations) if actions is None else actions
    others = setting.alternatives.beside(own, observations)
    firsts = np.concatenate([own[:, None], others], axis=1)
    held = setting.alternatives.steps_held(others.shape[1])
    found, known = measure_actions(setting, states, firsts, rng, held)
    return Measured(found.rows, others[found.numbers], found.covariances, known, found.numbers)


def measure_actions(
    setting: Setting,
    states: Sequence[Any],
    firsts: Any,
    rng: np.random.Generator,
    held: Sequence[int] | None = None,
) -> tuple[BlockRows, Setting]:
    """Rows of firsts[:, 0] against the other firsts, and the setting that knows their steps.

    Refused where these steps pay something else than weights . features. held: for how many steps
    each of the firsts is taken, once by default.
    """
    seeds = rng.integers(2**31, size=len(states) // BLOCK + 1) if setting.repeats > 1 else None
    # workers get no progress function, which may not be picklable, and start an empty record
    plain = replace(setting, workers=HERE, rewards=StepRewards(setting.weights))
    size, end = BLOCK, deadline()
    if end.is_set and setting.workers.jobs > 1:  # each process is to measure some in time
        size = int(np.clip(len(states) // (4 * setting.workers.jobs), 1, BLOCK))
    blocks = [
        Block(
            *(plain, states[low : low + size], firsts[low : low + size], held),
            seed=0 if seeds is None else int(seeds[low // BLOCK]) + low % BLOCK,
            # the clock of another machine says something else
            end=math.inf if setting.workers.cluster else end.end,
        )
        for low in range(0, len(states), size)
    ]
    found = measure_blocks(blocks, setting.workers)
    known = replace(
        setting,
        rewards=setting.rewards.joined(found.rewards).checked(),
        extremes=joined_extremes([setting.extremes, found.extremes]),
    )
    return found, known


def branched_rows(
    setting: Setting,
    states: Sequence[Any],
    firsts: Any,
    held: Sequence[int] | None = None,
    *,
    seeds: Any = None,
    paid: BranchRewards | None = None,
) -> Floats:
    """Rows (n, B - 1, k): the policy's action, firsts[:, 0], minus each of the others; of the first
    few states where the deadline comes before all of them.

    held: for how many steps each branch takes its action, (B,); once by default. seeds: one for
    each state where steps depend on chance; branches of one state share it (common random numbers
    make their difference less noisy). paid: takes what every step pays beside its features.
    """
    n, n_branches = len(states), len(firsts[0])
    most = MAX_OBJECTS if _is_pool(setting.simulator) else MAX_COPIES
    step, end, low = max(1, most // n_branches), deadline(), 0
    if end.is_set:
        part = PIECE[_is_pool(setting.simulator)]
        step = int(np.clip(setting.states_in(part * end.left, n_branches), 1, step))
    parts = [np.empty((0, n_branches - 1, len(setting.weights)))]
    while low < n and not end.is_over:
        left = end.left
        some = [state for state in states[low : low + step] for _ in range(n_branches)]
        actions = np.asarray(firsts[low : low + step])
        drawn = None if seeds is None else np.repeat(seeds[low : low + step], n_branches)
        batch = setting.simulator.resume(some, drawn)
        branches = _Branches(batch, setting, n_branches, held, paid)
        parts.append(branches.run(actions.reshape(-1, *actions.shape[2:])))
        low += step
        if end.is_set:
            share = part * left / max(left - end.left, 1e-9)
            step = int(np.clip(step * min(share, 4.0), 1, max(1, most // n_branches)))
    return np.concatenate(parts)


def _is_pool(simulator: Simulator) -> bool:
    return hasattr(simulator, "give_back")


class _Branches:
    """Copies of some states: copy i * B + b took branch b of state i.

    alive: the copies that still step, ascending; leaders (b = 0) stay while a follower needs them,
    as long as not all rows of their followers are settled.
    """

    def __init__(
        self,
        batch: SimulatorBatch,
        setting: Setting,
        n_branches: int,
        held: Sequence[int] | None,
        paid: BranchRewards | None,
    ):
        self._batch, self._setting = batch, setting
        self._n_branches, self._paid = n_branches, paid
        self.alive: Indices = np.arange(len(batch.observations))
        each = np.ones(n_branches, dtype=np.int64) if held is None else np.asarray(held)
        self._until: Indices = np.tile(each, len(self.alive) // n_branches)
        self._leads: Indices = self.alive // n_branches * n_branches
        self._n_open: Indices = np.full(len(self.alive), n_branches - 1)

    def run(self, firsts: Any) -> Floats:
        """Step until all rows are settled, and return them: (n, B - 1, k); none of them where the
        deadline comes before."""
        setting, end = self._setting, deadline()
        counts = np.zeros((len(self.alive), len(setting.weights)))
        rows = np.zeros_like(counts)
        settled = np.zeros(len(self.alive), dtype=np.bool_)
        weight, actions = 1.0, firsts
        for done in range(1, setting.horizon + 1):
            before = self._batch.observations
            stepped = self._batch.step(actions)
            phi = setting.features(before, actions, stepped)
            if self._paid is not None:
                self._paid.add(phi, stepped.rewards, done)
            counts[self.alive] += weight * phi
            weight *= setting.discount
            self._drop_settled(counts, rows, settled, stepped.ended, done)
            if not len(self.alive) or end.is_over:
                break
            actions = held_actions(
                setting.policy(self._batch.observations), firsts, self.alive, self._until, done
            )
        is_cut = len(self.alive) > 0 and done < setting.horizon
        rows[~settled] = counts[self._leads[~settled]] - counts[~settled]
        self._batch.keep(np.zeros(len(self.alive), dtype=np.bool_))
        return rows.reshape(-1, self._n_branches, rows.shape[1])[: 0 if is_cut else None, 1:]

    def _drop_settled(
        self, counts: Floats, rows: Floats, settled: Any, ended: Any, done: int
    ) -> None:
        """Settle rows whose two copies met, and drop copies that nothing waits for."""
        leads = self._leads[self.alive]
        follows = self.alive != leads
        place = np.full(len(settled), -1)
        place[self.alive] = np.arange(len(self.alive))
        going = follows & ~ended
        followers, before = self.alive[going], leads[going]
        # only copies that follow the policy from now on have the same tail
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


def held_actions(chosen: Any, firsts: Any, alive: Indices, until: Indices, done: int) -> Any:
    """The policy's actions in the copies alive, but the first ones where these are still held.

    until: for how many steps each copy takes its first action. done: steps so far.
    """
    still = until[alive] > done
    if still.any():
        chosen = np.array(chosen)  # a policy may return an array of its own
        chosen[still] = firsts[alive[still]]
    return chosen


class BlockRows(NamedTuple):
    """Rows and what their steps paid.

    covariances, extremes: where steps depend on chance, the rows' covariances (n, B, k, k) and the
    least and the largest entries (2, k) of single repeats. numbers: of the states that were
    measured before a deadline.
    """

    rows: Floats
    rewards: StepRewards
    covariances: Floats | None = None
    extremes: Floats | None = None
    numbers: Indices = np.empty(0, np.int64)

    @classmethod
    def joined(cls, parts: Sequence[BlockRows]) -> BlockRows:
        """All of them, in their order."""
        spread = [part.covariances for part in parts if part.covariances is not None]
        rewards = parts[0].rewards
        for part in parts[1:]:
            rewards = rewards.joined(part.rewards)
        return cls(
            np.concatenate([part.rows for part in parts]),
            rewards,
            np.concatenate(spread) if spread else None,
            joined_extremes([part.extremes for part in parts]),
        )


class Block(NamedTuple):
    """States that one worker measures, with first actions, a seed for chance, and the time by
    which it ends."""

    setting: Setting
    states: Sequence[Any]
    firsts: Any
    held: Sequence[int] | None
    seed: int
    end: float = math.inf

    def measured(self) -> tuple[BlockRows, int]:
        """The rows, and the simulator steps spent."""
        setting = self.setting
        before = setting.simulator.n_steps
        paid = BranchRewards(setting.rewards)
        with within(self.end - Deadline.clock()):
            if setting.repeats == 1:
                rows = branched_rows(setting, self.states, self.firsts, self.held, paid=paid)
                found = BlockRows(rows, paid.record())
            else:
                found = self._repeated(paid)
        return found, setting.simulator.n_steps - before

    def _repeated(self, paid: BranchRewards) -> BlockRows:
        """Mean rows of repeated branches, each with chance of its own, and their covariances."""
        repeats, rng = self.setting.repeats, np.random.default_rng(self.seed)
        step = max(1, MAX_COPIES // (len(self.firsts[0]) * repeats))
        rows, covariances, extremes = [], [], []
        seeds = rng.integers(2**31, size=(len(self.states), repeats))
        for low in range(0, len(self.states), step):
            part = slice(low, low + step)
            found = branched_rows(
                self.setting,
                [state for state in self.states[part] for _ in range(repeats)],
                np.repeat(np.asarray(self.firsts[part]), repeats, axis=0),
                self.held,
                seeds=seeds[part].ravel(),
                paid=paid,
            )
            found = found[: len(found) // repeats * repeats]
            if not len(found):
                break
            extremes.append(np.stack([found.min(axis=(0, 1)), found.max(axis=(0, 1))]))
            each = found.reshape(-1, repeats, *found.shape[1:])
            centred = each - each.mean(axis=1, keepdims=True)
            spread = np.einsum("nrbi,nrbj->nbij", centred, centred)
            rows.append(each.mean(axis=1))
            covariances.append(spread / (repeats - 1) / repeats)
        shape = (0, len(self.firsts[0]) - 1, len(self.setting.weights))
        return BlockRows(
            np.concatenate([np.empty(shape), *rows]),
            paid.record(),
            np.concatenate([np.empty((*shape, shape[-1])), *covariances]),
            joined_extremes(extremes),
        )


def measure_blocks(blocks: Sequence[Block], workers: ObserveWorkers) -> BlockRows:
    """The rows of all blocks, or of those before the deadline, in their order; the first block's
    simulator counts the steps."""
    known = _Checkpoint(workers.checkpoint, blocks) if workers.checkpoint else None
    done: list[BlockRows] = [] if known is None else known.read()
    simulator, spent, began = blocks[0].setting.simulator, 0, time.monotonic()
    total = sum(len(block.states) for block in blocks)
    left, is_cut = blocks[len(done) :], False
    here = _is_here(left, workers)
    with _results(left, workers) as results:
        for found, n_steps in results:
            done.append(found)
            spent += n_steps
            simulator.n_steps += 0 if here else n_steps
            is_cut = is_cut or len(found.rows) < len(blocks[len(done) - 1].states)
            if known is not None and not is_cut:
                known.keep(done)
            if workers.progress is not None:
                rate = spent / max(time.monotonic() - began, 1e-9)
                with own_code("progress"):
                    workers.progress(sum(len(each.rows) for each in done), total, rate)
    if known is not None and not is_cut:
        known.remove()
    starts = np.cumsum([0, *(len(block.states) for block in blocks)])
    measured = [low + np.arange(len(each.rows)) for low, each in zip(starts, done, strict=False)]
    return BlockRows.joined(done)._replace(numbers=np.concatenate(measured))


def _is_here(blocks: Sequence[Block], workers: ObserveWorkers) -> bool:
    """Whether this process measures them itself."""
    return len(blocks) < 2 or (workers.jobs == 1 and workers.cluster is None)


@contextmanager
def _results(
    blocks: Sequence[Block], workers: ObserveWorkers
) -> Iterator[Iterable[tuple[BlockRows, int]]]:
    """What each block gives, in their order."""
    if _is_here(blocks, workers):
        yield (block.measured() for block in blocks)
        return
    from joblib import Parallel, delayed, parallel_config

    calls = [delayed(Block.measured)(block) for block in blocks]
    if workers.cluster is None:
        with without_interrupts(by_loky=True):
            results = Parallel(
                n_jobs=workers.jobs,
                return_as="generator",
                initializer=begin_worker,
                initargs=(os.getpid(),),
            )(calls)
        yield results
        return
    distributed = require_package("distributed", "dask", "clusters")
    with distributed.Client(workers.cluster) as client, parallel_config("dask", client=client):
        yield Parallel(return_as="generator")(calls)


class _Checkpoint:
    """Finished blocks, in a file that belongs to exactly this observation."""

    KINDS = {"rows": "f", "covariances": "f", "extremes": "f"}  # noqa: RUF012
    PAID = ("n", "low", "high", "missed", "reward", "said", "place")

    def __init__(self, path: str, blocks: Sequence[Block]):
        self._path, self._sizes = path, [len(block.states) for block in blocks]
        self._written, self._mark = 0.0, _checksum(blocks)
        self._rewards = blocks[0].setting.rewards

    def read(self) -> list[BlockRows]:
        """The blocks that an earlier run has finished."""
        if not os.path.exists(self._path):
            return []
        found: list[BlockRows] = read_archive(self._path, PARTIAL_FORMAT, self._read)
        return found

    def _read(self, file: Any) -> list[BlockRows]:
        with Archive(file, PARTIAL_FORMAT, self.KINDS, "observe") as archive:
            header, arrays = archive.header(), archive.arrays()
        if header.get("mark") != self._mark:
            raise InvalidFile(
                "belongs to another observation; give another checkpoint, or remove it"
            )
        rows, spread = arrays["rows"], arrays["covariances"]
        n_done, ends = int(header["n_blocks"]), np.cumsum([0, *self._sizes])
        if rows.ndim != 3 or not 0 <= n_done <= len(self._sizes) or len(rows) != ends[n_done]:
            raise InvalidFile("must hold whole blocks; it does not")
        paid = header.get("paid")
        if not isinstance(paid, dict) or set(paid) != set(self.PAID):
            raise InvalidFile("must say what steps paid; it does not")
        # what steps of all blocks paid is kept as one record, with the first of them
        records = [replace(self._rewards, **paid), *[self._rewards] * n_done]
        extremes = arrays["extremes"] if spread.size else None
        return [
            BlockRows(rows[low:high], record, spread[low:high] if spread.size else None, extremes)
            for (low, high), record in zip(pairwise(ends[: n_done + 1]), records, strict=False)
        ]

    def keep(self, done: Sequence[BlockRows]) -> None:
        """Write what is done, now and then."""
        if time.monotonic() - self._written < CHECKPOINT_SECONDS and self._written:
            return
        found = BlockRows.joined(done)
        absent = np.empty(0)
        arrays = {
            "rows": found.rows,
            "covariances": absent if found.covariances is None else found.covariances,
            "extremes": absent if found.extremes is None else found.extremes,
        }
        paid = {name: getattr(found.rewards, name) for name in self.PAID}
        header = {"format": PARTIAL_FORMAT, "mark": self._mark, "n_blocks": len(done), "paid": paid}
        write_archive(header, arrays, self._path)
        self._written = time.monotonic()

    def remove(self) -> None:
        """The work is done, and the file no longer needed."""
        if os.path.exists(self._path):
            os.remove(self._path)


def _checksum(blocks: Sequence[Block]) -> str:
    """A checksum of all that is to be measured."""
    sum_of = hashlib.sha256()
    for block in blocks:
        setting = block.setting
        told = (setting.simulator.name, setting.discount, setting.horizon, setting.repeats)
        sum_of.update(repr((told, block.seed, len(block.states), block.held)).encode())
        sum_of.update(np.ascontiguousarray(block.firsts).tobytes())
        if isinstance(block.states[0], np.ndarray):
            sum_of.update(np.ascontiguousarray(block.states).tobytes())
    return sum_of.hexdigest()
