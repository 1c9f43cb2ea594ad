"""Exams in files: read back as they were, and refused where they contradict themselves."""

import json

import pytest

import didact
from didact.errors import InvalidFile
from tests.laws.test_exams import world


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
