"""Removing redundant rows: didact against one SciPy `linprog` (HiGHS) for each row."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy.optimize import linprog

import didact
from benchmarks.timing import best_time, print_table, readable
from didact.bec.classes import equivalence_class
from didact.bec.facets import FloatCone, find_facets
from didact.warm import warm

CASES = [(9, 8), (30, 8), (30, 50), (30, 100), (100, 8), (100, 50), (100, 100)]
"""Sides of the grid, and features."""

SIDES = [9, 18, 36, 75, 150, 300]
MAX_LINEAR_PROGRAMS = 200
MAX_SECONDS = 60.0
LONG, SHORT = 0.3, 0.01
"""Seconds for which something is repeated, the best time to be taken."""


class World:
    """A random grid in floats: its class, the raw rows with repetitions, and the facets."""

    def __init__(self, size: int, n_features: int):
        task = didact.make("random-grid", size=size, n_features=n_features, seed=0)
        began = time.perf_counter()
        self.bec = equivalence_class(task, arithmetic="float")
        self.whole = time.perf_counter() - began
        self.task, self.weights = task, task.weights
        states, actions, others = self.bec.rows.statements.T
        pairs = didact.successor_features(task.mdp, self.bec.plan).pairs
        self.raw = pairs[states, actions] - pairs[states, others]
        self.distinct = self.bec.rows.normals
        self.facets = set(self.bec.cone.facet_rows())

    def remove(self) -> FloatCone:
        """Raw rows in, facets out; rows that are zero up to rounding are none."""
        return find_facets(self.raw[np.abs(self.raw).max(axis=1) > 1e-9], self.weights)


def is_redundant(rows: np.ndarray, row: np.ndarray) -> bool:
    """The usual test: whether r.w can be negative where the other rows hold and r.w >= -1."""
    sides = np.append(np.zeros(len(rows)), 1.0)
    found = linprog(row, A_ub=-np.vstack([rows, row]), b_ub=sides, bounds=(None, None))
    return bool(found.status == 0 and found.fun > -1e-9)


def linear_programs(world: World) -> tuple[float, str]:
    """The time of one linear program for each distinct row, and how it was found out.

    The usual loop drops a redundant row before it tests the next. At any position the rows left are
    the facets and those not tested yet, so a few positions can be timed without the others.
    """
    rng = np.random.default_rng(0)
    n = len(world.distinct)
    positions = rng.permutation(n)[:MAX_LINEAR_PROGRAMS]
    is_facet = np.isin(np.arange(n), list(world.facets))
    spent, runs = 0.0, 0
    for position in positions.tolist():
        left = is_facet | (np.arange(n) > position)
        left[position] = False
        work = partial(is_redundant, world.distinct[left], world.distinct[position])
        spent, runs = spent + best_time(work, at_least=SHORT, first=True), runs + 1
        if spent > MAX_SECONDS:
            break
    how = "all" if runs == n else f"{runs} of them timed"
    return spent * n / runs, how


def compare() -> Iterator[list[str]]:
    for size, k in CASES:
        world = World(size, k)
        once = k > 8
        ours = best_time(world.remove, at_least=0.0 if once else LONG, first=once)
        theirs, how = linear_programs(world)
        assert len(world.remove().facets) == world.bec.cone.n_facets
        yield [
            f"{size}x{size}, k = {k}",
            str(len(world.raw)),
            str(len(world.distinct)),
            str(world.bec.cone.n_facets),
            readable(ours),
            f"{readable(theirs)} ({how})",
            f"{theirs / ours:.0f}x",
        ]


def exact() -> Iterator[list[str]]:
    for size, k, slip in ((9, 8, 0), (9, 8, "0.2"), (15, 8, 0), (30, 8, 0)):
        task = didact.make("random-grid", size=size, n_features=k, slip=slip, seed=0)
        work = partial(equivalence_class, task, arithmetic="exact")
        cone = work().cone
        yield [
            f"{size}x{size}, k = {k}, {'slippery' if slip else 'deterministic'}",
            str(cone.rows.n_rows),
            str(cone.n_facets),
            readable(best_time(work, at_least=LONG, first=True)),
            str(cone.n_exact_lp),
        ]


def growth() -> Iterator[list[str]]:
    for side in SIDES:
        world = World(side, 8)
        ours = best_time(world.remove, at_least=LONG)
        cone = world.bec.cone
        yield [
            f"{side}x{side}",
            str(len(world.raw)),
            str(len(world.distinct)),
            str(cone.n_facets),
            readable(ours),
            readable(world.whole),
            f"{cone.margin:.1e}",
            str(cone.n_unknown),
        ]


def report() -> None:
    warm()
    print_table(
        "Redundancy in floats: random grids, discount 0.95, raw rows to facets",
        ["world", "raw rows", "distinct", "facets", "didact", "one linprog per distinct row",
         "ratio"],
        compare(),
    )  # fmt: skip
    print_table(
        "Exact with certificates: the whole class, from the model to a proof for every row",
        ["world", "distinct", "facets", "didact", "exact LPs"],
        exact(),
    )
    print_table(
        "Growth with the grid, k = 8, floats",
        ["world", "raw rows", "distinct", "facets", "redundancy", "whole class", "margin",
         "undecided"],
        growth(),
    )  # fmt: skip
