"""What optimal play can show, by hand: pairs within a horizon, whole episodes, what they imply."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from tests.laws.test_bec import Drawn, Oracle, canonical, is_in_cone

Pair = tuple[int, int]
Row = tuple[int, ...]


class Implied:
    """Whether shown pairs pin the class down: all rows in the cone of theirs, remembered."""

    def __init__(self, oracle: Oracle):
        self.oracle = oracle
        self.everything = oracle.distinct_rows()
        self._known: dict[frozenset[Row], bool] = {}

    def rows(self, pairs: Iterable[Pair]) -> frozenset[Row]:
        shown = set(pairs)
        rows = self.oracle.rows.items()
        return frozenset(row for (s, a, _), row in rows if (s, a) in shown and any(row))

    def all(self, pairs: Iterable[Pair]) -> bool:
        stated = self.rows(pairs)
        if stated not in self._known:
            self._known[stated] = all(
                row in stated or is_in_cone(sorted(stated), row) for row in self.everything
            )
        return self._known[stated]


def elements_of(oracle: Oracle) -> dict[object, set[Pair]]:
    """Every facet's class and every equality row, with the pairs that state it."""
    rows = oracle.distinct_rows()
    equal = [row for row in rows if is_in_cone(rows, tuple(-x for x in row))]
    class_of: dict[Row, Row] = {}
    for row in rows:
        if row not in equal:
            (class_of[row],) = canonical(equal, [row])[1]
    rays = set(class_of.values())
    facets = {ray for ray in rays if not is_in_cone(sorted(rays - {ray}), ray)}
    found: dict[object, set[Pair]] = {}
    for (s, a, _), row in oracle.rows.items():
        if row in equal or class_of.get(row) in facets:
            found.setdefault(row if row in equal else class_of[row], set()).add((s, a))
    return found


def pairs_within(drawn: Drawn, oracle: Oracle, starts: Iterable[int], horizon: int) -> set[Pair]:
    """The pairs that some demonstration of at most `horizon` steps can show."""
    found: set[Pair] = set()
    states = set(starts)
    for _ in range(min(horizon, oracle.n)):
        states = {s for s in states if not drawn.terminal[s]}
        found |= {(s, a) for s in states for a in oracle.optimal[s]}
        states |= {t for s in states for a in oracle.optimal[s] for t in drawn.moves[s][a]}
    return found


MAX_WALKS = 500
"""Of more walks the sets that they show are not followed."""


def episodes(drawn: Drawn, oracle: Oracle, start: int, horizon: int) -> set[frozenset[Pair]] | None:
    """The sets of pairs that demonstrations from a start can show; those within others left out."""
    frontier, seen = {(start, frozenset[Pair]())}, set()
    for _ in range(horizon):
        following = set()
        for s, shown in frontier:
            for a in oracle.optimal[s] if not drawn.terminal[s] else ():
                wider = shown | {(s, a)}
                following |= {(t, wider) for t in drawn.moves[s][a]}
        seen |= following
        if len(seen) > MAX_WALKS:
            return None
        if following <= frontier:
            break
        frontier = following
    sets = {shown for _, shown in seen}
    return {shown for shown in sets if not any(shown < other for other in sets)}


def fewest(sets: list[frozenset[Pair]], implied: Implied) -> int | None:
    """How many of the sets are needed, all choices tried; None when all do not suffice."""
    if not implied.all(frozenset().union(*sets)):
        return None
    for size in range(len(sets) + 1):
        for chosen in itertools.combinations(sets, size):
            if implied.all(frozenset().union(*chosen)):
                return size
    raise AssertionError("all of them suffice")
