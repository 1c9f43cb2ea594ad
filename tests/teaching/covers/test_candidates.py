"""Candidates without repetition: numbers that stand for rows, against the rows themselves."""

from __future__ import annotations

import numpy as np
import pytest

from didact.teaching.covers import candidates


@pytest.mark.parametrize("factor", [candidates._FACTOR, 1, 0])
def test_rows_are_kept_once_in_the_order_of_their_first_appearance(factor, monkeypatch):
    """With the factors 1 and 0 different rows have the same number."""
    monkeypatch.setattr(candidates, "_FACTOR", factor)
    rng = np.random.default_rng(0)
    for _ in range(60):
        pairs = rng.integers(-1, 3, size=(rng.integers(1, 40), rng.integers(1, 5)))
        expected = list(dict.fromkeys(map(tuple, pairs.tolist())))
        assert list(map(tuple, candidates._distinct(pairs).tolist())) == expected
