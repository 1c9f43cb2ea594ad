"""What a mixed lesson may show: items whose half-spaces all hold in the class, with their coverage.

Comparisons cover one element. Preferences are two trajectories, corrections the same said after the
worse one was seen. Rankings put the best actions of a state, which tie, before one that is worse: a
half-space for every two neighbours. Two actions that are both worse are never ranked, and nobody is
stopped: such half-spaces are not implied by the class and say more than the behaviour.

Trajectories that state a row begin in the same state, one with each action, go on with optimal
actions, and stop where they meet at the same time or have all ended. What they count differs by the
row of the comparison, up to the equalities, because optimal actions that tie differ by equalities
only. With unequal lengths an answer would also fix the zero of the reward, which says nothing of
behaviour. A comparison whose trajectories never meet, or depend on chance, cannot be shown so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np

from didact.bec.classes import EquivalenceClass, Member, member_with
from didact.bec.linear import Row, primitive
from didact.mdp import Comparison, Demonstration, Preference, RankedTrajectories
from didact.mdp.items import Item
from didact.planning.paths import only_successor
from didact.teaching.covers.problem import Elements, Problem
from didact.teaching.feedback.halfspaces import trajectory_counts

KINDS = ("demonstrations", "comparisons", "preferences", "corrections", "rankings")
MAX_STATES = 20
"""States that rankings are tried in, for one facet: more seldom give a new mask."""

MAX_PLACES = 20_000
"""Joint places of the walks that are visited for one comparison; it bounds time and memory."""

Ties = dict[Row, int]
"""Equality rows, and what covers each as a bit."""


class Offered(NamedTuple):
    """An item that may be shown: the elements that it covers, as bits, and what it costs."""

    item: Item
    mask: int
    cost: int | Fraction


def offered_items(
    bec: EquivalenceClass,
    problem: Problem,
    kinds: Sequence[str],
    costs: Mapping[str, int | Fraction],
) -> Iterator[Offered]:
    """All candidates of these kinds; problem: that of the demonstrations alone."""
    if "demonstrations" in kinds:
        for number, mask in sorted(problem.masks.items()):
            yield Offered(problem.candidates[number], mask, costs["demonstrations"])
    by_member = bool(problem.fixed_costs.prices)
    if "comparisons" in kinds:
        for item, mask in _comparisons(bec, problem.elements, by_member=by_member):
            yield Offered(item, mask, costs["comparisons"])
    if not {"preferences", "corrections", "rankings"} & {*kinds}:
        return
    rows, element = bec.rows.exact or (), problem.elements.element_of_row
    ties = {rows[row]: 1 << int(element[row]) for row in bec.cone.equalities}
    for ways, mask in _two_ways(bec, ties, by_member=by_member):
        member, (better, other) = ways.member.number, ways.ways
        for kind in ("preferences", "corrections"):
            if kind in kinds:
                pair = Preference(better, other, kind == "corrections", member)
                yield Offered(pair, mask, costs[kind])
        if "rankings" in kinds:
            yield Offered(RankedTrajectories(ways.ways, member), mask, costs["rankings"])
    if "rankings" in kinds:
        for ways, mask in _ties_first(bec, ties):
            yield Offered(
                RankedTrajectories(ways.ways, ways.member.number), mask, costs["rankings"]
            )


def _comparisons(
    bec: EquivalenceClass, elements: Elements, *, by_member: bool
) -> Iterator[tuple[Comparison, int]]:
    """For each element the comparison in which it matters most: all of them cover the same.

    by_member: one of each member that has some, since visiting it costs.
    """
    for element in range(elements.n_elements):
        rows = np.flatnonzero(elements.element_of_row == element).tolist()
        most: dict[int | None, tuple[float, Comparison]] = {}
        for _, state, action, other in statements_of(bec, rows):
            member = member_with(bec.members, state)
            values = member.plan.action_values[state - member.first]
            matters = float(values[action] - values[other])
            group = member.number if by_member else None
            if group not in most or matters > most[group][0]:
                item = Comparison(state - member.first, action, other, member.number)
                most[group] = matters, item
        yield from ((item, 1 << element) for _, item in most.values())


def _two_ways(bec: EquivalenceClass, ties: Ties, *, by_member: bool) -> Iterator[tuple[Ways, int]]:
    """For each facet the shortest two trajectories; for ties those that state an equality row."""
    groups = [member.number for member in bec.members] if by_member else [None]
    for facet, members in enumerate(bec.cone.facets):
        for group in groups:
            pair = shortest_pair(bec, members, group)
            if pair is not None:
                yield pair, 1 << facet
    seen: set[tuple[int, int | None]] = set()
    for _, state, *actions in statements_of(bec, bec.cone.equalities):
        pair = ways_that_meet(bec, state, actions)
        mask = 0 if pair is None else _stated(ties, pair)
        if pair is None or not mask:
            continue
        key = mask, pair.member.number if by_member else None
        if key not in seen:
            seen.add(key)
            yield pair, mask


def _ties_first(bec: EquivalenceClass, ties: Ties) -> Iterator[tuple[Ways, int]]:
    """Best actions that tie, in their order and the other way round, before a worse one or none."""
    for facet, members in enumerate(bec.cone.facets):
        stated = {(state, other): None for _, state, _, other in statements_of(bec, members)}
        for state, other in list(stated)[:MAX_STATES]:
            for ways in _ranked(bec, state, [other]):
                yield ways, _stated(ties, ways) | 1 << facet
    tied = {state: None for _, state, _, _ in statements_of(bec, bec.cone.equalities)}
    for state in list(tied)[: MAX_STATES * len(bec.cone.equalities)]:
        for ways in _ranked(bec, state, []):
            if mask := _stated(ties, ways):
                yield ways, mask


def _ranked(bec: EquivalenceClass, state: int, last: list[int]) -> Iterator[Ways]:
    """Trajectories of all best actions of a state, where there are several, and of the last."""
    member = member_with(bec.members, state)
    best = np.flatnonzero(member.plan.optimal[state - member.first]).tolist()
    if len(best) > 1:
        for order in (best, best[::-1]):
            ways = ways_that_meet(bec, state, [*order, *last])
            if ways is not None:
                yield ways


def _stated(ties: Ties, ways: Ways) -> int:
    """The equality rows that neighbours among trajectories state, as bits of their elements."""
    bits = {ties.get(primitive(list(difference)), 0) for difference in ways.differences}
    return sum(bits)


@dataclass(frozen=True)
class Ways:
    """Trajectories of a member from one state, the best first."""

    member: Member
    ways: tuple[Demonstration, ...]

    @cached_property
    def differences(self) -> tuple[tuple[Any, ...], ...]:
        """What each counts more than the next; found for few of many, since it is exact work."""
        counts = [trajectory_counts(self.member.task, way) for way in self.ways]
        return tuple(
            tuple(a - b for a, b in zip(better, other, strict=True))
            for better, other in pairwise(counts)
        )


def statements_of(bec: EquivalenceClass, rows: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """(row, state, action, other) of all who state one of the rows."""
    hit = np.flatnonzero(np.isin(bec.rows.number, list(rows)))
    return [(int(bec.rows.number[i]), *bec.rows.statements[i].tolist()) for i in hit.tolist()]


def shortest_pair(
    bec: EquivalenceClass, rows: Sequence[int], member: int | None = None
) -> Ways | None:
    """The shortest two trajectories that state one of the rows, of a member where one is named."""
    stated = [statement for _, *statement in statements_of(bec, rows)]
    if member is not None:
        stated = [s for s in stated if member_with(bec.members, s[0]).number == member]
    found = [ways_that_meet(bec, state, pair) for state, *pair in stated]
    met = (ways for ways in found if ways is not None)
    return min(met, key=lambda ways: sum(map(len, ways.ways)), default=None)


def ways_that_meet(bec: EquivalenceClass, state: int, actions: Sequence[int]) -> Ways | None:
    """A trajectory for each action of a state, until they meet or all have ended, the soonest.

    None where chance decides or they never do.
    Where best actions tie, any of them may go on: which one is numbered first decides nothing.
    """
    member = member_with(bec.members, state)
    mdp, first = member.task.mdp, state - member.first
    begun = [only_successor(mdp, first, action) for action in actions]
    if None in begun:
        return None
    at = tuple(place for place in begun if place is not None)
    before: dict[tuple[int, ...], tuple[tuple[int, ...], tuple[int, ...]] | None] = {at: None}
    queue = deque([at])
    while queue:
        at = queue.popleft()
        ended = [bool(mdp.terminal[place]) for place in at]
        if all(ended) or (len(set(at)) == 1 and not any(ended)):
            ways = _back(before, at, first, actions)
            return Ways(member, tuple(map(Demonstration, ways)))
        for taken in product(*(_sure_best(member, place) for place in at)):
            pairs = zip(at, taken, strict=True)
            after = tuple(p if a < 0 else only_successor(mdp, p, a) or 0 for p, a in pairs)
            if after not in before and len(before) < MAX_PLACES:
                before[after] = (at, taken)
                queue.append(after)
    return None


def _sure_best(member: Member, state: int) -> list[int]:
    """Best actions of a state that surely lead somewhere; -1 where it is terminal."""
    if member.task.mdp.terminal[state]:
        return [-1]
    best = np.flatnonzero(member.plan.optimal[state]).tolist()
    return [a for a in best if only_successor(member.task.mdp, state, a) is not None]


def _back(
    before: dict[tuple[int, ...], tuple[tuple[int, ...], tuple[int, ...]] | None],
    at: tuple[int, ...],
    first: int,
    actions: Sequence[int],
) -> tuple[list[tuple[int, int]], ...]:
    """The steps of each walk that led there; none after it has ended."""
    ways: list[list[tuple[int, int]]] = [[] for _ in actions]
    while (step := before[at]) is not None:
        at, taken = step
        for way, place, action in zip(ways, at, taken, strict=True):
            if action >= 0:
                way.append((place, action))
    return tuple(
        [(first, action), *reversed(way)] for way, action in zip(ways, actions, strict=True)
    )
