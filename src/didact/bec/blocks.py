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
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.bec.branching import branched_rows
from didact.bec.chance import repeated_rows
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
Found = tuple[Floats, Floats | None]
"""Rows, and their covariances where steps depend on chance."""

BLOCK = 128
"""Situations."""
EVERY = 2.0
"""Seconds between two writings of what is done."""
PARTIAL_FORMAT = "didact.observing/1"


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
    held: tuple[int, ...] | None = None

    def measured(self) -> tuple[Found, int]:
        """Rows and covariances, and the simulator steps spent."""
        before = self.simulator.n_steps
        given = (self.simulator, self.policy, self.features, self.situations, self.firsts)
        length: Any = {"discount": self.discount, "horizon": self.horizon, "held": self.held}
        found: Found
        if self.repeats == 1:
            found = branched_rows(*given, **length), None
        else:
            rng = np.random.default_rng(self.seed)
            found = repeated_rows(*given, **length, repeats=self.repeats, rng=rng)
        return found, self.simulator.n_steps - before


def measure(blocks: Sequence[Block], workers: Workers) -> Found:
    """Rows of all blocks, in their order; steps are counted by the first block's simulator."""
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
                    workers.tell(sum(len(rows) for rows, _ in done), total, rate)
    if known is not None:
        known.remove()
    rows = np.concatenate([rows for rows, _ in done])
    parts = [spread for _, spread in done if spread is not None]
    return rows, np.concatenate(parts) if parts else None


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

    KINDS = {"rows": "f", "covariances": "f"}  # noqa: RUF012

    def __init__(self, path: str, blocks: Sequence[Block]):
        self._path, self._sizes = path, [len(block.situations) for block in blocks]
        self._written, self._mark = 0.0, _mark(blocks)

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
        return [
            (rows[low:high], spread[low:high] if spread.size else None)
            for low, high in pairwise(ends[: n_done + 1])
        ]

    def keep(self, done: Sequence[Found]) -> None:
        """Write what is done, now and then."""
        if time.monotonic() - self._written < EVERY and self._written:
            return
        spread = [part for _, part in done if part is not None]
        arrays = {
            "rows": np.concatenate([rows for rows, _ in done]),
            "covariances": np.concatenate(spread) if spread else np.empty(0),
        }
        header = {"format": PARTIAL_FORMAT, "mark": self._mark, "n_blocks": len(done)}
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
