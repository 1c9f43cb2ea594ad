"""The fewest states that hit all cuts and contain what must follow them, and a bound on them.

Parts of a graph that lead back to themselves are taken as a whole; a part is taken only with all
that it leads to. Cuts come as they are found to be missing (an implicit hitting set): the smallest
choice that satisfies those known so far is no larger than any that satisfies all, so its size is a
lower bound, and once no cut is missing it is the answer.

The bound is certified by weights y of the cuts and flows z along what follows: if for every state
the weights of its cuts, plus what flows in, less what flows out, are at most 1, then every closed
choice has at least sum y states, since no flow leaves it. HiGHS proposes them as duals of the LP.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from didact.teaching.covers.minimum import DENOMINATORS, Uncoverable, exact_duals, lowered

FindGap = Callable[[frozenset[int]], Collection[int] | None]


class ClosedCover(NamedTuple):
    """The chosen states, ascending, and a bound below which no choice is."""

    states: tuple[int, ...]
    lower_bound: int


def smallest_closed_cover(
    follows: Mapping[int, Sequence[int]], cuts: Iterable[Collection[int]], find_gap: FindGap
) -> ClosedCover:
    """The fewest states that hit all cuts and hold all that follows them.

    follows: for each state those that must be chosen with it. find_gap(chosen): None where nothing
    is missing, else states of which one must be chosen; none at all raises Uncoverable.
    """
    part_of, parts = _parts(follows)
    edges = sorted(
        {(part_of[s], part_of[t]) for s in follows for t in follows[s] if part_of[s] != part_of[t]}
    )
    known = [frozenset(part_of[s] for s in cut) for cut in cuts]
    while True:
        if frozenset() in known:
            raise Uncoverable(known.index(frozenset()))
        chosen, bound = _smallest(parts, edges, known)
        states = frozenset(state for part in chosen for state in parts[part])
        gap = find_gap(states)
        if gap is None:
            return ClosedCover(tuple(sorted(states)), bound)
        known.append(frozenset(part_of[s] for s in gap))


class ClosedBound(NamedTuple):
    """Weights of the cuts and flows (state, state, amount), which prove the bound."""

    weights: tuple[Fraction, ...]
    flows: tuple[tuple[int, int, Fraction], ...]
    bound: int


def closed_bound(
    follows: Mapping[int, Sequence[int]], cuts: Sequence[Collection[int]]
) -> ClosedBound:
    """The best certified bound on the states of a closed choice that hits all cuts."""
    from scipy.optimize import linprog

    states = sorted(follows)
    place = {state: i for i, state in enumerate(states)}
    edges = [(s, t) for s in states for t in follows[s] if s != t]
    best = ClosedBound((Fraction(0),) * len(cuts), (), 0)
    if not cuts:
        return best
    named = [[place[s] for s in cut] for cut in cuts]
    wanted = _constraints(len(states), [(place[s], place[t]) for s, t in edges], named)
    answer = linprog([1.0] * len(states), A_ub=-wanted.A, b_ub=-wanted.lb)
    if answer.status != 0:
        return best
    for denominator in DENOMINATORS:
        duals = exact_duals(answer, denominator)
        loads = dict.fromkeys(states, Fraction(0))
        for y, cut in zip(duals, cuts, strict=False):
            for state in cut:
                loads[state] += y
        flows = list(zip(edges, duals[len(cuts) :], strict=True))
        for (s, t), amount in flows:
            loads[s] -= amount
            loads[t] += amount
        share = 1 / max(Fraction(1), *loads.values())
        weights = tuple(share * y for y in duals[: len(cuts)])
        bound = math.ceil(sum(weights))
        if bound > best.bound:
            kept = tuple((s, t, share * amount) for (s, t), amount in flows if amount)
            best = ClosedBound(weights, kept, bound)
    return best


def _parts(follows: Mapping[int, Sequence[int]]) -> tuple[dict[int, int], list[list[int]]]:
    """The strongly connected parts of the graph, and the part of each state."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    states = sorted(follows)
    place = {state: i for i, state in enumerate(states)}
    ends = [(place[s], place[t]) for s in states for t in follows[s]]
    shape = (len(states), len(states))
    rows, columns = zip(*ends, strict=True) if ends else ((), ())
    graph = csr_array((np.ones(len(ends)), (list(rows), list(columns))), shape=shape)
    n_parts, label = connected_components(graph, directed=True, connection="strong")
    parts: list[list[int]] = [[] for _ in range(n_parts)]
    for state, part in zip(states, label.tolist(), strict=True):
        parts[part].append(state)
    return {s: part for part, members in enumerate(parts) for s in members}, parts


def _smallest(
    parts: Sequence[Sequence[int]],
    edges: Sequence[tuple[int, int]],
    cuts: Sequence[Collection[int]],
) -> tuple[list[int], int]:
    """The parts of a smallest choice, and a certified lower bound on its states."""
    if not cuts:
        return [], 0
    from scipy.optimize import Bounds, milp

    answer = milp(
        [float(len(members)) for members in parts],
        integrality=np.ones(len(parts)),
        bounds=Bounds(0.0, 1.0),
        constraints=_constraints(len(parts), edges, cuts),
        options={"mip_rel_gap": 0.0},
    )
    if answer.x is None:
        raise AssertionError(f"choosing all states is allowed, yet HiGHS says: {answer.message}")
    chosen = [part for part, value in enumerate(answer.x.tolist()) if value > 0.5]
    size = sum(len(parts[part]) for part in chosen)
    return chosen, min(size, math.ceil(lowered(answer.mip_dual_bound)))


def _constraints(
    n_parts: int, edges: Sequence[tuple[int, int]], cuts: Sequence[Collection[int]]
) -> Any:
    """One part of each cut, and no part without those that follow it."""
    from scipy.optimize import LinearConstraint
    from scipy.sparse import csr_array

    entries = [(row, part, 1.0) for row, cut in enumerate(cuts) for part in sorted(cut)]
    for row, (before, after) in enumerate(edges, start=len(cuts)):
        entries += [(row, after, 1.0), (row, before, -1.0)]
    rows, columns, values = zip(*entries, strict=True)
    shape = (len(cuts) + len(edges), n_parts)
    matrix = csr_array((list(values), (list(rows), list(columns))), shape=shape)
    return LinearConstraint(matrix, lb=np.r_[np.ones(len(cuts)), np.zeros(len(edges))])
