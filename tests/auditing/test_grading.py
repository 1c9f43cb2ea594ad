"""Grades of answers: what follows from them, and what is refused."""

from fractions import Fraction

import pytest

import didact
from didact.auditing import exam
from didact.errors import InvalidParameter


@pytest.fixture(scope="module")
def sides():
    return exam(didact.make("six-cell"))


@pytest.fixture(scope="module")
def actions():
    return exam(didact.make("six-cell"), ask="actions")


def right(questions):
    return [q.key for q in questions.questions]


def test_right_answers_pass(sides, actions):
    for questions in (sides, actions):
        found = questions.grade(right(questions))
        assert (found.verdict, found.same, found.n_asked) == ("pass", True, len(questions))
        assert found.statement == questions.statement
        assert questions.grade(dict(enumerate(right(questions)))).passed


def test_a_wrong_side_fails_with_its_cost(sides):
    answers = right(sides)
    answers[1] = "equal"
    found = sides.grade(answers)
    assert (found.verdict, found.question, found.answer) == ("fail", 1, "equal")
    assert found.situation.exact_cost == Fraction(67149, 10000)
    assert found.situation.better == 1
    assert found.to_dict()["situation"]["exact_cost"] == "67149/10000"


def test_a_wrong_answer_fails_though_others_are_open(sides, actions):
    assert sides.grade({0: "equal"}).verdict == "fail"
    wrong = next(a for a in range(4) if a not in actions.questions[0].key)
    assert actions.grade({0: wrong}).verdict == "fail"


def test_open_questions_decide_nothing(sides):
    found = sides.grade([right(sides)[0], None])
    assert found.verdict == "undecided"
    assert found.reason == "1 question of 2 is not answered"


def test_the_costliest_wrong_action_is_named(actions):
    question = actions.questions[0]
    found = actions.grade({0: [0, 1, 2, 3]})
    worst = max(range(4), key=lambda a: question.costs[a])
    assert found.situation.action == worst
    assert found.situation.cost == float(question.costs[worst])


def test_an_action_that_is_left_out_costs_nothing_and_is_not_the_same():
    task = didact.make("uvm-failure")
    questions = exam(task, ask="actions")
    at = next(i for i, q in enumerate(questions.questions) if len(q.key) > 1)
    answers = right(questions)
    answers[at] = answers[at][:1]
    found = questions.grade(answers)
    assert (found.verdict, found.same) == ("fail", False)
    assert (found.situation.action, found.situation.cost) == (None, 0.0)
    assert found.situation.better == questions.questions[at].key[1]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (["first"], "answers must be to each of the 2 questions"),
        (["first", "frist"], "did you mean 'first'"),
        (["first", 1], "answers\\[1\\] must be 'first', 'second' or 'equal'"),
        ({7: "first"}, "answers must be to questions 0 to 1"),
        ("first", "answers must be a list"),
    ],
)
def test_what_is_no_answer_is_refused(sides, answers, message):
    with pytest.raises(InvalidParameter, match=message):
        sides.grade(answers)


@pytest.mark.parametrize("answer", [9, -1, True, "up", [], [7], ["up"], 1.5])
def test_what_is_no_action_is_refused(actions, answer):
    with pytest.raises(InvalidParameter, match=r"answers\[0\] must"):
        actions.grade({0: answer})
