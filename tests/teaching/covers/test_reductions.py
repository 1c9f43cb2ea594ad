"""Reductions against brute force: the optimum stays, and nothing is left to reduce."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize

from didact.random import stream
from didact.teaching.covers import reductions
from didact.teaching.covers.reductions import lp_bound, packing_bound, reduced
from tests.effort import number
from tests.teaching.covers.instances import (
    cheapest_by_force,
    hitting,
    random_costs,
    random_elements,
)


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


def test_lp_bound_is_the_relaxation():
    rng = stream(10, "lp")
    n_left = 0
    for _ in range(number(100, 150)):
        n = int(rng.integers(3, 12))
        elements = random_elements(rng, n, int(rng.integers(1, 16)), least=2)
        costs = random_costs(rng, n)
        matrix = np.array([[-float(i in element) for i in range(n)] for element in elements])
        floats = [float(c) for c in costs]
        value = scipy.optimize.linprog(floats, A_ub=matrix, b_ub=-np.ones(len(elements))).fun
        bound = lp_bound(elements, costs)
        assert isinstance(bound, Fraction)
        assert float(bound) == pytest.approx(value, rel=1e-7)
        n_left += bound.denominator > 1 and set(costs) == {1}
    assert n_left > number(3, 5)


def test_lp_bounds_in_closed_form():
    cycle = [{i, (i + 1) % 5} for i in range(5)]
    fano = [{i, (i + 1) % 7, (i + 3) % 7} for i in range(7)]
    assert lp_bound(cycle, [1] * 5) == Fraction(5, 2)
    assert lp_bound(fano, [3] * 7) == 7
    assert lp_bound(fano, [Fraction(1, 7)] * 7) == Fraction(1, 3)
    assert lp_bound([], [1, 2]) == 0


def test_lp_bound_does_not_trust_the_solver(monkeypatch):
    """Prices that are too high, negative or missing still give a bound that holds."""
    solve = scipy.optimize.linprog
    cycle = [{i, (i + 1) % 5} for i in range(5)]

    def instead(status, change):
        def wrong(*arguments, **options):
            answer = solve(*arguments, **options)
            answer.ineqlin.marginals = change(answer.ineqlin.marginals)
            answer.status = status
            return answer

        return wrong

    for status, change in (
        (0, lambda prices: 3.0 * prices),
        (0, lambda prices: prices - np.array([9.0, 0.0, 0.0, 0.0, 0.0])),
        (0, lambda prices: -prices),
        (4, lambda prices: None),
    ):
        monkeypatch.setattr(scipy.optimize, "linprog", instead(status, change))
        assert 2 <= lp_bound(cycle, [1] * 5) <= Fraction(5, 2)
    pairs = [1 << i | 1 << j for i, j in itertools.combinations(range(4), 2)]
    negative = instead(0, lambda prices: np.array([-1.0] * 6 + [2.0]))
    monkeypatch.setattr(scipy.optimize, "linprog", negative)
    assert reductions._dual_value([*pairs, 0b1111], [1] * 4) <= 2
