"""Float mode says what it cannot decide, and no choice of units hides a feature from it."""

from fractions import Fraction

import numpy as np
import pytest

from didact import MDP, Task, check, equivalence_class, load_lesson, teach
from didact.report.words.lessons import lesson_line

BANDIT = [
    [["0", "0", "1/10000000", "0"], ["0", "0", "0", "0"], ["0", "1/500", "1/500000", "0"],
     ["2000000", "0", "1/1000000", "-3/10"]]
]  # fmt: skip
"""One state, four actions; features of sizes 1e-7 to 2e6, action values apart by 0.2 and more."""

RING = [
    [["1/1000000", "0"], ["0", "500"]],
    [["1/1000000", "0"], ["1/1000000", "100"]],
    [["1/1000000", "1000"], ["-3/10000000", "-2000"]],
    [["1/2000000", "0"], ["1/500000", "2000"]],
]
RING_MOVES = [[2, 0], [3, 2], [1, 0], [2, 3]]


def ring() -> Task:
    moves = [[[int(t == s) for t in range(4)] for s in pair] for pair in RING_MOVES]
    return Task(MDP(moves, RING, "0.99", start=3), ["1000000", "1/500"])


def test_features_of_very_different_sizes_are_balanced():
    mdp = MDP([[[1]] * 4], BANDIT, "0.99")
    task = Task(mdp, ["-1/1000000", "7000007/10000", "-2000000", "7/10"])
    bec = equivalence_class(task, arithmetic="float", scope="all")
    assert bec.n_close_calls == 0
    exact = equivalence_class(task, arithmetic="exact", scope="all")
    assert bec.cone.facets == exact.cone.facets
    for facet in bec.cone.facet_rows():
        np.testing.assert_allclose(bec.rows.normals[facet], exact.rows.normals[facet], rtol=1e-9)
    lesson = teach(task, arithmetic="float", horizon=1, scope="all")
    assert lesson.status == "complete"


def test_a_float_lesson_is_never_called_complete_where_it_is_partial():
    task = ring()
    assert teach(task, arithmetic="exact", horizon=1, scope="all").status == "partial"
    assert teach(task, arithmetic="float", horizon=1, scope="all").status != "complete"


@pytest.fixture
def near_tie():
    """Two actions apart by 1e-17, with different features: floats take them for a tie."""
    moves = [[[0, 1], [0, 1]], [[0, 0], [0, 0]]]
    mdp = MDP(moves, [[[1, 0], [0, 1]], [[0, 0], [0, 0]]], "0.9", terminal=[1])
    return Task(mdp, ["1", "99999999999999999/100000000000000000"])


def test_close_calls_are_counted_and_told(near_tie, tmp_path):
    assert teach(near_tie).status == "complete"
    lesson = teach(near_tie, arithmetic="float")
    assert (lesson.status, lesson.n_close_calls) == ("undecided", 1)
    assert not lesson.is_complete
    lesson.save(tmp_path / "lesson.json")
    again = load_lesson(tmp_path / "lesson.json")
    assert (again.status, again.n_close_calls) == ("undecided", 1)
    verdict = check(near_tie, lesson.demonstrations, arithmetic="float")
    assert (verdict.teaches, verdict.n_close_calls, verdict.n_open) == (False, 1, 0)


def test_actions_that_count_the_same_are_no_close_calls():
    """Equal counts are a tie whatever the weights: nothing is left to be decided."""
    moves = [[[0, 1], [0, 1]], [[0, 0], [0, 0]]]
    mdp = MDP(moves, [["0.1", 0], [0, 1]], "0.9", terminal=[1])
    lesson = teach(Task(mdp, ["0.3", "-0.7"]), arithmetic="float")
    assert (lesson.status, lesson.n_close_calls) == ("complete", 0)


