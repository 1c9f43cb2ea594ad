"""Lessons of several kinds read back as they were written, and damaged files are refused."""

import json

import pytest

import didact
from didact.errors import InvalidFile

KINDS = ["demonstrations", "comparisons", "preferences"]


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
    lesson = didact.teach(task, **options)
    path = tmp_path / "mix.json"
    lesson.save(path)
    again = didact.load_lesson(path)
    assert type(again) is didact.MixedLesson
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
        ({"why": [[3], []]}, "why"),
        ({"cost": -1}, "must not be negative"),
        ({"status": "done"}, "status"),
        ({"settings": []}, "settings must be an object"),
        ({"witness": 5}, "witness must be a list"),
        ({"hardest": "x"}, "hardest"),
        ({"proof": 3}, "proof must be an object"),
    ],
)
def test_damaged_files_are_refused_in_one_line(change, words, tmp_path):
    lesson = didact.teach(didact.make("six-cell"), feedback=["comparisons"])
    path = tmp_path / "mix.json"
    path.write_text(json.dumps({**lesson.document(), **change}))
    with pytest.raises(InvalidFile, match=words) as raised:
        didact.load_lesson(path)
    assert "\n" not in str(raised.value)
    whole = lesson.document()
    for name in whole.keys() - {"format", "items", "proof"}:
        path.write_text(json.dumps({k: v for k, v in whole.items() if k != name}))
        with pytest.raises(InvalidFile):
            didact.load_lesson(path)
