"""Active learning: which strategy learns fastest, what a run costs, and scores of large worlds."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator

import numpy as np

import didact
from benchmarks.timing import best_time, print_table, readable
from didact.active import Situation, StrategyComparison, ask, askable_states, compare
from didact.active.compare import STRATEGIES
from didact.active.strategies import next_query
from didact.errors import NotMixed
from didact.learners import Belief
from didact.warm import warm

WORLDS = 20
QUERIES = 20
HORIZON = 20


def worlds(n: int = WORLDS) -> list[didact.Task]:
    """The paper's: 10x10, ten features, discount 0.95."""
    return [didact.make("random-grid", size=10, n_features=10, seed=seed) for seed in range(n)]


def report() -> None:
    warnings.simplefilter("ignore", NotMixed)  # the tables say which beliefs mixed
    warm()
    print_table(
        f"A whole run, 10x10, 10 features, {QUERIES} questions, BIRL's defaults after each",
        ["strategy", "time", "questions", "beliefs that mixed"],
        runs(),
    )
    print_table(
        "Scores of all states, 1,000 draws, answers of 20 steps (values of the draws included)",
        ["world", "max-entropy", "max-infogain", "max-var"],
        scores(),
    )
    print_table(
        f"{WORLDS} worlds 10x10, 10 features, {QUERIES} questions, answers of {HORIZON} steps: "
        "mean over the answers, and the paired difference to random with its 95% interval",
        ["strategy", "policy loss", "median", "difference", "better in", "wrong actions",
         "difference", "last loss", "last wrong", "questions"],
        areas(),
    )  # fmt: skip


def runs() -> Iterator[list[str]]:
    (task,) = worlds(1)
    ask(task, n_queries=1, horizon=HORIZON)
    total = 0.0
    for strategy in STRATEGIES:
        began = time.perf_counter()
        run = ask(task, strategy=strategy, n_queries=QUERIES, horizon=HORIZON)
        took = time.perf_counter() - began
        total += took
        mixed = np.mean([step.mixed for step in run.steps])
        yield [strategy, readable(took), str(run.n_queries), f"{mixed:.0%}"]
    yield ["all five", readable(total), "", ""]


def scores() -> Iterator[list[str]]:
    for size, slip in ((10, 0), (30, 0), (30, "0.2")):
        task = didact.make("random-grid", size=size, n_features=20, slip=slip, seed=0)
        belief = _walk(task, 1000)
        states = askable_states(task)

        def score(name: str, task=task, belief=belief, states=states) -> object:
            situation = Situation(task, belief, belief.samples, states, horizon=HORIZON)
            return next_query(name, situation, np.random.default_rng(0), {})

        times = [
            best_time(lambda n=n: score(n)) for n in ("max-entropy", "max-infogain", "max-var")
        ]
        yield [f"{size}x{size}" + (", slippery" if slip else ""), *map(readable, times)]


def _walk(task: didact.Task, n: int) -> Belief:
    """Draws as a chain makes them: a random walk on the sphere from the true weights."""
    rng = np.random.default_rng(0)
    steps = 0.005 * rng.normal(size=(n, task.mdp.n_features)).cumsum(axis=0)
    draws = task.weights / np.linalg.norm(task.weights) + steps
    draws /= np.linalg.norm(draws, axis=1, keepdims=True)
    zeros = np.zeros((1, n))
    return Belief(
        task.mdp, "walk", (), draws[None], zeros, draws[0], 0.0, zeros[0, :1], zeros[0, :1], 100.0,
        None, {},
    )  # fmt: skip


def areas() -> Iterator[list[str]]:
    settings = {"n_queries": QUERIES, "horizon": HORIZON, "threads": 1}
    found = compare(worlds(), STRATEGIES, seed=0, jobs=os.cpu_count() or 1, **settings)
    yield from rows_of(found)


def rows_of(found: StrategyComparison) -> Iterator[list[str]]:
    tables = [found.table(measure) for measure in ("policy_loss", "wrong_actions")]
    for loss, wrong in zip(*tables, strict=True):
        is_baseline = loss["strategy"] == "random"
        cells = [loss["strategy"], f"{loss['area']:.3f}", f"{loss['median']:.3f}"]
        cells += ["-", "-"] if is_baseline else [_difference(loss), str(loss["n_better"])]
        cells += [f"{wrong['area']:.3f}", "-" if is_baseline else _difference(wrong)]
        cells += [f"{loss['last']:.4f}", f"{wrong['last']:.3f}", f"{loss['n_asked']:.1f}"]
        yield cells


def _difference(row: dict) -> str:
    return f"{row['difference']:+.3f} ({row['low']:+.3f} to {row['high']:+.3f})"