def crossing(discount: str) -> Task:
    """The start leads to a state that pays 9 or to one that pays 3, both into an endless loop."""
    moves = np.zeros((4, 2, 4), dtype=int)
    moves[0, 0, 1] = moves[0, 1, 2] = moves[1, :, 3] = moves[2, :, 3] = moves[3, :, 3] = 1
    mdp = MDP(moves, [[0, 0], [3, 0], [0, 3], [1, 1]], discount, start=0)
    return Task(mdp, [3, 1])


@pytest.mark.parametrize("discount", ["0.000000001", "0.999999", "0.999999999999"])
def test_a_witness_loses_what_exact_arithmetic_says(discount):
    """6 one step later, which floats do not see beside values of 1e12."""
    task = crossing(discount)
    options = {"horizon": 1, "budget": 1, "starts": [1]}
    proved, guessed = (teach(task, arithmetic=a, **options) for a in ("exact", "float"))
    assert proved.uncovered
    for lesson in (proved, guessed) if guessed.uncovered else (proved,):
        assert lesson.loss == pytest.approx(6 * float(Fraction(discount)), rel=1e-12)
        assert not lesson.is_loss_vague


def test_a_loss_with_few_digits_says_so(monkeypatch, tmp_path):
    """Where fractions cost too much the error bound goes with the loss, into files too."""
    monkeypatch.setattr("didact.planning.loss.is_exact_affordable", lambda *_: False)
    task = crossing("0.999999")
    lesson = teach(task, horizon=1, budget=1, starts=[1], arithmetic="float")
    assert lesson.is_loss_vague
    assert abs(lesson.loss - 6) <= lesson.loss_error
    lesson.save(tmp_path / "lesson.json")
    assert load_lesson(tmp_path / "lesson.json").loss_error == lesson.loss_error


def test_undecided_lessons_that_seem_partial_say_what_seems_open():
    """Floats do not know whether anything is open, so nothing is called partial or enough."""
    moves = [[[0, 1], [0, 1]], [[0, 0], [0, 0]]]
    tiny = "99999999999999999/100000000000000000"
    mdp = MDP(moves, [[[1, 0], [0, 1]], [[0, 0], [0, 0]]], "0.9", terminal=[1])
    lesson = teach(Task(mdp, ["1", tiny]), arithmetic="float", teacher="random", budget=1)
    assert lesson.uncovered
    assert lesson.status == "undecided"
    line = lesson_line(Task(mdp, ["1", tiny]), lesson, None)
    assert "NOT taught" in line
    assert "up to 1 close call that floats cannot decide" in line


def test_what_floats_see_both_open_and_implied_is_a_close_call():
    """Two rows 1e-9 apart: the open one follows from the other, as far as floats can tell."""
    features = [
        [["0.0002", -3], ["-0.9998", -3], ["0.0002", -2]],
        [[-1, -3], [1, -3], [-1, -3]],
    ]
    moves = [[[0, 1], [1, 0], [0, 1]], [[0, 1], [1, 0], [1, 0]]]
    task = Task(MDP(moves, features, "0.000000001", start=1), [0, 3])
    assert teach(task, arithmetic="exact", horizon=1).is_complete
    lesson = teach(task, arithmetic="float", horizon=1)
    assert (lesson.status, len(lesson.uncovered), lesson.witness) == ("undecided", 1, None)
    assert not check(task, lesson, arithmetic="float").teaches


def test_rows_apart_by_less_than_the_error_bound_are_not_called_one():
    """Two facets 1e-9 apart beside counts of 1e17: floats see one direction and cannot vouch."""
    moves = [[[0, 0, 1], [0, 1, 0]], [[0, 0, 0]] * 2, [[1, 0, 0], [0, 1, 0]]]
    features = [
        [[-20001, -1, -200000000], [-20001, 1, -199999999]],
        [[10000, 1, -200000000]] * 2,
        [[0, 2, 0], [0, 2, -1]],
    ]
    task = Task(MDP(moves, features, "0.999999999", terminal=[1], start=2), [-1, 3, -2])
    options = {"horizon": 1, "scope": "all"}
    assert teach(task, arithmetic="exact", **options).status == "partial"
    assert teach(task, arithmetic="float", **options).status == "undecided"
