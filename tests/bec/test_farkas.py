"""Farkas decisions against brute force: proofs by integer products, whatever was proposed."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.bec import farkas
from didact.bec.farkas import Inside, Outside, decide
from didact.bec.linear import Multipliers, basis_of, dot
from tests.bec.test_linear import eliminated, vectors
from tests.effort import examples


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


@examples(30, 300)
@given(questions())
def test_decisions_agree_with_enumeration(question):
    generators, target = question
    decision = decide(generators, target)
    assert_proved(generators, target, decision)
    assert isinstance(decision, Inside) == in_cone(generators, target)


@examples(20, 100)
@given(questions(), st.sampled_from([nothing, everything, not_numbers]))
def test_a_lying_proposal_costs_pivots_but_never_truth(question, proposer):
    generators, target = question
    decision = decide(generators, target, proposer=proposer)
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
        decision = decide(generators, target, proposer=nothing)
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

    monkeypatch.setattr(farkas, "basis_of", counted)
    generators = [tuple(map(int, row.split())) for row in written.split(", ")]
    decision = decide(generators, target, proposer=nothing)
    assert decision.exact_lp
    assert_proved(generators, target, decision)


def test_whether_the_exact_lp_was_needed_is_told():
    generators = [(1, 0), (0, 1)]
    assert not decide(generators, (2, 3)).exact_lp
    assert not decide(generators, (2, -3)).exact_lp
    needed = decide([(1, 0), (0, 1), (1, 1), (-1, 1)], (-1, 3), proposer=nothing)
    assert needed.exact_lp
    assert isinstance(needed, Inside)


def test_trivial_questions():
    assert decide([], (0, 0)) == Inside(Multipliers((), (), 1), False)
    assert isinstance(decide([], (0, 1)), Outside)
    assert isinstance(decide([(0, 0)], (0, 1)), Outside)
    assert decide([(0, 0), (2, 4)], (1, 2)) == Inside(Multipliers((1,), (1,), 2), False)
    assert decide([(1, 0)], (1, 1)) == Outside((0, -1), False)
