"""Workers: they answer, they are replaced when they die, and pointless work is stopped."""

import asyncio
import json
import os
import signal
from contextlib import suppress
from dataclasses import replace

import pytest

pytest.importorskip("starlette", reason="the studio is an extra")

from didact.studio.forks import LOAD
from didact.studio.pool import Limits, WorkerPool
from didact.studio.questions import MEADOW

LOOK = json.dumps({"painting": dict(MEADOW)}).encode()
SLIPPERY = {"size": 20, "n_features": 20, "slip": "1/10"}
SOLVED_LONG = json.dumps({"world": "random-grid", "parameters": SLIPPERY}).encode()
LONG = json.dumps({"world": "random-grid", "parameters": {"size": 30, "n_features": 20}}).encode()


def with_pool(work, **limits):
    """What `work(pool)` gives with workers that are ended afterwards."""

    async def run():
        pool = WorkerPool(Limits(**limits))
        await pool.start()
        try:
            return await work(pool)
        finally:
            await pool.stop()

    return asyncio.run(run())


def test_killed_workers_are_replaced_and_others_are_told():
    async def work(pool):
        first = await pool.ask("page", "look", LOOK)
        (number,) = pool.process_ids
        before = ticks(number)
        running = asyncio.create_task(pool.ask("page", "teach", LONG))
        while ticks(number) < before + 5:  # before it works it can die and nobody need know
            await asyncio.sleep(0.01)
        os.kill(number, signal.SIGKILL)
        return first, await running, await pool.ask("page", "look", LOOK)

    first, killed, last = with_pool(work, n_workers=1)
    assert first.outcome == last.outcome == "answered"
    assert first.body == last.body
    assert killed.outcome == "died"


def test_something_newer_of_a_kind_stops_what_is_older():
    async def work(pool):
        asked = []
        for body in (LONG, LONG, LONG):
            asked.append(asyncio.create_task(pool.ask("page", "teach", body)))
            await asyncio.sleep(0)
        other = asyncio.create_task(pool.ask("other", "look", LOOK))
        newest = await pool.ask("page", "teach", LOOK)
        return [await each for each in asked], newest, await other

    older, newest, other = with_pool(work, n_workers=2)
    assert [reply.outcome for reply in older] == ["superseded"] * 3
    assert newest.outcome == other.outcome == "answered"


def test_a_page_is_told_the_stage_of_its_question():
    async def work(pool):
        first = asyncio.create_task(pool.ask("first", "teach", LONG))
        while not pool.n_under_way:
            await asyncio.sleep(0)
        asked = asyncio.create_task(pool.ask("page", "teach", SOLVED_LONG))
        await asyncio.sleep(0.01)
        stages = [pool.stage("page", "teach")]
        first.cancel()
        while stages[-1] != "solving":
            if asked.done():  # this process stood still while it was solved
                asked = asyncio.create_task(pool.ask("page", "teach", SOLVED_LONG))
            await asyncio.sleep(0.01)
            stages.append(pool.stage("page", "teach"))
        others = [pool.stage("page", "look"), pool.stage("other", "teach")]
        asked.cancel()
        await asyncio.sleep(0)
        return stages, [*others, pool.stage("page", "teach")]

    stages, nothing = with_pool(work, n_workers=1)
    assert stages[0] == "waiting for its turn"
    assert nothing == [None] * 3


def test_a_first_picture_does_not_wait_for_the_worker_that_loads(monkeypatch):
    async def work(pool):
        return await pool.ask("page", "look", LOOK), len(pool.process_ids)

    monkeypatch.setattr("didact.studio.pool.SOON", 3600.0)
    reply, n_workers = with_pool(work, n_workers=2)
    assert (reply.outcome, n_workers) == ("answered", 1)


def test_the_worker_that_loads_answers_once_it_has(monkeypatch):
    async def work(pool):
        while not (0 in pool._workers and pool._workers[0].is_alive()):
            await asyncio.sleep(0.01)
        kept = []
        while pool.n_under_way < 2:
            # One worker may answer both before the other is ready: then both are asked again.
            if all(asked.done() for asked in kept):
                kept = [asyncio.create_task(pool.ask(f"page {i}", "teach", LONG)) for i in range(2)]
            await asyncio.sleep(0.01)
        for asked in kept:
            asked.cancel()
        return await pool.ask("page", "look", LOOK)

    monkeypatch.setattr("didact.studio.pool.SOON", 0.0)
    assert with_pool(work, n_workers=2).outcome == "answered"


def test_a_stroke_does_not_wait_for_a_worker_that_loads_after_another_was_killed(monkeypatch):
    async def work(pool):
        while pool._idle != {0, 1}:
            await asyncio.sleep(0.01)
        os.kill(pool._workers[0].process_id, signal.SIGKILL)
        await pool.ask("page", "look", LOOK)
        os.kill(pool._workers[0].process_id, signal.SIGSTOP)  # it will not have loaded
        while not any(job.kind == LOAD for job in pool._under_way):
            await asyncio.sleep(0.01)
        return await asyncio.wait_for(pool.ask("page", "look", LOOK), 30)

    monkeypatch.setattr("didact.studio.pool.SOON", 0.0)
    assert with_pool(work, n_workers=2).outcome == "answered"


