"""Lesson files say what `Lesson.save` writes, in its types, or are refused in one line."""

import json

import pytest

import didact
from didact.errors import InvalidFile
from didact.teaching import load_lesson


@pytest.fixture(scope="module")
def document():
    return didact.teach(didact.make("six-cell"), horizon=2, budget=1).document()


def written(tmp_path, document):
    path = tmp_path / "lesson.json"
    path.write_text(json.dumps(document))
    return path


def test_it_reads_back(tmp_path, document):
    assert load_lesson(written(tmp_path, document)).document() == document


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"task": 3}, "task must be text; it is 3"),
        ({"status": "done"}, "status must be"),
        ({"gains": ["1"]}, "gains must be a whole number"),
        ({"gains": 1}, "gains must be a list"),
        ({"closed": "no"}, "closed must be True or False"),
        ({"n_facets": 1.5}, "n_facets must be a whole number"),
        ({"n_facets": -1}, "n_facets must be a whole number"),
        ({"n_equalities": True}, "n_equalities must be a whole number"),
        ({"n_close_calls": "3"}, "n_close_calls must be a whole number"),
        ({"n_demonstrations": 7}, "n_demonstrations must be 1, as many as it shows; it is 7"),
        ({"n_pairs": True}, "n_pairs must be"),
        ({"loss": "Infinity"}, "loss must be a finite number"),
        ({"loss": True}, "loss must be a finite number"),
        ({"volumes": ["nan"]}, "volumes must be a finite number"),
        ({"settings": [["scope", "all"]]}, "an object is expected"),
        ({"uncovered": [{"state": "0"}]}, "state must be a whole number"),
        ({"facets": {}}, "facets must be a list"),
    ],
)
def test_what_a_lesson_never_says_is_refused(tmp_path, document, changed, message):
    with pytest.raises(InvalidFile, match=message) as told:
        load_lesson(written(tmp_path, {**document, **changed}))
    assert "\n" not in str(told.value)
    assert "is not a whole didact.lesson/1 file" in str(told.value)


def test_numbers_beyond_floats_are_refused(tmp_path, document):
    path = written(tmp_path, {**document, "loss": 0.125})
    path.write_text(path.read_text().replace("0.125", "1e400"))
    with pytest.raises(InvalidFile, match="numbers must be smaller than 1e308"):
        load_lesson(path)
