"""Bounds of weights against all corners, in fractions."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from flint import fmpq, fmpq_mat

from didact.bec.weight_bounds import weight_bounds
from tests.effort import chunks


def corners(rows, k: int, unit: int, sign: int) -> list[list[Fraction]]:
    """Every point with w[unit] = sign where k - 1 rows are tight and none is broken."""
    axis = [int(i == unit) for i in range(k)]
    all_rows = fmpq_mat(len(rows), k, [fmpq(x) for row in rows for x in row])
    found = []
    for tight in combinations(rows, k - 1):
        system = fmpq_mat(k, k, [fmpq(x) for row in (axis, *tight) for x in row])
        if system.det() == 0:
            continue
        point = system.solve(fmpq_mat(k, 1, [fmpq(sign), *[fmpq(0)] * (k - 1)]))
        kept = all_rows * point
        if all(kept[i, 0] >= 0 for i in range(len(rows))):
            found.append([Fraction(int(point[i, 0].p), int(point[i, 0].q)) for i in range(k)])
    return found


@pytest.mark.parametrize("seed", chunks(8, 12))
@pytest.mark.parametrize("k", [2, 3, 4])
def test_bounds_are_those_of_the_corners(seed, k):
    rng = np.random.default_rng([seed, k])
    inside = rng.integers(-5, 6, size=k)
    unit = int(rng.integers(k))
    inside[unit] = sign = int(rng.choice([-1, 1]))
    drawn = [tuple(int(x) for x in row) for row in rng.integers(-9, 10, size=(12, k))]
    rows = [row if np.dot(row, inside) >= 0 else tuple(-x for x in row) for row in drawn]
    rows = [row for row in rows if any(row)]
    found, points = weight_bounds(rows, k, unit, sign), corners(rows, k, unit, sign)
    assert points
    for i, (low, high) in enumerate(found):
        assert low.is_proved
        assert high.is_proved
        values = [point[i] for point in points]
        assert low.value is None or low.value == min(values)
        assert high.value is None or high.value == max(values)


def test_what_nothing_bounds_has_no_bound():
    (low, high), unit = weight_bounds([(1, 0)], 2, 1, -1)
    assert (low.value, high.value) == (0, None)
    assert (unit[0].value, unit[1].value) == (-1, -1)
    assert [bound.value for bound in weight_bounds([], 2, 1, 1)[0]] == [None, None]


def test_an_equality_is_a_bound_on_both_sides():
    (low, high), _ = weight_bounds([(3, -1), (-3, 1)], 2, 1, 1)
    assert low.value == high.value == Fraction(1, 3)
