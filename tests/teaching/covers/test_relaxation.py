"""Bounds of the relaxation against floats and closed forms, and against a solver that lies."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize

from didact.random import stream
from didact.teaching.covers import relaxation
from didact.teaching.covers.relaxation import lp_bound
from tests.effort import number
from tests.teaching.covers.instances import random_costs, random_elements


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
    assert relaxation._dual_value([*pairs, 0b1111], [1] * 4) <= 2
