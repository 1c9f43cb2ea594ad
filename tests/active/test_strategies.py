"""The binned entropy against histograms counted by hand and by a plain program."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.active.infogain import entropy_terms
from didact.active.strategies import binned_entropy
from didact.errors import InvalidParameter


def policies(*draws) -> np.ndarray:
    """(draws, states, actions) from nested lists."""
    return np.array(draws, dtype=float)


def nats(*shares) -> float:
    return -sum(p * math.log(p) for p in shares if p)


def test_what_all_draws_agree_on_is_known_however_spread_the_actions():
    """A known tie scores 0; the entropy of the mean policy would be log 2."""
    agreed = policies(*[[[0.5, 0.5], [1.0, 0.0]]] * 7)
    assert binned_entropy(agreed).tolist() == [0.0, 0.0]
    opposed = policies([[0.5, 0.5], [1.0, 0.0]], [[0.5, 0.5], [0.0, 1.0]])
    assert binned_entropy(opposed) == pytest.approx([0.0, math.log(2)], abs=1e-15)


def test_the_mean_over_actions_of_the_entropy_of_each_histogram():
    """First action in bins 0, 0, 9, 4; second in 9, 9, 0, 4; third always in bin 0."""
    draws = policies([[0.0, 1.0, 0.0]], [[0.05, 0.95, 0.0]], [[0.95, 0.0, 0.05]], [[0.5, 0.5, 0.0]])
    assert binned_entropy(draws)[0] == pytest.approx(2 * nats(0.5, 0.25, 0.25) / 3, abs=1e-15)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (0.0, 0.1, True),  # 0 belongs to the first bin, whose right end is closed
        (0.0, 0.05, True),
        (0.1, 0.1000001, False),
        (0.5, 0.5 + 1e-13, True),  # a tie with rounding
        (0.5, 0.5 - 1e-13, True),
        (0.5, 0.51, False),
        (1 / 3, 1 / 3 + 1e-15, True),
        (0.2, 0.1 + 0.1 + 1e-14, True),
        (0.95, 1.0, True),
        (1.0, 1.0 + 1e-15, True),
        (0.9, 0.91, False),
    ],
)
def test_bins_are_closed_on_the_right(one, other, same):
    score = binned_entropy(policies([[one]], [[other]]))[0]
    assert score == pytest.approx(0.0 if same else math.log(2), abs=1e-15)


@given(st.data())
def test_against_a_plain_program_in_fractions(data):
    """Probabilities on a lattice of 60ths, which hits every edge of 2, 3, 4, 5, 6 and 10 bins."""
    n_draws = data.draw(st.integers(1, 6))
    n_states = data.draw(st.integers(1, 3))
    n_actions = data.draw(st.integers(1, 4))
    n_bins = data.draw(st.sampled_from([1, 2, 3, 4, 5, 6, 10]))
    entry = st.integers(0, 60)
    grid = [
        [[data.draw(entry) for _ in range(n_actions)] for _ in range(n_states)]
        for _ in range(n_draws)
    ]
    expected = []
    for s in range(n_states):
        total = 0.0
        for a in range(n_actions):
            counts = Counter(_bin(Fraction(grid[i][s][a], 60), n_bins) for i in range(n_draws))
            total += nats(*(c / n_draws for c in counts.values()))
        expected.append(total / n_actions)
    found = binned_entropy(np.array(grid) / 60, n_bins)
    assert found == pytest.approx(expected, abs=1e-12)


def _bin(p: Fraction, n_bins: int) -> int:
    """The bin k with k/K < p <= (k + 1)/K; 0 is in bin 0."""
    return next(k for k in range(n_bins) if p <= Fraction(k + 1, n_bins))


@pytest.mark.parametrize("n_bins", [0, -1, 2.5, True, "10"])
def test_bins_must_be_counted(n_bins):
    with pytest.raises(InvalidParameter, match="n_bins must be a whole number from 1"):
        binned_entropy(np.ones((1, 1, 1)), n_bins)


def test_entropy_terms_of_nothing_are_nothing():
    assert entropy_terms(np.array([0.0, 1.0])).tolist() == [0.0, 0.0]
