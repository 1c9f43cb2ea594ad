"""Worker processes: each answers one question at a time, within limits of time and memory.

The first of several workers loads what lessons need before it takes questions, so that the others
can answer what a first picture asks meanwhile (`forks` has the processes). A page that asks
something newer of the same kind makes what it asked before pointless: if that still waits it is
dropped, if it runs it has a moment to end and is then killed. The same happens when the page goes
away, and when the time is up.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Literal

from didact.studio.forks import AT_ONCE, Worker

Outcome = Literal["answered", "superseded", "too late", "died", "too many", "busy"]

MOMENT = 0.25
"""Seconds that a worker may still take for an answer that nobody waits for any more."""


SOON = 1.0
"""Seconds that the first picture has the machine to itself before a worker loads for lessons."""

IDLE = 0.2
"""Seconds without a question after which a worker that replaces another loads for lessons."""

MOST_TRIES = 5
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
    stage: str = "waiting for its turn"

    def tell(self, stage: str) -> None:
        """Take note of the stage it is at."""
        self.stage = stage

    def drop(self, outcome: Outcome) -> None:
        """End it without an answer."""
        if not self.reply.done():
            self.reply.set_result(Reply(outcome))
        self.dropped.set()


class Crew:
    """Some workers and the questions that wait for them."""

    def __init__(self, limits: Limits):
        self.limits = limits
        self._waiting: deque[Job] = deque()
        self._under_way: set[Job] = set()
        self._more = asyncio.Condition()
        self._tasks: list[asyncio.Task[None]] = []
        self._workers: dict[int, Worker] = {}
        self._begun: set[int] = set()

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
            self._more.notify()
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
                job = await self._next()
                try:
                    worker = await self._ready(number)  # it may have died while it waited
                    await self._answer(worker, job)
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
            loads = IDLE if number in self._begun else AT_ONCE if self._loads(number) else None
            self._begun.add(number)
            worker = await asyncio.to_thread(Worker, self.limits.memory, loads=loads)
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

    async def _next(self) -> Job:
        """The job that has waited longest, of those that somebody still waits for."""
        async with self._more:
            while True:
                while self._waiting:
                    job = self._waiting.popleft()
                    if not job.reply.done():
                        self._under_way.add(job)
                        return job
                await self._more.wait()

    async def _answer(self, worker: Worker, job: Job) -> None:
        """Have a job done; kill the worker when it takes too long or nobody wants it any more."""
        done = asyncio.ensure_future(
            asyncio.to_thread(worker.exchange, job.kind, job.body, job.tell)
        )
        done.add_done_callback(_heard)
        dropped = asyncio.ensure_future(job.dropped.wait())
        try:
            await asyncio.wait(
                {done, dropped}, timeout=self.limits.seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if not done.done() and job.dropped.is_set():
                await asyncio.wait({done}, timeout=MOMENT)
        finally:
            dropped.cancel()
            if not done.done():
                job.drop("too late")
                worker.kill()
        try:
            body = await done
            if not job.reply.done():
                job.reply.set_result(Reply("answered", body))
        except BrokenPipeError:  # it had died before it began: the next one is asked
            worker.kill()  # the system may not know yet that it is dead
            job.n_tries += 1
            if job.n_tries < MOST_TRIES:
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
