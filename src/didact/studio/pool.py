"""Worker processes: each answers one question at a time, within limits of time and memory.

The first of several workers loads what lessons need before it takes questions, so that the others
can answer what a first picture asks meanwhile (`forks` has the processes). A page that asks
something newer of the same kind makes what it asked before pointless: if that still waits it is
dropped, if it runs it has a moment to end and is then killed. The same happens when the page goes
away, and when the time is up.

Small questions overtake heavy ones. Nobody knows beforehand which are heavy, so the last of several
workers takes only questions that have not proved to be, the shortest first, and only while the
others are busy. One that takes it longer than a moment, while another waits, is begun again by the
others, as a heavy one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Literal

from didact.studio.forks import LOAD, Worker

Outcome = Literal["answered", "superseded", "too late", "died", "too many", "busy"]

MOMENT = 0.25
"""Seconds that a worker may still take for an answer that nobody waits for any more."""


SOON = 1.0
"""Seconds that the first picture has the machine to itself before a worker loads for lessons."""

IDLE = 0.2
"""Seconds without a question after which a worker that replaces another loads for lessons. That is
a job of its own: a worker that only looks idle would keep a stroke waiting for most of a second."""

QUICK = 3.0
"""Seconds after which a question counts as heavy; a new worker needs some to load for lessons."""

MAX_TRIES = 5
"""Workers that may die before they begin a question, until it is given up."""


@dataclass(frozen=True)
class Limits:
    """What work may take: seconds and bytes for a question, questions of a page and of all."""

    n_workers: int = 2
    seconds: float = 60.0
    memory: int = 2 * 2**30
    of_a_page: int = 4
    of_all: int = 256


@dataclass(frozen=True)
class Reply:
    """What became of a question, and the worker's bytes where it answered."""

    outcome: Outcome
    body: bytes = b""


@dataclass(eq=False)
class Job:
    """A question under way; dropped: what became of it before an answer came.

    stage: what is being done, in words.
    """

    page: str
    kind: str
    body: bytes
    reply: asyncio.Future[Reply]
    dropped: asyncio.Event = field(default_factory=asyncio.Event)
    n_tries: int = 0
    is_heavy: bool = False
    stage: str = "waiting for its turn"

    def tell(self, stage: str) -> None:
        """Take note of the stage it is at."""
        self.stage = stage

    def drop(self, outcome: Outcome) -> None:
        """End it without an answer."""
        if not self.reply.done():
            self.reply.set_result(Reply(outcome))
        self.dropped.set()


