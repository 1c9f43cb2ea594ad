"""Lessons: SCOT and UVM against plain programs, growth with the world, and waiting times."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from statistics import mean

import numpy as np

import didact
from benchmarks.start_up import run
from benchmarks.timing import best_time, print_table, readable
from didact.bec.halfspaces import Rows
from didact.warm import warm

WORLDS = 20


def worlds(n: int = WORLDS) -> list[didact.Task]:
    return [didact.make("random-grid", size=9, n_features=8, seed=seed) for seed in range(n)]


def report() -> None:
    warm()
    print_table(
        "SCOT, random grids, 8 features, single pairs (warm, best of several)",
        ["world", "float", "exact, with proof", "plain program", "ratio to float"],
        sizes(),
    )
    print_table(
        f"UVM, 9x9, 8 features, single pairs, mean of {WORLDS} worlds at most",
        ["samples", "didact", "plain program", "ratio", "peak memory"],
        volumes(),
    )
    print_table(
        "SCOT, 1000x1000, 10 features, single pairs, one lesson (a new process, compiled kernels)",
        ["world", "lesson", "peak memory", "demonstrations"],
        millions(),
    )
    print_table(
        "First lesson (a new process each; cold: empty kernel cache)",
        ["command", "cold", "warm"],
        first_lessons(),
    )


def sizes() -> Iterator[list[str]]:
    lessons = partial(didact.teach, horizon=1)
    paper = worlds()
    rough = mean(best_time(partial(lessons, task, arithmetic="float")) for task in paper)
    exact = mean(best_time(partial(lessons, task), at_least=0.1) for task in paper)
    plain = mean(best_time(partial(plain_scot, task), at_least=0.0) for task in paper[:5])
    yield [f"9x9, mean of {WORLDS}", *map(readable, (rough, exact, plain)), f"{plain / rough:.0f}x"]
    for size, slip in ((30, 0), (50, 0), (100, 0), (100, "0.2"), (300, 0), (300, "0.2")):
        task = didact.make("random-grid", size=size, n_features=8, slip=slip, seed=0)
        took = best_time(partial(lessons, task, arithmetic="float"))
        cells = ["-", "-", "-"]
        if size == 30:
            exact = best_time(partial(lessons, task, arithmetic="exact"), at_least=0.0)
            plain = best_time(partial(plain_scot, task), at_least=0.0, first=True)
            cells = [readable(exact), readable(plain), f"{plain / took:.0f}x"]
        name = f"{size}x{size}" + (", slippery" if slip else "")
        yield [name, readable(took), *cells]


def plain_scot(task: didact.Task) -> int:
    """The paper's program on our rows: one linear program for each row, then a greedy cover."""
    known = didact.solve(task.mdp, task.weights, arithmetic="float")
    rows = _float_rows(task, known)
    kept = list(range(rows.n_rows))
    for row in range(rows.n_rows):
        others = [r for r in kept if r != row]
        if _is_implied(rows.normals[others], rows.normals[row]):
            kept = others
    stated: dict[tuple[int, int], set[int]] = {}
    for (s, a, _), row in zip(rows.statements.tolist(), rows.number.tolist(), strict=True):
        stated.setdefault((s, a), set()).add(row)
    left, size = set(kept), 0
    while left:
        left -= max(stated.values(), key=lambda shown: len(left & shown))
        size += 1
    return size


def _float_rows(task: didact.Task, plan: didact.Plan) -> Rows:
    from didact.bec.halfspaces import rows_from_counts
    from didact.planning import float_successor_features

    return rows_from_counts(float_successor_features(task.mdp, plan.policy), plan.optimal)


def _is_implied(others: np.ndarray, row: np.ndarray) -> bool:
    from scipy.optimize import linprog

    answer = linprog(row, A_ub=-others, b_ub=np.zeros(len(others)), bounds=(-1, 1))
    return bool(answer.status == 0 and answer.fun > -1e-9)


def volumes() -> Iterator[list[str]]:
    tasks = worlds()
    known = [didact.equivalence_class(task) for task in tasks]
    for n_samples, n_worlds in ((10**5, 3), (10**6, WORLDS), (10**7, 5)):
        ours = mean(
            best_time(partial(uvm, task, n_samples, bec=found), at_least=0.0, first=i > 0)
            for i, (task, found) in enumerate(zip(tasks[:n_worlds], known, strict=False))
        )
        cells = ["-", "-"]
        if n_samples == 10**5:
            plain = mean(
                best_time(partial(plain_uvm, found.rows, n_samples), at_least=0.0, first=True)
                for found in known[:n_worlds]
            )
            cells = [readable(plain), f"{plain / ours:.0f}x"]
        memory = measured("measure_uvm", n_samples)["gigabytes"]
        yield [f"{n_samples:,}", readable(ours), *cells, f"{memory:.2f} GB"]


def uvm(task: didact.Task, n_samples: int, **options) -> didact.Lesson:
    return didact.teach(task, teacher="uvm", horizon=1, n_samples=n_samples, **options)


def plain_uvm(rows: Rows, n_samples: int) -> int:
    """Algorithm 2 to the letter: all points kept, all candidates tried on all of them each step."""
    points = np.random.default_rng(0).uniform(-1, 1, (n_samples, rows.normals.shape[1]))
    inside = rows.normals @ points.T >= 0
    stated: dict[tuple[int, int], list[int]] = {}
    for (s, a, _), row in zip(rows.statements.tolist(), rows.number.tolist(), strict=True):
        if row >= 0:
            stated.setdefault((s, a), []).append(row)
    alive, picks = np.ones(n_samples, dtype=bool), 0
    while True:
        left = [(alive & inside[shown].all(axis=0)).sum() for shown in stated.values()]
        best = int(np.argmin(left))
        if left[best] == alive.sum():
            return picks
        alive &= inside[list(stated.values())[best]].all(axis=0)
        picks += 1


def millions() -> Iterator[list[str]]:
    for name, slip in (("deterministic", 0), ("slippery", "0.2")):
        found = measured("measure_million", slip)
        lesson, memory = readable(found["seconds"]), f"{found['gigabytes']:.1f} GB"
        yield [name, lesson, memory, str(found["size"])]


def first_lessons() -> Iterator[list[str]]:
    for command in (["teach", "random-grid"], ["teach", "Taxi-v4"]):
        with tempfile.TemporaryDirectory() as cache:
            cold = run(["didact", *command], cache)
            again = min(run(["didact", *command], cache) for _ in range(3))
        yield [" ".join(["didact", *command]), readable(cold), readable(again)]


# Measured in a process of their own


def measured(function: str, argument: object) -> dict:
    """What a function of this file prints as JSON, run in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", f"from benchmarks.teaching import *; {function}({argument!r})"],
        stdout=subprocess.PIPE,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    found: dict = json.loads(done.stdout)
    return found


def _timed(work: Callable[[], didact.Lesson]) -> None:
    import resource
    import time

    began = time.perf_counter()
    lesson = work()
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    size = len(lesson.demonstrations)
    print(json.dumps({"seconds": seconds, "gigabytes": peak, "size": size}))


def measure_uvm(n_samples: int) -> None:
    _timed(partial(uvm, worlds(1)[0], n_samples))


def measure_million(slip: object) -> None:
    warm()
    task = didact.make("random-grid", size=1000, n_features=10, slip=slip, seed=0)
    _timed(partial(didact.teach, task, horizon=1))
