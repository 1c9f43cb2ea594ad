"""Situations are measured block by block: in this process, in others, or on a cluster.

A block is so many situations, whoever measures it, so results do not depend on the workers. Blocks
that are done can be kept in a file, from which an interrupted observation goes on.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.bec.branching import branched_rows
from didact.bec.chance import joined_extremes, repeated_rows
from didact.bec.rewards import BranchRewards, StepRewards
from didact.errors import InvalidFile, InvalidParameter
from didact.files.archives import Archive, read_archive, write_archive
from didact.files.extras import require_package
from didact.files.json import require_writable
from didact.files.reading import shown_path
from didact.inputs import as_text, own_code, whole_number
from didact.numerics.threads import begin_worker, without_interrupts

Floats = NDArray[np.float64]
Tell = Callable[[int, int, float], Any]
"""Of situations done, of how many, and simulator steps a second."""
BLOCK = 128
"""Situations."""
EVERY = 2.0
"""Seconds between two writings of what is done."""
PARTIAL_FORMAT = "didact.observing/1"


class Found(NamedTuple):
    """Rows and what their steps paid; where steps depend on chance, the rows' covariances and the
    least and the largest entries of single repeats."""

    rows: Floats
    rewards: StepRewards
    covariances: Floats | None = None
    extremes: Floats | None = None

    @classmethod
    def joined(cls, parts: Sequence[Found]) -> Found:
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


@dataclass(frozen=True)
class Workers:
    """Who measures blocks.

    jobs: processes on this machine. cluster: the address of a Dask scheduler, instead. tell: called
    after each block. checkpoint: a file for what is done.
    """

    jobs: int = 1
    cluster: str | None = None
    tell: Tell | None = None
    checkpoint: str | None = None

    def __post_init__(self) -> None:
        whole_number(self.jobs, "jobs", 1)
        if self.tell is not None and not callable(self.tell):
            raise InvalidParameter("progress must be a function (done, total, steps a second)")
        if self.cluster is not None:
            as_text(self.cluster, "cluster")
        if self.checkpoint is not None:
            shown_path(self.checkpoint)
            if not os.path.exists(self.checkpoint):
                require_writable(self.checkpoint, None)


@dataclass(frozen=True)
class Block:
    """What a worker needs to measure some situations.

    repeats 1: steps do not depend on chance. held: for how many steps each of the firsts is taken.
    rewards: the record that what steps pay is added to.
    """

    simulator: Any
    policy: Any
    features: Any
    situations: Sequence[Any]
    firsts: Any
    discount: float
    horizon: int
    repeats: int
    seed: int
    rewards: StepRewards
    held: tuple[int, ...] | None = None

    def measured(self) -> tuple[Found, int]:
        """What is found, and the simulator steps spent."""
        before = self.simulator.n_steps
        given = (self.simulator, self.policy, self.features, self.situations, self.firsts)
        length: Any = {"discount": self.discount, "horizon": self.horizon, "held": self.held}
        paid = BranchRewards(self.rewards)
        if self.repeats == 1:
            found = Found(branched_rows(*given, **length, rewards=paid), paid.record())
        else:
            rng = np.random.default_rng(self.seed)
            rows, *chance = repeated_rows(
                *given, **length, repeats=self.repeats, rng=rng, rewards=paid
            )
            found = Found(rows, paid.record(), *chance)
        return found, self.simulator.n_steps - before


def measure(blocks: Sequence[Block], workers: Workers) -> Found:
    """What all blocks give, in their order; steps are counted by the first block's simulator."""
    known = _Checkpoint(workers.checkpoint, blocks) if workers.checkpoint else None
    done: list[Found] = [] if known is None else known.read()
    simulator, spent, began = blocks[0].simulator, 0, time.monotonic()
    total = sum(len(block.situations) for block in blocks)
    left = blocks[len(done) :]
    here = _is_here(left, workers)
    with _results(left, workers) as results:
        for found, n_steps in results:
            done.append(found)
            spent += n_steps
            simulator.n_steps += 0 if here else n_steps
            if known is not None:
                known.keep(done)
            if workers.tell is not None:
                rate = spent / max(time.monotonic() - began, 1e-9)
                with own_code("progress"):
                    workers.tell(sum(len(each.rows) for each in done), total, rate)
    if known is not None:
        known.remove()
    return Found.joined(done)


def _is_here(blocks: Sequence[Block], workers: Workers) -> bool:
    """Whether this process measures them itself."""
    return len(blocks) < 2 or (workers.jobs == 1 and workers.cluster is None)


@contextmanager
def _results(blocks: Sequence[Block], workers: Workers) -> Iterator[Iterable[tuple[Found, int]]]:
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
    """Blocks that are done, in a file that belongs to exactly this work."""

    KINDS = {"rows": "f", "covariances": "f", "extremes": "f"}  # noqa: RUF012
    PAID = ("n", "low", "high", "missed", "reward", "said", "place")

    def __init__(self, path: str, blocks: Sequence[Block]):
        self._path, self._sizes = path, [len(block.situations) for block in blocks]
        self._written, self._mark = 0.0, _mark(blocks)
        self._rewards = blocks[0].rewards

    def read(self) -> list[Found]:
        """What an earlier run has done."""
        if not os.path.exists(self._path):
            return []
        found: list[Found] = read_archive(self._path, PARTIAL_FORMAT, self._read)
        return found

    def _read(self, file: Any) -> list[Found]:
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
        ends_of = arrays["extremes"] if spread.size else None
        return [
            Found(rows[low:high], record, spread[low:high] if spread.size else None, ends_of)
            for (low, high), record in zip(pairwise(ends[: n_done + 1]), records, strict=False)
        ]

    def keep(self, done: Sequence[Found]) -> None:
        """Write what is done, now and then."""
        if time.monotonic() - self._written < EVERY and self._written:
            return
        found = Found.joined(done)
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


def _mark(blocks: Sequence[Block]) -> str:
    """A checksum of all that is to be measured."""
    sum_of = hashlib.sha256()
    for block in blocks:
        told = (block.simulator.name, block.discount, block.horizon, block.repeats, block.seed)
        sum_of.update(repr((told, len(block.situations), block.held)).encode())
        sum_of.update(np.ascontiguousarray(block.firsts).tobytes())
        if isinstance(block.situations[0], np.ndarray):
            sum_of.update(np.ascontiguousarray(block.situations).tobytes())
    return sum_of.hexdigest()