class WorkerPool:
    """Some workers and the questions that wait for them."""

    def __init__(self, limits: Limits):
        self.limits = limits
        self._waiting: deque[Job] = deque()
        self._under_way: set[Job] = set()
        self._more = asyncio.Condition()
        self._tasks: list[asyncio.Task[None]] = []
        self._workers: dict[int, Worker] = {}
        self._begun: set[int] = set()
        self._to_load: set[int] = set()
        self._idle: set[int] = set()

    async def start(self) -> None:
        """Start the workers; questions may come before they are ready."""
        self._tasks = [
            asyncio.create_task(self._keep_answering(i)) for i in range(self.limits.n_workers)
        ]

    async def stop(self) -> None:
        """End the workers at once; what still waits is told that they died."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        for job in [*self._under_way, *self._waiting]:
            job.drop("died")
        for worker in self._workers.values():
            worker.kill()
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def n_under_way(self) -> int:
        """How many questions are being worked on."""
        return len(self._under_way)

    @property
    def process_ids(self) -> list[int]:
        """The worker processes that run now."""
        return [worker.process_id for worker in self._workers.values()]

    async def ask(self, page: str, kind: str, body: bytes) -> Reply:
        """The answer to a question of a page; what it asked before of this kind is dropped."""
        mine = [job for job in (*self._waiting, *self._under_way) if job.page == page]
        for job in mine:
            if job.kind == kind:
                job.drop("superseded")
        if not self._tasks:
            return Reply("died")
        if sum(not job.reply.done() for job in mine) >= self.limits.of_a_page:
            return Reply("too many")
        if len(self._waiting) >= self.limits.of_all:
            return Reply("busy")
        job = Job(page, kind, body, asyncio.get_running_loop().create_future())
        async with self._more:
            self._waiting.append(job)
            self._more.notify_all()
        try:
            return await asyncio.shield(job.reply)
        except asyncio.CancelledError:
            job.drop("superseded")
            raise

    def stage(self, page: str, kind: str) -> str | None:
        """What is being done for a question of a page, in words; None where nothing is."""
        for job in (*self._under_way, *self._waiting):
            if (job.page, job.kind) == (page, kind) and not job.reply.done():
                return job.stage
        return None

    async def _keep_answering(self, number: int) -> None:
        if self._loads(number):
            await asyncio.sleep(SOON)
        while True:
            try:
                await self._ready(number)
                job = await self._next(number)
                try:
                    worker = await self._ready(number)  # it may have died while it waited
                    await self._answer(worker, job, is_reserve=self._is_reserve(number))
                except (OSError, EOFError):
                    job.drop("died")
                    raise
                finally:
                    self._under_way.discard(job)
            except (OSError, EOFError):
                self._end(number)
                await asyncio.sleep(MOMENT)

    async def _ready(self, number: int) -> Worker:
        """A worker that runs; a new one where the last was killed."""
        worker = self._workers.get(number)
        if worker is None or not worker.is_alive():
            self._end(number)
            is_first = number not in self._begun
            self._begun.add(number)
            loads = is_first and self._loads(number)
            worker = await asyncio.to_thread(Worker, self.limits.memory, loads=loads)
            if not is_first and not self._is_reserve(number):
                self._to_load.add(number)
            self._workers[number] = worker
            await asyncio.to_thread(worker.get_ready)
        return worker

    def _loads(self, number: int) -> bool:
        """Whether a worker begins by loading what lessons need: one of several does."""
        return number == 0 and self.limits.n_workers > 1

    def _end(self, number: int) -> None:
        worker = self._workers.pop(number, None)
        if worker is not None:
            worker.kill()

    def _is_reserve(self, number: int) -> bool:
        """Whether a worker is the one that is kept free of heavy questions."""
        return number > 0 and number == self.limits.n_workers - 1

    async def _next(self, number: int) -> Job:
        """The next job for a worker, of those that somebody still waits for."""
        async with self._more:
            while (job := self._picked(number)) is None:
                self._idle.add(number)
                wait = IDLE if number in self._to_load else None
                try:
                    await asyncio.wait_for(self._more.wait(), wait)
                except TimeoutError:
                    if self._picked(number) is not None:
                        continue
                    self._to_load.remove(number)
                    job = Job("", LOAD, b"", asyncio.get_running_loop().create_future())
                    self._under_way.add(job)
                    return job
                finally:
                    self._idle.discard(number)
            self._waiting.remove(job)
            self._under_way.add(job)
            if self._waiting:
                self._more.notify_all()
            return job

    def _picked(self, number: int) -> Job | None:
        """The job that has waited longest; for the reserve the shortest that is not heavy."""
        for job in [job for job in self._waiting if job.reply.done()]:
            self._waiting.remove(job)
        if not self._is_reserve(number):
            return self._waiting[0] if self._waiting else None
        if self._idle - {number}:
            return None
        return min(self._small(), key=lambda job: len(job.body), default=None)

    def _small(self) -> list[Job]:
        return [job for job in self._waiting if not job.is_heavy and not job.reply.done()]

    async def _is_in_the_way(self, ends: set[asyncio.Future[Any]]) -> bool:
        """Whether a job of the reserve is not done soon, and another small one waits meanwhile."""
        loop = asyncio.get_running_loop()
        began, wait = loop.time(), QUICK
        while loop.time() < began + self.limits.seconds:
            found, _ = await asyncio.wait(ends, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            if found:
                return False
            if self._small():
                return True
            wait = MOMENT
        return False

    async def _answer(self, worker: Worker, job: Job, *, is_reserve: bool) -> None:
        """Have a job done; kill the worker when it takes too long or nobody wants it any more."""
        is_left = False
        done = asyncio.ensure_future(
            asyncio.to_thread(worker.exchange, job.kind, job.body, job.tell)
        )
        done.add_done_callback(_heard)
        dropped = asyncio.ensure_future(job.dropped.wait())
        try:
            is_left = is_reserve and await self._is_in_the_way({done, dropped})
            left = 0.0 if is_left else self.limits.seconds
            await asyncio.wait({done, dropped}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if not done.done() and job.dropped.is_set():
                await asyncio.wait({done}, timeout=MOMENT)
        finally:
            dropped.cancel()
            is_left = is_left and not done.done() and not job.dropped.is_set()
            if not done.done():
                if not is_left:
                    job.drop("too late")
                worker.kill()
        if is_left:
            job.is_heavy, job.stage = True, "waiting for its turn"
            async with self._more:
                self._waiting.append(job)
                self._more.notify_all()
            return
        try:
            body = await done
            if not job.reply.done():
                job.reply.set_result(Reply("answered", body))
        except BrokenPipeError:  # it had died before it began: the next one is asked
            worker.kill()  # the system may not know yet that it is dead
            job.n_tries += 1
            if job.n_tries < MAX_TRIES:
                self._waiting.appendleft(job)
            else:
                job.drop("died")
        except (EOFError, OSError):
            worker.kill()
            job.drop("died")


def _heard(done: asyncio.Future[bytes]) -> None:
    """Take note of how an exchange ended, also where nobody waits for it any more."""
    if not done.cancelled():
        done.exception()
