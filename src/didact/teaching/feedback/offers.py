"""What a mixed lesson may show: items whose rows all lie in the class, each with what it covers.

Comparisons cover one element. Preferences are two trajectories, corrections the same said after the
worse one was seen. Rankings put the best actions of a state, which tie, before one that is worse: a
row for every two neighbours. Two actions that are both worse are never ranked, and nobody is
stopped: such rows lie outside of the class and say more than the behaviour.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from didact.bec.families import Known
from didact.bec.linear import Row
from didact.bec.parts import part_with
from didact.mdp import Comparison, Preference, Ranking
from didact.mdp.items import Item
from didact.teaching.covers.elements import Elements
from didact.teaching.covers.problem import Problem
from didact.teaching.feedback.rows import direction
from didact.teaching.feedback.trajectories import (
    Ways,
    pair_of,
    shortest_pair,
    statements_of,
    ways_that_meet,
)

KINDS = ("demonstrations", "comparisons", "preferences", "corrections", "rankings")
MOST_STATES = 20
"""States that rankings are tried in, for one facet."""

Ties = dict[Row, int]
"""Equality rows, and what covers each as a bit."""


class Offered(NamedTuple):
    """An item that may be shown: the elements that it covers, as bits, and what it costs."""

    item: Item
    mask: int
    cost: int | Fraction


def offered_items(
    known: Known,
    problem: Problem,
    kinds: Sequence[str],
    costs: Mapping[str, int | Fraction],
) -> Iterator[Offered]:
    """All candidates of these kinds; problem: that of the demonstrations alone."""
    if "demonstrations" in kinds:
        for number, mask in sorted(problem.masks.items()):
            yield Offered(problem.candidates[number], mask, costs["demonstrations"])
    by_member = problem.charges is not None
    if "comparisons" in kinds:
        for item, mask in _comparisons(known, problem.elements, by_member=by_member):
            yield Offered(item, mask, costs["comparisons"])
    if not {"preferences", "corrections", "rankings"} & {*kinds}:
        return
    ties = _bits_of_ties(known, problem.elements)
    for ways, mask in _two_ways(known, ties, by_member=by_member):
        member = ways.part.member
        for kind in ("preferences", "corrections"):
            if kind in kinds:
                pair = Preference(ways.better, ways.other, kind == "corrections", member)
                yield Offered(pair, mask, costs[kind])
        if "rankings" in kinds:
            yield Offered(Ranking(ways.ways, member), mask, costs["rankings"])
    if "rankings" in kinds:
        for ways, mask in _ties_first(known, ties):
            yield Offered(Ranking(ways.ways, ways.part.member), mask, costs["rankings"])


def _comparisons(
    known: Known, elements: Elements, *, by_member: bool
) -> Iterator[tuple[Comparison, int]]:
    """For each element the comparison in which it matters most: all of them cover the same.

    by_member: one of each member that has some, since visiting it costs.
    """
    for element in range(elements.n_elements):
        rows = np.flatnonzero(elements.element_of_row == element).tolist()
        most: dict[int | None, tuple[float, Comparison]] = {}
        for _, state, action, other in statements_of(known, rows):
            part = part_with(known.parts, state)
            values = part.plan.action_values[state - part.first]
            matters = float(values[action] - values[other])
            group = part.member if by_member else None
            if group not in most or matters > most[group][0]:
                item = Comparison(state - part.first, action, other, part.member)
                most[group] = matters, item
        yield from ((item, 1 << element) for _, item in most.values())


def _two_ways(known: Known, ties: Ties, *, by_member: bool) -> Iterator[tuple[Ways, int]]:
    """For each facet the shortest two trajectories; for ties those that state an equality row."""
    groups = [part.member for part in known.parts] if by_member else [None]
    for facet, members in enumerate(known.cone.facets):
        for group in groups:
            pair = shortest_pair(known, members, group)
            if pair is not None:
                yield pair, 1 << facet
    told: set[tuple[int, int | None]] = set()
    for _, *statement in statements_of(known, known.cone.equalities):
        pair = pair_of(known, *statement)
        mask = 0 if pair is None else _stated(ties, pair)
        if pair is None or not mask:
            continue
        key = mask, pair.part.member if by_member else None
        if key not in told:
            told.add(key)
            yield pair, mask


def _ties_first(known: Known, ties: Ties) -> Iterator[tuple[Ways, int]]:
    """Best actions that tie, in their order and the other way round, before a worse one or none."""
    for facet, members in enumerate(known.cone.facets):
        stated = {(state, other): None for _, state, _, other in statements_of(known, members)}
        for state, other in list(stated)[:MOST_STATES]:
            for ways in _ranked(known, state, [other]):
                yield ways, _stated(ties, ways) | 1 << facet
    tied = {state: None for _, state, _, _ in statements_of(known, known.cone.equalities)}
    for state in list(tied)[: MOST_STATES * len(known.cone.equalities)]:
        for ways in _ranked(known, state, []):
            if mask := _stated(ties, ways):
                yield ways, mask


def _ranked(known: Known, state: int, last: list[int]) -> Iterator[Ways]:
    """Trajectories of all best actions of a state, where there are several, and of the last."""
    part = part_with(known.parts, state)
    best = np.flatnonzero(part.plan.optimal[state - part.first]).tolist()
    if len(best) > 1:
        for order in (best, best[::-1]):
            ways = ways_that_meet(known, state, [*order, *last])
            if ways is not None:
                yield ways


def _bits_of_ties(known: Known, elements: Elements) -> Ties:
    """The bit of each equality row's element."""
    rows = known.rows.exact or ()
    return {rows[row]: 1 << int(elements.element_of_row[row]) for row in known.cone.equalities}


def _stated(ties: Ties, ways: Ways) -> int:
    """The equality rows that neighbours among trajectories state, as bits of their elements."""
    bits = {ties.get(direction(list(difference)), 0) for difference in ways.differences}
    return sum(bits)
