"""Games with a person as the learner: what is asked is not shown, and scores are right."""

import numpy as np
import pytest

from didact import exam, make, solve
from didact.errors import InvalidInput
from didact.mdp import as_demonstrations
from didact.studio.playing import (
    asked_exam,
    audited_policy,
    graded_exam,
    next_asked,
    quiz,
    random_lesson,
    score,
)

TASK = make("random-grid", size=4, n_features=2, seed=1)
OPTIMAL = solve(TASK.mdp, TASK.true_weights, arithmetic="exact").optimal


def test_states_asked_about_are_not_shown_and_can_be_wrong():
    asked = quiz(TASK, {"seed": 3, "n": 40})
    shown = {state for each in asked["demonstrations"] for state, _ in each}
    assert asked["states"]
    assert not shown & {*asked["states"]}
    assert all(not OPTIMAL[state].all() for state in asked["states"])
    assert len(asked["places"]) == len(asked["states"])
    assert asked["states"] == quiz(TASK, {"seed": 3, "n": 40})["states"]
    assert 'class="policy"' not in asked["html"]


def test_answers_are_right_where_they_are_optimal():
    asked = quiz(TASK, {"n": 6})
    answers = [[state, i % 4] for i, state in enumerate(asked["states"])]
    told = score(TASK, {"demonstrations": asked["demonstrations"], "answers": answers})
    assert told["right"] == [bool(OPTIMAL[state, action]) for state, action in answers]
    assert told["best"] == [np.flatnonzero(OPTIMAL[state]).tolist() for state, _ in answers]
    assert told["birl"] == pytest.approx(len(answers))  # a complete lesson teaches a learner
    assert 0 <= told["random"] <= len(answers)


def test_a_random_lesson_has_the_same_size():
    shown = as_demonstrations([[(0, 0)], [(1, 3), (2, 0)]], TASK.mdp)
    drawn = random_lesson(TASK, shown, 4)
    assert [len(each) for each in drawn] == [1, 2]
    assert all(OPTIMAL[state, action] for each in drawn for state, action in each)


def test_a_strategy_asks_until_nothing_is_left():
    told = next_asked(TASK, {"answers": []})
    assert 0 <= told["state"] < 16
    everything = [[state, int(OPTIMAL[state].argmax())] for state in range(16)]
    last = next_asked(TASK, {"answers": everything, "strategy": "random"})
    assert last["state"] is None
    assert last["wrong"] <= told["wrong"]


@pytest.mark.parametrize("given", [{"strategy": "exact"}, {"answers": [[0, 9]]}, {"seed": -1}])
def test_questions_are_checked(given):
    with pytest.raises(InvalidInput):
        next_asked(TASK, given)


EXAMINED = make("random-grid", size=3, n_features=3, seed=2)


@pytest.mark.parametrize("ask", ["comparisons", "actions"])
def test_right_answers_pass_and_a_wrong_one_fails(ask):
    sheet = asked_exam(EXAMINED, {"ask": ask})
    assert all("key" not in each and "costs" not in each for each in sheet["questions"])
    made = exam(EXAMINED, ask=ask)
    right = [list(q.key) if isinstance(q.key, tuple) else q.key for q in made.questions]
    assert graded_exam(EXAMINED, {"ask": ask, "answers": right})["verdict"] == "pass"
    wrong = {"first": "second", "second": "first", "equal": "first"}
    first = wrong[right[0]] if ask == "comparisons" else [a for a in range(4) if a not in right[0]]
    graded = graded_exam(EXAMINED, {"ask": ask, "answers": [first, *right[1:]]})
    assert (graded["verdict"], graded["question"]) == ("fail", 0)
    assert graded["key"] == right


def test_policies_are_audited():
    best = solve(EXAMINED.mdp, EXAMINED.true_weights).optimal.argmax(axis=1).tolist()
    assert audited_policy(EXAMINED, {"policy": best})["verdict"] == "pass"
    worst = solve(EXAMINED.mdp, EXAMINED.true_weights).action_values.argmin(axis=1).tolist()
    assert audited_policy(EXAMINED, {"policy": worst})["verdict"] == "fail"


@pytest.mark.parametrize("given", [{"ask": "preferences"}, {"answers": []}, {"answers": "x"}])
def test_answers_are_checked(given):
    with pytest.raises(InvalidInput):
        graded_exam(EXAMINED, given)


@pytest.mark.parametrize("policy", [None, [0], [9] * 9, ["up"] * 9, {}])
def test_uploaded_policies_are_checked(policy):
    with pytest.raises(InvalidInput):
        audited_policy(EXAMINED, {"policy": policy})
