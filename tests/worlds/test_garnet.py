from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.errors import InvalidInput
from didact.worlds import make
from didact.worlds.garnet import draw_compositions, draw_subsets


@given(st.data())
def test_rows_have_the_branching_and_hundredths_asked_for(data):
    n_states = data.draw(st.integers(2, 12))
    branching = data.draw(st.integers(1, n_states))
    terminals = data.draw(st.integers(0, n_states - 1))
    starts = data.draw(st.none() | st.integers(1, n_states - terminals))
    task = make(
        "garnet",
        n_states=n_states,
        n_actions=data.draw(st.integers(1, 3)),
        branching=branching,
        n_features=data.draw(st.integers(1, 4)),
        features=data.draw(st.sampled_from(["one-hot", "dense"])),
        terminals=terminals,
        starts=starts,
        seed=data.draw(st.integers(0, 1000)),
    )
    mdp = task.mdp
    lengths = np.diff(mdp.transitions.offsets).reshape(n_states, -1)
    assert (lengths[~mdp.terminal] == branching).all()
    assert (lengths[mdp.terminal] == 0).all()
    assert mdp.terminal.sum() == terminals
    shares = mdp.transitions.probabilities.fractions()
    assert all((share * 100).denominator == 1 and share > 0 for share in shares)
    bounds = mdp.transitions.offsets.tolist()
    sums = [sum(shares[a:b]) for a, b in pairwise(bounds) if b > a]
    assert set(sums) == {Fraction(1)}
    assert (mdp.start.floats > 0).sum() == (starts or n_states)
    assert starts is None or (mdp.start.floats[mdp.terminal] == 0).all()


def test_subsets_are_uniform():
    drawn = draw_subsets(5, 3, 20_000, np.random.default_rng(0))
    counts = Counter(tuple(sorted(row)) for row in drawn.tolist())
    assert set(counts) == set(combinations(range(5), 3))
    assert sum((n - 2000) ** 2 / 2000 for n in counts.values()) < 40


def test_compositions_are_uniform():
    drawn = draw_compositions(6, 3, 20_000, np.random.default_rng(1))
    counts = Counter(tuple(row) for row in drawn.tolist())
    every = {(a, b, 6 - a - b) for a in range(1, 5) for b in range(1, 6 - a)}
    assert set(counts) == every
    assert sum((n - 2000) ** 2 / 2000 for n in counts.values()) < 40
    assert draw_compositions(100, 1, 3, np.random.default_rng(2)).tolist() == [[100]] * 3


def test_features_are_one_hot_or_small_whole_numbers():
    one_hot = make("garnet", features="one-hot").mdp.features.floats
    assert (one_hot.sum(axis=1) == 1).all()
    dense = make("garnet", n_states=500, features="dense").mdp.features.floats
    assert set(np.unique(dense)) == set(range(-5, 6))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_states": 1}, "n_states must be a whole number from 2"),
        ({"n_actions": 0}, "n_actions must be a whole number from 1"),
        ({"n_states": 5, "branching": 6}, "branching must be a whole number from 1 to 5; it is 6"),
        ({"n_states": 200, "branching": 101}, "branching must be .* 1 to 100"),
        ({"n_states": 5, "terminals": 5}, "terminals must be a whole number from 0 to 4"),
        ({"n_states": 5, "terminals": 2, "starts": 4}, "starts must be .* from 1 to 3"),
        (
            {"features": "onehot"},
            r"'one-hot' or 'dense'; .* \(did you mean 'one-hot'\?\)",
        ),
        ({"n_states": 10**7, "n_actions": 5, "branching": 50}, "must be at most 200000000"),
    ],
)
def test_bad_parameters_are_one_line(parameters, message):
    with pytest.raises(InvalidInput, match=message):
        make("garnet", **parameters)
