"""The fewest states that hit all cuts and contain what must follow them, and a bound on them.

A state is taken only with all that follows it. Cuts come as they are found to be missing (an
implicit hitting set): the smallest choice that satisfies those known so far is no larger than any
that satisfies all, so its size is a lower bound, and once no cut is missing it is the answer.

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

from didact.teaching.covers.set_cover import DENOMINATORS, Uncoverable, exact_duals, lowered

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
    known = [frozenset(cut) for cut in cuts]
    while True:
        if frozenset() in known:
            raise Uncoverable(known.index(frozenset()))
        found = _smallest(follows, known)
        gap = find_gap(frozenset(found.states))
        if gap is None:
            return found
        known.append(frozenset(gap))


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

    best = ClosedBound((Fraction(0),) * len(cuts), (), 0)
    if not cuts:
        return best
    states, edges, wanted = _constraints(follows, cuts)
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


def _smallest(follows: Mapping[int, Sequence[int]], cuts: Sequence[Collection[int]]) -> ClosedCover:
    """A smallest choice that hits these cuts, and a certified lower bound on its states."""
    if not cuts:
        return ClosedCover((), 0)
    from scipy.optimize import Bounds, milp

    states, _, wanted = _constraints(follows, cuts)
    answer = milp(
        np.ones(len(states)),
        integrality=np.ones(len(states)),
        bounds=Bounds(0.0, 1.0),
        constraints=wanted,
        options={"mip_rel_gap": 0.0},
    )
    if answer.x is None:
        raise AssertionError(f"choosing all states is allowed, yet HiGHS says: {answer.message}")
    chosen = tuple(s for s, value in zip(states, answer.x.tolist(), strict=True) if value > 0.5)
    return ClosedCover(chosen, min(len(chosen), math.ceil(lowered(answer.mip_dual_bound))))


def _constraints(
    follows: Mapping[int, Sequence[int]], cuts: Sequence[Collection[int]]
) -> tuple[list[int], list[tuple[int, int]], Any]:
    """The states, what follows what, and: one state of each cut, and none without what follows."""
    from scipy.optimize import LinearConstraint
    from scipy.sparse import csr_array

    states = sorted(follows)
    place = {state: i for i, state in enumerate(states)}
    edges = [(s, t) for s in states for t in follows[s] if s != t]
    entries = [(row, place[s], 1.0) for row, cut in enumerate(cuts) for s in sorted(cut)]
    for row, (before, after) in enumerate(edges, start=len(cuts)):
        entries += [(row, place[after], 1.0), (row, place[before], -1.0)]
    rows, columns, values = zip(*entries, strict=True)
    shape = (len(cuts) + len(edges), len(states))
    matrix = csr_array((list(values), (list(rows), list(columns))), shape=shape)
    least = np.r_[np.ones(len(cuts)), np.zeros(len(edges))]
    return states, edges, LinearConstraint(matrix, lb=least)
