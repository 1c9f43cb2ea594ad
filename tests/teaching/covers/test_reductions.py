"""Reductions against brute force: the optimum stays, and nothing is left to reduce."""

from __future__ import annotations

import itertools

from didact.random import stream
from didact.teaching.covers.reductions import reduced
from didact.teaching.covers.relaxation import packing_bound
from tests.effort import number
from tests.teaching.covers.instances import cheapest_by_force, hitting, random_elements


def test_reductions_keep_the_optimum():
    rng = stream(4, "reductions")
    n_left = 0
    for _ in range(number(250, 700)):
        n = int(rng.integers(2, 10))
        cuts = random_elements(rng, n, int(rng.integers(1, 14)), most=4)
        costs = rng.integers(1, 4, size=n).tolist()
        core = reduced(cuts, lambda i, costs=costs: (costs[i], 0, i))
        left = [{p for p in range(len(core.names)) if cut >> p & 1} for cut in core.cuts]
        inner = cheapest_by_force(len(core.names), core.costs, hitting(left))
        forced = sum(costs[i] for i in core.forced)
        assert forced + inner == cheapest_by_force(n, costs, hitting(cuts))
        assert packing_bound(core.cuts, core.costs) <= inner
        assert_is_irreducible(left, core.costs)
        n_left += bool(left)
    assert n_left > number(4, 10)


def assert_is_irreducible(cuts, costs):
    assert all(len(cut) > 1 for cut in cuts)
    assert not any(a <= b for a, b in itertools.permutations(cuts, 2))
    places = {place for cut in cuts for place in cut}
    hits = {place: {c for c, cut in enumerate(cuts) if place in cut} for place in places}
    assert not any(
        hits[a] <= hits[b] and costs[a] >= costs[b] for a, b in itertools.permutations(places, 2)
    )


def test_reductions_solve_what_they_should():
    rank = [(1, 0, i) for i in range(6)].__getitem__
    chain = reduced([{0, 1}, {1, 2}, {2, 3}, {3, 4}], rank)
    assert (set(chain.forced), chain.cuts) == ({1, 3}, ())
    assert len(reduced([{i, (i + 1) % 5} for i in range(5)], rank).cuts) == 5
    assert reduced([], rank).cuts == ()
