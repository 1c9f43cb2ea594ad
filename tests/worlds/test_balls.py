from fractions import Fraction

import numpy as np
import pytest

from didact.errors import InvalidInput
from didact.worlds import make


def test_the_papers_table():
    task = make("ball-sorting")
    mdp = task.mdp
    assert mdp.feature_names == ("table", "bin 1", "bin 2", "bin 3", "bin 4")
    assert np.flatnonzero(mdp.terminal).tolist() == [0, 5, 30, 35]
    active = mdp.features.floats.argmax(axis=1)
    assert active[[0, 5, 30, 35]].tolist() == [1, 2, 3, 4]
    assert (np.delete(active, [0, 5, 30, 35]) == 0).all()
    assert mdp.exact_discount == Fraction(19, 20)
    assert np.abs(task.weights).sum() == pytest.approx(1)


def test_all_positions_but_the_bins_are_starts():
    start = make("ball-sorting", starts=36).mdp.start.fractions()
    assert [s for s, share in enumerate(start) if not share] == [0, 5, 30, 35]
    assert set(start) == {0, Fraction(1, 32)}
    assert make("ball-sorting").mdp.start.fractions() == start


def test_twenty_five_starts_are_evenly_spaced_without_the_bins():
    start = make("ball-sorting", starts=25).mdp.start.fractions()
    lines = [0, 1, 2, 4, 5]
    expected = {6 * r + c for r in lines for c in lines} - {0, 5, 30, 35}
    assert {s for s, share in enumerate(start) if share} == expected
    assert set(start) == {0, Fraction(1, 21)}


def test_weights_come_from_the_seed_or_the_caller():
    assert (make("ball-sorting", seed=1).weights == make("ball-sorting", seed=1).weights).all()
    assert (make("ball-sorting", seed=1).weights != make("ball-sorting", seed=2).weights).any()
    given = make("ball-sorting", weights=[-1, "0.1", 0, 0, 2])
    assert given.true_weights.fractions() == [-1, Fraction(1, 10), 0, 0, 2]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"starts": 30}, "starts must be a square number.* it is 30. Take 25 or 36"),
        ({"starts": 4}, "starts must be a whole number from 9 to 36; it is 4"),
        ({"starts": 49}, "starts must be a whole number from 9 to 36; it is 49"),
        ({"size": 2}, "size must be a whole number from 3"),
        ({"weights": [1, 2]}, "weights must have one entry for each of the 5 features"),
    ],
)
def test_bad_parameters_are_one_line(parameters, message):
    with pytest.raises(InvalidInput, match=message):
        make("ball-sorting", **parameters)
