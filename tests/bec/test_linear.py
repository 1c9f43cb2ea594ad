"""Exact linear algebra against elimination in fractions and closed forms."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.bec import linear
from didact.bec.linear import (
    basis_of,
    completed_basis,
    dot,
    independent,
    null_basis,
    primitive,
    row_reduced,
    unit_floats,
)

ENTRIES = st.integers(-3, 3)
FRACTIONS = st.fractions(min_value=-5, max_value=5, max_denominator=30)


def vectors(width):
    return st.tuples(*[ENTRIES] * width)


def eliminated(rows):
    """Gauss-Jordan in fractions: the reduced rows without zeros, and the pivots."""
    rows = [list(map(Fraction, row)) for row in rows]
    pivots, done = [], 0
    for column in range(len(rows[0]) if rows else 0):
        at = next((i for i in range(done, len(rows)) if rows[i][column]), None)
        if at is None:
            continue
        rows[done], rows[at] = rows[at], rows[done]
        rows[done] = [entry / rows[done][column] for entry in rows[done]]
        for i, row in enumerate(rows):
            if i != done and row[column]:
                rows[i] = [a - row[column] * b for a, b in zip(row, rows[done], strict=True)]
        pivots.append(column)
        done += 1
    return rows[:done], pivots


@pytest.mark.parametrize("kind", [int, Fraction, flint.fmpq])
def test_primitive_keeps_the_direction_of_integers(kind):
    assert primitive([kind(4), kind(-6), kind(0)]) == (2, -3, 0)
    assert primitive([kind(0), kind(0)]) == (0, 0)
    assert all(type(entry) is int for entry in primitive([kind(4), kind(-6)]))


def test_primitive_mixes_kinds_and_needs_no_size_limit():
    assert primitive([Fraction(1, 6), 1, flint.fmpq(-1, 4)]) == (2, 12, -3)
    huge = 7 * 10**500
    assert primitive([Fraction(huge, 3), -huge]) == (1, -3)


@given(st.lists(FRACTIONS, min_size=1, max_size=5), st.fractions(min_value=Fraction(1, 50)))
def test_primitive_is_a_positive_multiple_and_forgets_scale(vector, scale):
    row = primitive(vector)
    assert row == primitive([scale * entry for entry in vector])
    assert row == primitive([flint.fmpq(x.numerator, x.denominator) for x in vector])
    assert math.gcd(*row) == (1 if any(vector) else 0)
    for (a, x), (b, y) in itertools.combinations(zip(row, vector, strict=True), 2):
        assert a * y == b * x
    assert all((a > 0) == (x > 0) and (a < 0) == (x < 0) for a, x in zip(row, vector, strict=True))


@given(st.integers(1, 4).flatmap(lambda width: st.lists(vectors(width), min_size=1, max_size=6)))
def test_echelon_null_space_and_independence_agree_with_elimination(rows):
    expected, pivots = eliminated(rows)
    basis, found = row_reduced(rows)
    assert found == pivots
    assert basis == [primitive(row) for row in expected]
    kernel = null_basis(basis, pivots, len(rows[0]))
    assert len(eliminated(kernel)[0]) == len(kernel) == len(rows[0]) - len(pivots)
    assert all(dot(row, direction) == 0 for row in rows for direction in kernel)
    assert independent(rows) == eliminated([*zip(*rows, strict=True)])[1]


def test_independence_survives_an_unlucky_prime():
    prime = linear._PRIME
    assert independent([(prime, 0), (0, prime), (1, 1)]) == [0, 1]
    assert independent([(prime, 0), (1, 0)]) == [0]
    assert independent([(prime + 1, 1), (1, 1)]) == [0, 1]
    assert independent([(prime + 1, 1), (1, 1), (0, 5)]) in ([0, 1], [0, 2])


def test_floats_of_huge_rows_do_not_overflow():
    big = 10**300
    floats = unit_floats([(3 * big, -4 * big), (big**2, 1), (0, 0), (3, 4)])
    np.testing.assert_allclose(floats, [[0.6, -0.8], [1, 0], [0, 0], [0.6, 0.8]], rtol=1e-15)


@pytest.mark.parametrize("n_targets", [1, 3, 20])
@pytest.mark.parametrize("size", [1, 3, 9, 26])
def test_coordinates_and_directions_are_those_of_the_basis(size, n_targets):
    generator = random.Random(size * 100 + n_targets)

    def rows(count):
        return [
            tuple(generator.randrange(-(10**9), 10**9) for _ in range(size)) for _ in range(count)
        ]

    members, targets = rows(size + 1), rows(n_targets)
    basis = basis_of(members, range(1, size + 1))
    found, denominator = basis.coordinates(targets)
    assert denominator > 0
    for target, coordinates in zip(targets, found, strict=True):
        combined = [dot(coordinates, column) for column in zip(*members[1:], strict=True)]
        assert combined == [denominator * entry for entry in target]
    slopes = rows(1)[0]
    ratios = {
        Fraction(dot(member, basis.direction(slopes)), slope)
        for member, slope in zip(members[1:], slopes, strict=True)
    }
    assert len(ratios) == 1
    assert ratios.pop() > 0


@pytest.mark.parametrize("n_targets", [1, 5, 40])
def test_combinations_are_multipliers_in_lowest_terms_by_ascending_name(n_targets):
    draw = random.Random(n_targets)
    rows = [(2, 0, 0), (0, 3, 0), (1, 1, 5)]
    basis, names = basis_of(rows, [2, 0, 1]), [7, 30, 4]
    targets = [tuple(draw.randint(-3, 9) for _ in range(3)) for _ in range(n_targets)]
    for target, found in zip(targets, basis.combinations(targets, names), strict=True):
        third = Fraction(target[2], 5)
        exact = {4: third, 7: (target[0] - third) / 2, 30: (target[1] - third) / 3}
        if min(exact.values()) < 0:
            assert found is None
            continue
        used = {name: amount for name, amount in exact.items() if amount}
        assert found.indices == tuple(used)
        assert found.fractions == tuple(used.values())
        assert math.gcd(found.denominator, *found.numerators) == 1


@pytest.mark.parametrize("n_free", [0, 1, 2, 3])
def test_many_rows_are_reduced_like_few(n_free):
    """Rows of a hyperplane, and late ones that leave what was looked at first."""
    draw = random.Random(n_free)
    width = 5
    for late in (0, 1, 2):
        rows = []
        for _ in range(150):
            row = [draw.randint(-4, 4) for _ in range(width - n_free)]
            rows.append((*row, *[-sum(row)] * n_free))
        for place in range(late):
            rows.insert(draw.randrange(150), tuple(int(i == place) for i in range(width)))
            rows.append((0,) * (width - 1) + (3,))
        expected, pivots = eliminated(rows)
        assert row_reduced(rows) == ([primitive(row) for row in expected], pivots)


def test_dependent_rows_are_no_basis():
    assert basis_of([(1, 2), (2, 4)], [0, 1]) is None
    prime = 2**61 - 1
    assert basis_of([(prime, 0), (0, 1)], [0, 1]) is not None


def test_a_basis_is_completed_by_late_rows_where_early_ones_do_not_span():
    rows = [(1, 0, 0), *[(0, n, 0) for n in range(1, 20)], (0, 0, 5)]
    assert completed_basis(rows, [0]).members == (0, 1, 20)
    assert completed_basis(rows[:-1], [0]) is None
