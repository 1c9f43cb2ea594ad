"""Exact linear algebra against elimination in fractions and closed forms; Farkas decisions against
brute force: proofs by integer products, whatever was proposed."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from unittest import mock

import flint
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from didact.bec import linear
from didact.bec.linear import (
    Inside,
    Multipliers,
    Outside,
    basis_of,
    completed_basis,
    decide,
    dot,
    extreme_rays,
    independent,
    null_basis,
    primitive,
    row_reduced,
    unit_floats,
)
from didact.errors import Unsupported

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


@given(st.integers(1, 5).flatmap(lambda width: st.lists(vectors(width), min_size=1, max_size=9)))
def test_extreme_rays_are_where_all_but_one_dimension_of_rows_meet(rows):
    width = len(rows[0])
    assume(len(row_reduced(rows)[1]) == width)
    expected = set()
    for meeting in itertools.combinations(rows, width - 1):
        directions = null_basis(*row_reduced(meeting), width)
        for sign in (1, -1) if len(directions) == 1 else ():
            ray = tuple(sign * entry for entry in directions[0])
            if all(dot(row, ray) >= 0 for row in rows):
                expected.add(primitive(ray))
    found = extreme_rays(rows, 100)
    assert len(found) == len(expected)
    assert set(found) == expected


def test_extreme_rays_are_given_up_where_there_are_too_many():
    cube = [(*tuple(int(i == j) * side for j in range(5)), 1) for i in range(5) for side in (1, -1)]
    assert len(extreme_rays(cube, 32)) == 32
    with pytest.raises(Unsupported, match="more than 31 extreme rays"):
        extreme_rays(cube, 31)


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


# Farkas' alternative


@st.composite
def questions(draw):
    """A few generators, often with lineality, duplicates and zero rows, and a target."""
    width = draw(st.integers(1, 4))
    generators = draw(st.lists(vectors(width), max_size=7 if width < 4 else 6))
    for row in draw(st.lists(st.sampled_from(generators), max_size=1)) if generators else []:
        generators.append(tuple(-entry for entry in row))
    if generators and draw(st.booleans()):
        amounts = [draw(st.integers(0, 2)) for _ in generators]
        target = tuple(dot(tuple(amounts), column) for column in zip(*generators, strict=True))
    else:
        target = draw(vectors(width))
    return generators, target


def in_cone(generators, target):
    """Caratheodory by enumeration: some independent generators give the target nonnegatively."""
    if not any(target):
        return True
    for size in range(1, len(target) + 1):
        for chosen in itertools.combinations(generators, size):
            columns = [*zip(*chosen, strict=True)]
            system = [(*column, goal) for column, goal in zip(columns, target, strict=True)]
            reduced, pivots = eliminated(system)
            if pivots == list(range(size)) and all(row[-1] >= 0 for row in reduced):
                return True
    return False


def assert_proved(generators, target, decision):
    """The proof in a decision, by integer products alone."""
    if isinstance(decision, Outside):
        assert all(type(entry) is int for entry in decision.witness)
        assert dot(target, decision.witness) < 0
        assert all(dot(row, decision.witness) >= 0 for row in generators)
        return
    found = decision.multipliers
    assert found.denominator > 0
    assert all(numerator > 0 for numerator in found.numerators)
    assert len(set(found.indices)) == len(found.indices) <= len(target)
    assert math.gcd(found.denominator, *found.numerators) == 1
    total = [Fraction(0)] * len(target)
    for index, amount in zip(found.indices, found.fractions, strict=True):
        total = [a + amount * b for a, b in zip(total, generators[index], strict=True)]
    assert total == list(target)


def nothing(generators, target):
    return np.zeros(len(generators))


def everything(generators, target):
    return np.arange(1.0, 1.0 + len(generators))


def not_numbers(generators, target):
    return np.full(len(generators), np.nan)


def decided_after(proposal, generators, target):
    """The decision when floats propose something else."""
    with mock.patch.object(linear, "propose", proposal):
        return decide(generators, target)


@given(questions())
def test_decisions_agree_with_enumeration(question):
    generators, target = question
    decision = decide(generators, target)
    assert_proved(generators, target, decision)
    assert isinstance(decision, Inside) == in_cone(generators, target)


@given(questions(), st.sampled_from([nothing, everything, not_numbers]))
def test_a_lying_proposal_costs_pivots_but_never_truth(question, proposer):
    generators, target = question
    decision = decided_after(proposer, generators, target)
    assert_proved(generators, target, decision)
    assert type(decision) is type(decide(generators, target))


def sheared(rows, seed):
    """The rows under a random invertible integer map, which keeps every cone relation."""
    rng = np.random.default_rng(seed)
    width = len(rows[0])
    lower = np.tril(rng.integers(-3, 4, (width, width)), -1) + np.eye(width, dtype=int)
    upper = np.triu(rng.integers(-3, 4, (width, width)), 1) + np.eye(width, dtype=int)
    columns = [tuple(map(int, column)) for column in (lower @ upper).T]
    return [tuple(dot(row, column) for column in columns) for row in rows]


@pytest.mark.parametrize("digits", [*range(5, 13), 17, 40, 300])
@pytest.mark.parametrize("seed", range(3))
def test_angles_too_small_for_floats_are_decided(digits, seed):
    """A target that leaves an orthant by an angle of 10**-digits, or enters it by as much."""
    big = 10**digits
    axes = [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (1, 1, 0, 0), (big, 1, 0, 0)]
    for offset, kind in ((-1, Outside), (0, Inside), (1, Inside)):
        *generators, target = sheared([*axes, (big, big, offset, big)], seed)
        decision = decide(generators, target)
        assert isinstance(decision, kind)
        assert_proved(generators, target, decision)


@pytest.mark.parametrize("digits", [5, 8, 12, 30])
def test_generators_at_tiny_angles_to_each_other(digits):
    """A fan of nearly parallel rows: members combine from their neighbours, the ends do not."""
    big = 10**digits
    fan = [(big, i, i * i) for i in range(12)]
    for i in range(12):
        others = fan[:i] + fan[i + 1 :]
        decision = decide(others, fan[i])
        assert isinstance(decision, Outside)
        assert_proved(others, fan[i], decision)
    middle = tuple(a + b + c for a, b, c in zip(fan[1], fan[5], fan[9], strict=True))
    decision = decide(fan, middle)
    assert isinstance(decision, Inside)
    assert_proved(fan, middle, decision)


def test_entries_of_300_digits():
    rng = np.random.default_rng(0)
    rows = [
        tuple(int("".join(map(str, rng.integers(1, 10, 300)))) * sign for sign in signs)
        for signs in rng.choice([-1, 1], (12, 6)).tolist()
    ]
    amounts = (3, 0, 1, 10**300, 0, 0, 7, 0, 0, 0, 1, 1)
    target = tuple(dot(amounts, column) for column in zip(*rows, strict=True))
    inside = decide(rows, target)
    assert isinstance(inside, Inside)
    assert_proved(rows, target, inside)
    pointed = [(abs(row[0]), *row[1:]) for row in rows]
    behind = tuple(-sum(column) for column in zip(*pointed, strict=True))
    outside = decide(pointed, behind)
    assert isinstance(outside, Outside)
    assert_proved(pointed, behind, outside)


def test_columns_of_very_different_size():
    scales = (1, 10**40, 10**200, 10**9)
    rows = [
        tuple(a * s for a, s in zip(row, scales, strict=True))
        for row in np.eye(4, dtype=int).tolist()
    ]
    for sign, kind in ((1, Inside), (-1, Outside)):
        target = (scales[0] * sign, scales[1], scales[2], scales[3])
        decision = decide(rows, target)
        assert isinstance(decision, kind)
        assert_proved(rows, target, decision)


def test_heavily_degenerate_cones_terminate_by_pivots_alone():
    """All sign vectors of length 4 as generators, each target on many of their faces."""
    generators = [row for row in itertools.product((-1, 0, 1), repeat=4) if row[0] == 1]
    targets = [*itertools.product((-1, 0, 1), repeat=4)]
    n_exact_lp = 0
    for target in targets:
        decision = decided_after(nothing, generators, target)
        n_exact_lp += decision.exact_lp
        assert_proved(generators, target, decision)
        assert isinstance(decision, Inside) == (max(map(abs, target)) <= target[0])
    assert n_exact_lp > 0


CYCLES_BY_LARGEST_LEAVING = (
    "-2 2 -3 0 1, -2 -2 1 -2 2, -3 -1 -3 0 -1, 0 -1 -2 1 0, 0 -2 0 -2 -2, -3 -1 0 3 2, "
    "0 -3 2 -1 -1, 1 -2 2 2 -1, -3 -2 1 -1 -1, -2 -3 0 -3 1, 0 2 -1 3 -2, -1 1 -3 -3 -2",
    (-2, -1, 1, 3, -2),
)
CYCLES_BY_LARGEST_ENTERING = (
    "-1 1 3 1, -2 1 -3 -1, 3 0 2 0, -2 3 -2 -2, -1 0 -2 -3, -2 -1 -2 0, 1 1 1 -2, -3 -1 -2 3, "
    "1 2 -2 3, -1 3 -3 -2",
    (1, -3, 3, 1),
)


@pytest.mark.parametrize(
    ("written", "target"), [CYCLES_BY_LARGEST_LEAVING, CYCLES_BY_LARGEST_ENTERING]
)
def test_least_indices_do_not_cycle_where_other_rules_do(written, target, monkeypatch):
    exchanges = []

    def counted(rows, members):
        exchanges.append(members)
        assert len(exchanges) < 100, "the pivots cycle"
        return basis_of(rows, members)

    monkeypatch.setattr(linear, "basis_of", counted)
    generators = [tuple(map(int, row.split())) for row in written.split(", ")]
    decision = decided_after(nothing, generators, target)
    assert decision.exact_lp
    assert_proved(generators, target, decision)


def test_whether_the_exact_lp_was_needed_is_told():
    generators = [(1, 0), (0, 1)]
    assert not decide(generators, (2, 3)).exact_lp
    assert not decide(generators, (2, -3)).exact_lp
    needed = decided_after(nothing, [(1, 0), (0, 1), (1, 1), (-1, 1)], (-1, 3))
    assert needed.exact_lp
    assert isinstance(needed, Inside)


def test_trivial_questions():
    assert decide([], (0, 0)) == Inside(Multipliers((), (), 1), False)
    assert isinstance(decide([], (0, 1)), Outside)
    assert isinstance(decide([(0, 0)], (0, 1)), Outside)
    assert decide([(0, 0), (2, 4)], (1, 2)) == Inside(Multipliers((1,), (1,), 2), False)
    assert decide([(1, 0)], (1, 1)) == Outside((0, -1), False)
