"""Exams as people make and read them."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import didact
from didact.auditing import exam
from didact.errors import InvalidFile, InvalidInput, Unsupported
from tests.laws.test_exams import world


def test_six_cells_need_two_comparisons():
    questions = exam(didact.make("six-cell"))
    assert len(questions) == questions.lower_bound == 2
    assert questions.is_fewest
    assert questions.can_pass
    assert {q.says for q in questions.questions} == {
        "a step on white is never a gain",
        "one step on grey costs at least 2.54 times a step on white",
    }
    assert repr(questions) == "Exam('six-cell', 2 questions about comparisons, proved)"


def test_words_do_not_give_the_answer_away():
    task = didact.make("random-grid", size=6, n_features=6, seed=0)
    for ask in ("comparisons", "preferences"):
        keys = {q.key for q in exam(task, ask=ask).questions}
        assert {"first", "second"} <= keys, "the better side must not always stand first"
    for question in exam(task).questions:
        assert "They differ by" in question.words
        assert not re.search("at least|better", question.words)
    shown = exam(task).document(key=False)
    assert shown["proof"] is None
    wanted = {"kind", "state", "place", "options", "labels", "words"}
    assert set(shown["questions"][0]) == wanted


def test_without_constraints_there_is_nothing_to_ask_and_everyone_passes():
    task = didact.Task(didact.MDP([[[1]]], [[1]], "0.5"), [1])
    for ask in ("comparisons", "actions", "preferences"):
        assert exam(task, ask=ask).grade([]).passed


def test_floats_give_the_same_questions_and_no_proof():
    task = didact.make("random-grid", size=4, n_features=4, seed=1)
    exact, numerical = exam(task, arithmetic="exact"), exam(task, arithmetic="float")
    asked = [[(q.angle, float(q.margin)) for q in e.questions] for e in (exact, numerical)]
    assert np.array(asked[0]) == pytest.approx(np.array(asked[1]))
    assert numerical.proof is None
    assert not numerical.is_proved
    for weights in (task.true_weights, [-w for w in task.weights]):
        grades = [e.grade(e.answers_of(weights)) for e in (exact, numerical)]
        assert grades[0].verdict == grades[1].verdict
    states = [
        [q.state for q in exam(task, ask="actions", arithmetic=how).questions]
        for how in ("exact", "float")
    ]
    assert sorted(states[0]) == sorted(states[1])


def test_floats_that_cannot_decide_pass_nobody():
    task = didact.make("uvm-failure")
    numerical = exam(task, bec=didact.equivalence_class(task, arithmetic="float"))
    right = numerical.grade([q.key for q in numerical.questions])
    assert (right.verdict == "pass") == (numerical.n_close_calls == 0)


def test_what_trajectories_cannot_show_is_named_and_passes_nobody():
    task = didact.make("random-grid", size=9, seed=0, n_features=8)
    questions = exam(task, ask="preferences")
    assert len(questions.open) == 3
    assert not questions.is_fewest
    found = questions.grade([q.key for q in questions.questions])
    assert found.verdict == "undecided"
    assert questions.open[0] in found.reason


def test_the_two_trajectories_begin_together_and_end_together():
    task = didact.make("random-grid", size=9, seed=0, n_features=8)
    moves = task.mdp.transitions
    for question in exam(task, ask="preferences").questions:
        ends = []
        for way in question.options:
            (state, action) = way[-1]
            ends.append(int(moves.successors[moves.offsets[state * 4 + action]]))
        first, second = question.options
        assert first[0][0] == second[0][0] == question.state
        assert (len(first), ends[0]) == (len(second), ends[1])


def test_preferences_need_exact_arithmetic():
    with pytest.raises(Unsupported, match="needs exact arithmetic"):
        exam(didact.make("six-cell"), ask="preferences", arithmetic="float")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ask": "action"}, "did you mean 'actions'"),
        ({"closed": 1}, "closed must be True or False"),
        ({"bec": 3}, "bec must be an EquivalenceClass"),
    ],
)
def test_what_is_no_choice_is_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        exam(didact.make("six-cell"), **options)


def test_a_sheet_and_its_key_are_two_pages(tmp_path):
    task = didact.make("uvm-failure")
    for ask in ("comparisons", "actions", "preferences"):
        questions = exam(task, ask=ask)
        sheet, key = questions.report(tmp_path / "exam.html")
        texts = [Path(page).read_text(encoding="utf-8") for page in (sheet, key)]
        assert key.endswith("exam-key.html")
        assert [text.count("<article") for text in texts] == [len(questions)] * 2
        assert 'class="right"' not in texts[0]
        questions.save(tmp_path / "exam.json")
        again = didact.load_exam(tmp_path / "exam.json")
        with pytest.raises(InvalidInput, match="give its task"):
            again.report(tmp_path / "again.html")
        again.report(tmp_path / "again.html", task=task)
        assert (tmp_path / "again.html").read_text(encoding="utf-8") == texts[0]
    family = didact.Family([task, task])
    assert exam(family).report(tmp_path / "family.html")


# Files: read back as they were, and refused where they contradict themselves


@pytest.mark.parametrize("ask", ["comparisons", "actions", "preferences"])
@pytest.mark.parametrize("seed", range(8))
def test_an_exam_reads_back(ask, seed, tmp_path):
    questions = didact.exam(world(seed), ask=ask)
    questions.save(tmp_path / "exam.json")
    again = didact.load_exam(tmp_path / "exam.json")
    assert again.document() == questions.document()
    assert again.questions == questions.questions
    right = [q.key for q in questions.questions]
    assert again.grade(right).verdict == questions.grade(right).verdict
    if ask != "actions":
        assert again.answers_of([1] * world(seed).mdp.n_features) == questions.answers_of(
            [1] * world(seed).mdp.n_features
        )


def test_numbers_of_floats_and_families_read_back(tmp_path):
    family = didact.Family([didact.make("six-cell"), didact.make("six-cell", discount="0.5")])
    for questions in (
        didact.exam(didact.make("six-cell"), arithmetic="float"),
        didact.exam(family),
    ):
        questions.save(tmp_path / "exam.json")
        assert didact.load_exam(tmp_path / "exam.json").questions == questions.questions


def edited(change):
    document = didact.exam(didact.make("six-cell")).document()
    change(document)
    return document


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(format="didact.exam/2"), "with format 'didact.exam/1'"),
        (lambda d: d.pop("closed"), "the exam has no closed"),
        (lambda d: d.update(more=1), "the exam has no entry 'more'; remove it"),
        (lambda d: d["questions"][0].update(key="equal"), "key must be 'second'"),
        (lambda d: d["questions"][0].pop("key"), "has no key"),
        (lambda d: d["questions"][0].update(costs=[1, 1]), "key must be None"),
        (lambda d: d["questions"][0].update(costs=["-1", 0]), "must not be negative"),
        (lambda d: d["questions"][0].update(normal=["1/2", "0"]), "must be whole numbers"),
        (lambda d: d["questions"][0].update(kind="action"), "kind must be 'comparison'"),
        (lambda d: d["questions"][0].update(options=[1]), "options must be two"),
        (lambda d: d["questions"][0].update(labels=["up"]), "a label and a cost for each of 2"),
        (lambda d: d.update(questions=3), "questions must be a list"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(change, message, tmp_path):
    path = tmp_path / "exam.json"
    path.write_text(json.dumps(edited(change)))
    with pytest.raises(InvalidFile, match=message):
        didact.load_exam(path)
