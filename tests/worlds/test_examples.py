"""The paper's small worlds, solved exactly in fractions by an independent solver."""

from fractions import Fraction

import numpy as np
import pytest

from didact.errors import InvalidInput
from didact.mdp.files import task_document
from didact.worlds import make
from tests.test_proofcheck import Solved, dot


class Exact(Solved):
    """A task solved in fractions, ties taken equally often."""

    def __init__(self, task):
        super().__init__(task_document(task))

    def rows(self, pairs=None):
        """The rows mu(s, a) - mu(s, b) of the pairs shown, without zero rows."""
        pairs = pairs or [(s, a) for s in self.live for a in self.optimal[s]]
        differences = (self.row(s, a, b) for s, a in pairs for b in range(self.m))
        return [row for row in differences if any(row)]


def directions(rows):
    """Distinct rows up to a positive factor."""
    return {tuple(v / max(abs(x) for x in row) for v in row) for row in rows}


def in_plane_cone(row, first, second):
    """Whether a 2-D row is a combination of two rows with factors from 0 up."""
    area = first[0] * second[1] - first[1] * second[0]
    a = (row[0] * second[1] - row[1] * second[0]) / area
    b = (first[0] * row[1] - first[1] * row[0]) / area
    return a >= 0 and b >= 0


@pytest.mark.parametrize(("terminal", "slope"), [("once", "2.539"), ("silent", "2.71")])
def test_six_cells_give_the_papers_constraints_exactly(terminal, slope):
    exact = Exact(make("six-cell", terminal=terminal))
    facets = {(Fraction(1), -1 / Fraction(slope)), (Fraction(-1), Fraction(0))}
    found = directions(exact.rows())
    assert facets <= found
    assert all(in_plane_cone(row, *facets) for row in found)


def test_a_self_loop_is_no_terminal():
    task = make("six-cell", terminal="self-loop")
    assert not task.mdp.terminal.any()
    assert task.mdp.transitions.successors[:4].tolist() == [0, 0, 0, 0]
    assert directions(Exact(task).rows()) == {(Fraction(1), Fraction(-1))}


def test_six_cells_are_as_the_paper_says():
    task = make("six-cell")
    exact = Exact(task)
    assert task.mdp.feature_names == ("white", "grey")
    assert [row[0] for row in exact.phi] == [[1, 0], [0, 1], [1, 0], [1, 0], [1, 0], [1, 0]]
    assert exact.optimal[1:] == [[2], [1], [0], [2], [2]]
    assert exact.discount == Fraction(9, 10)
    assert task.mdp.start.fractions() == [Fraction(1, 6)] * 6
    up_from_corner = exact.mu[2, 1]
    assert up_from_corner == [sum(Fraction(9, 10) ** i for i in range(5)), 0]


def test_uvm_failure_has_the_tie_the_open_question_and_the_wrong_answer():
    task = make("uvm-failure")
    exact = Exact(task)
    up, left = 0, 2
    lower_right, upper_right = 8, 2
    assert exact.optimal[lower_right] == [up, left]
    assert exact.mu[lower_right, up] != exact.mu[lower_right, left]
    assert exact.optimal[upper_right] == [1]

    shown = exact.rows([(lower_right, up), (lower_right, left)])
    white, grey, red = range(3)
    assert {(Fraction(1), Fraction(-1), Fraction(0)), (Fraction(-1), Fraction(1), Fraction(0))} <= (
        directions(shown)
    )
    assert all(row[red] == 0 for row in shown)

    misled = [Fraction(-1), Fraction(-1), Fraction(-1, 2)]
    assert all(dot(row, misled) >= 0 for row in shown)
    assert any(dot(row, misled) < 0 for row in exact.rows())
    through_red, through_grey = exact.mu[upper_right, left], exact.mu[upper_right, 1]
    assert dot(through_red, exact.weights) < dot(through_grey, exact.weights)
    assert dot(through_red, misled) > dot(through_grey, misled)
    assert (through_red[red], through_grey[grey]) > (0, 0)
    assert task.mdp.feature_names[white] == "white"


def test_uvm_failure_starts_everywhere():
    task = make("uvm-failure")
    assert np.flatnonzero(task.mdp.terminal).tolist() == [3]
    assert (task.mdp.start.floats > 0).all()


@pytest.mark.parametrize("length", [3, 4, 5, 8])
def test_the_chain_moves_to_the_nearer_end_by_default(length):
    task = make("chain", length=length)
    exact = Exact(task)
    left, right = 0, 1
    for state, actions in enumerate(exact.optimal):
        to_left, to_right = state, length - 1 - state
        expected = [left] * (to_left <= to_right) + [right] * (to_right <= to_left)
        assert actions == expected
    assert task.mdp.feature_names == ("orange", "white", "black")
    assert task.mdp.action_names == ("left", "right")
    assert task.layout == {"kind": "grid", "rows": 1, "columns": length}


def test_the_middle_of_an_odd_chain_says_that_both_ends_are_worth_the_same():
    rows = directions(Exact(make("chain", length=5)).rows())
    assert {(1, 0, -1), (-1, 0, 1)} <= rows
    even = directions(Exact(make("chain", length=6)).rows())
    assert not any(tuple(-v for v in row) in even for row in even)


def test_other_weights_make_the_other_policies():
    assert Exact(make("chain", weights=[0, 0, 1])).optimal == [[1]] * 5
    assert Exact(make("chain", weights=[1, 0, 0])).optimal == [[0]] * 5


@pytest.mark.parametrize(
    ("world", "parameters", "message"),
    [
        ("chain", {"length": 2}, "length must be a whole number from 3"),
        ("chain", {"weights": [1, 2]}, "weights must have one entry for each of the 3"),
        (
            "six-cell",
            {"terminal": "never"},
            "terminal must be 'once', 'self-loop' or 'silent'",
        ),
        ("six-cell", {"discount": 2}, "discount must be"),
        ("uvm-failure", {"discount": "x"}, "discount must be"),
    ],
)
def test_bad_parameters_are_one_line(world, parameters, message):
    with pytest.raises(InvalidInput, match=message):
        make(world, **parameters)


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
def test_bad_parameters_of_ball_sorting_are_one_line(parameters, message):
    with pytest.raises(InvalidInput, match=message):
        make("ball-sorting", **parameters)