def test_who_asks_when_it_has_ended_is_told_at_once():
    async def run():
        pool = WorkerPool(Limits(n_workers=1))
        await pool.start()
        await pool.stop()
        return await pool.ask("page", "look", LOOK)

    assert asyncio.run(run()).outcome == "died"


def test_what_takes_too_long_is_stopped():
    async def work(pool):
        slow = await pool.ask("page", "teach", LONG)
        pool.limits = replace(pool.limits, seconds=60.0)
        return slow, await pool.ask("page", "look", LOOK)

    slow, next_one = with_pool(work, n_workers=1, seconds=0.2)
    assert slow.outcome == "too late"
    assert next_one.outcome == "answered"


def test_a_page_that_goes_away_leaves_its_worker_to_others():
    async def work(pool):
        gone = asyncio.create_task(pool.ask("page", "teach", LONG))
        while not pool.n_under_way:
            await asyncio.sleep(0)
        gone.cancel()
        return await pool.ask("other", "look", LOOK)

    assert with_pool(work, n_workers=1).outcome == "answered"


def test_memory_is_bounded():
    async def work(pool):
        return await pool.ask("page", "teach", LONG), await pool.ask("page", "look", LOOK)

    large, small = with_pool(work, n_workers=1, memory=8 * 2**20)
    # An old OpenBLAS that finds no room for its own asks again until its time is over.
    assert large.outcome in ("died", "too late") or large.body[:1] == b"4"
    assert small.outcome == "answered"


def test_a_page_asks_only_so_much_at_once():
    async def work(pool):
        kinds = ("teach", "open")
        asked = [asyncio.create_task(pool.ask("page", kind, LONG)) for kind in kinds]
        await asyncio.sleep(0)
        mine = await pool.ask("page", "look", LOOK)
        other = asyncio.create_task(pool.ask("other", "look", LOOK))
        await asked[0]
        pool.limits = replace(pool.limits, seconds=60.0)
        return mine, await other, asked

    mine, other, asked = with_pool(work, n_workers=1, of_a_page=2, seconds=0.2)
    assert mine.outcome == "too many"
    assert other.outcome == "answered"
    assert all(each.done() for each in asked)


def test_a_crowd_is_told_that_the_server_is_busy():
    async def work(pool):
        asked = [asyncio.create_task(pool.ask(f"page {i}", "look", LOOK)) for i in range(9)]
        return [(await each).outcome for each in asked]

    outcomes = with_pool(work, n_workers=1, of_all=5)
    assert outcomes.count("busy") >= 3
    assert set(outcomes) == {"answered", "busy"}


def test_a_worker_that_died_while_it_waited_costs_nobody_an_answer():
    async def work(pool):
        await pool.ask("page", "look", LOOK)
        for number in pool.process_ids:
            os.kill(number, signal.SIGKILL)
            await asyncio.to_thread(gone, number)
        return await pool.ask("page", "look", LOOK)

    assert with_pool(work, n_workers=1).outcome == "answered"


def ticks(number: int) -> int:
    """How long a process has worked."""
    with open(f"/proc/{number}/stat", encoding="ascii") as file:
        return sum(map(int, file.read().rpartition(")")[2].split()[11:13]))


def gone(number: int) -> None:
    """Wait until a process has ended; it may still be there to be asked how."""
    while True:
        try:
            with open(f"/proc/{number}/stat", encoding="ascii") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return
        except (FileNotFoundError, ProcessLookupError):
            return


@pytest.mark.slow
def test_a_thousand_kills_of_workers_leave_the_server_answering():
    """Whatever dies, what is asked afterwards is answered, and answered the same."""

    async def work(pool):
        right = (await pool.ask("page", "look", LOOK)).body
        wrong = 0
        for number in range(1000):
            asked = asyncio.create_task(pool.ask("page", "look", LOOK))
            for _ in range(number % 7):
                await asyncio.sleep(0.001)
            for worker in pool.process_ids:
                with suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
            reply = await asked
            wrong += reply.outcome not in ("answered", "died")
            wrong += reply.outcome == "answered" and reply.body != right
        return wrong, right, (await pool.ask("page", "look", LOOK)).body

    wrong, right, last = with_pool(work, n_workers=1)
    assert wrong == 0
    assert last == right


def test_small_questions_overtake_heavy_ones():
    """Two workers, four heavy questions, then small ones of another page, which are answered."""

    async def work(pool):
        heavy = [asyncio.create_task(pool.ask(f"heavy{i}", "teach", LONG)) for i in range(4)]
        while pool.n_under_way < 2:
            await asyncio.sleep(0.01)
        small = [await pool.ask("small", "look", LOOK) for _ in range(2)]
        left = [each.done() for each in heavy]
        for each in heavy:
            each.cancel()
        return small, left

    small, left = with_pool(work, n_workers=2, seconds=600.0)
    assert [reply.outcome for reply in small] == ["answered"] * 2
    assert not all(left)  # in the order of asking all four would have come first
