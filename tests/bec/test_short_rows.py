"""Rows in 64 bits against the same in fractions, and who is refused."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

import didact
from didact.bec import rows as catalogue
from didact.bec import short_rows
from didact.bec.linear import primitive
from didact.bec.short_rows import label_rows, short_differences
from didact.planning.whole_counts import lowest


@pytest.mark.parametrize("digits", [1, 4, 9, 14, 18, 25])
def test_differences_are_those_of_fractions_or_none(digits):
    draw, answered = random.Random(digits), 0
    for _ in range(40):
        k, n, most = draw.randint(1, 5), draw.randint(1, 6), 10**digits
        whole = [
            lowest([draw.randint(-most, most) for _ in range(k)], draw.randint(1, most))
            for _ in range(n)
        ]
        better, worse = (np.array(draw.choices(range(n), k=8)) for _ in range(2))
        found = short_differences(whole, better, worse)
        if found is None:
            continue
        answered += 1
        for u, v, row in zip(better, worse, found.tolist(), strict=True):
            (left, left_below), (right, right_below) = whole[u], whole[v]
            pairs = zip(left, right, strict=True)
            exact = [Fraction(a, left_below) - Fraction(b, right_below) for a, b in pairs]
            assert tuple(row) == primitive(exact)
    assert answered == 40 if digits <= 4 else answered < 40 or digits <= 9


@pytest.mark.parametrize("entry", [2**61, -(2**61), 2**63, -(2**63), 2**70])
def test_long_numbers_are_refused(entry):
    two = np.array([0]), np.array([1])
    assert short_differences([((entry,), 1), ((0,), 1)], *two) is None
    assert short_differences([((1,), 1), ((0,), abs(entry))], *two) is None
    assert short_differences([((2**60,), 1), ((-(2**60),), 1)], *two).tolist() == [[1]]


@pytest.mark.parametrize("factor", [short_rows._FACTOR, np.uint64(0)])
def test_labels_count_up_by_first_appearance(factor, monkeypatch):
    """A factor of nothing gives all rows one key, so that all they hold must tell them apart."""
    monkeypatch.setattr(short_rows, "_FACTOR", factor)
    rows = np.array([[0, 3], [0, 0], [-1, 2], [0, 3], [1, -2], [0, 0], [-1, 2]])
    labels, first = label_rows(rows)
    assert labels.tolist() == [0, -1, 1, 0, 2, -1, 1]
    assert first.tolist() == [0, 2, 4]


@pytest.mark.parametrize("slip", [0, "0.2"])
def test_long_integers_make_the_same_rows(slip, monkeypatch):
    for seed in range(3):
        task = didact.make("random-grid", size=5, n_features=4, slip=slip, seed=seed)
        short = didact.equivalence_class(task, arithmetic="exact").rows
        with monkeypatch.context() as changed:
            changed.setattr(catalogue, "_short_rows", lambda *_: None)
            long = didact.equivalence_class(task, arithmetic="exact").rows
        assert short.exact == long.exact
        np.testing.assert_array_equal(short.number, long.number)
        np.testing.assert_array_equal(short.normals, long.normals)
