"""Exams in the studio: the key is not sent, right answers pass, a wrong one fails."""

import pytest

from didact import exam, make, solve
from didact.app.examining import asked_exam, audited_policy, graded_exam
from didact.errors import InvalidInput

TASK = make("random-grid", size=3, n_features=3, seed=2)


@pytest.mark.parametrize("ask", ["comparisons", "actions"])
def test_right_answers_pass_and_a_wrong_one_fails(ask):
    sheet = asked_exam(TASK, {"ask": ask})
    assert all("key" not in each and "costs" not in each for each in sheet["questions"])
    made = exam(TASK, ask=ask)
    right = [list(q.key) if isinstance(q.key, tuple) else q.key for q in made.questions]
    assert graded_exam(TASK, {"ask": ask, "answers": right})["verdict"] == "pass"
    wrong = {"first": "second", "second": "first", "equal": "first"}
    first = wrong[right[0]] if ask == "comparisons" else [a for a in range(4) if a not in right[0]]
    graded = graded_exam(TASK, {"ask": ask, "answers": [first, *right[1:]]})
    assert (graded["verdict"], graded["question"]) == ("fail", 0)
    assert graded["key"] == right


def test_policies_are_audited():
    best = solve(TASK.mdp, TASK.true_weights).optimal.argmax(axis=1).tolist()
    assert audited_policy(TASK, {"policy": best})["verdict"] == "pass"
    worst = solve(TASK.mdp, TASK.true_weights).action_values.argmin(axis=1).tolist()
    assert audited_policy(TASK, {"policy": worst})["verdict"] == "fail"


@pytest.mark.parametrize("given", [{"ask": "preferences"}, {"answers": []}, {"answers": "x"}])
def test_answers_are_checked(given):
    with pytest.raises(InvalidInput):
        graded_exam(TASK, given)


@pytest.mark.parametrize("policy", [None, [0], [9] * 9, ["up"] * 9, {}])
def test_uploaded_policies_are_checked(policy):
    with pytest.raises(InvalidInput):
        audited_policy(TASK, {"policy": policy})
