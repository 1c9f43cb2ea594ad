"""Lesson files say what `Lesson.save` writes, in its types, or are refused in one line."""

import json

import pytest

import didact
from didact.errors import InvalidFile
from didact.teaching import load_lesson

KINDS = ["demonstrations", "comparisons", "preferences"]


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
        ({"settings": [["scope", "all"]]}, "settings must be an object"),
        ({"uncovered": [{"state": "0"}]}, "state must be a whole number"),
        ({"facets": {}}, "facets must be a list"),
    ],
)
def test_what_a_lesson_never_says_is_refused(tmp_path, document, changed, message):
    with pytest.raises(InvalidFile, match=message) as told:
        load_lesson(written(tmp_path, {**document, **changed}))
    assert "is not a whole didact.lesson/1 file" in str(told.value)


def test_numbers_beyond_floats_are_refused(tmp_path, document):
    path = written(tmp_path, {**document, "loss": 0.125})
    path.write_text(path.read_text().replace("0.125", "1e400"))
    with pytest.raises(InvalidFile, match="numbers must be smaller than 1e308"):
        load_lesson(path)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("six-cell", {"feedback": KINDS}),
        ("six-cell", {"feedback": KINDS[1:], "cost": {"comparisons": "1/3"}}),
        ("six-cell", {"feedback": ["preferences"], "over_teach": True}),
        ("uvm-failure", {"feedback": ["preferences"]}),
        ("random-grid", {"feedback": ["preferences"]}),
    ],
)
def test_a_mixed_lesson_reads_back(name, options, tmp_path):
    task = didact.make(name)
    lesson = didact.teach_mixed(task, **options)
    path = tmp_path / "mix.json"
    lesson.save(path)
    again = didact.load_lesson(path)
    assert again.is_mixed
    assert again.document() == lesson.document()
    assert (again.items, again.cost, again.hardest) == (lesson.items, lesson.cost, lesson.hardest)
    assert again.witness == lesson.witness
    assert again.is_complete == lesson.is_complete
    assert didact.check(task, again).teaches == lesson.is_complete


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"items": 3}, "items must be a list"),
        ({"items": [{"kind": "wrong"}]}, "says nothing alone"),
        ({"gains": []}, "gains must be as many as items"),
        ({"facets": [{"covered_by": 0, "words": 3}]}, "a facet has words"),
        ({"cost": -1}, "must not be negative"),
        ({"status": "done"}, "status"),
        ({"settings": []}, "settings must be an object"),
        ({"witness": 5}, "witness must be a list"),
        ({"hardest": "x"}, "hardest"),
        ({"proof": 3}, "proof must be an object"),
    ],
)
def test_damaged_files_are_refused_in_one_line(change, words, tmp_path):
    lesson = didact.teach_mixed(didact.make("six-cell"), feedback=["comparisons"])
    path = tmp_path / "mix.json"
    path.write_text(json.dumps({**lesson.document(), **change}))
    with pytest.raises(InvalidFile, match=words):
        didact.load_lesson(path)
    whole = lesson.document()
    for name in whole.keys() - {"format", "items"}:
        path.write_text(json.dumps({k: v for k, v in whole.items() if k != name}))
        with pytest.raises(InvalidFile):
            didact.load_lesson(path)
