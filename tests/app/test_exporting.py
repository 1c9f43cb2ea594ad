"""Exports: files are read back, and the code makes the very same world and lesson."""

import json
import shlex
from functools import cache

import pytest

from didact import load_lesson, load_task, make
from didact.app.exporting import exported
from didact.app.painting import read_painting
from didact.app.studio import MEADOW
from didact.app.subjects import read_subject
from didact.mdp.files import task_document

QUESTIONS = [
    {"painting": {**MEADOW, "starts": [0, 8], "slip": "1/7"}, "settings": {"cost": "pairs"}},
    {"painting": dict(MEADOW)},
    {"world": "random-grid", "parameters": {"size": 4, "discount": "9/10"}},
]


@cache
def files_of(number: int) -> dict[str, str]:
    """What is exported for a question, which several tests look at."""
    return exported(read_subject(QUESTIONS[number]), QUESTIONS[number])


@pytest.mark.parametrize("number", range(len(QUESTIONS)))
def test_python_makes_the_same_world(number):
    made: dict = {}
    exec(files_of(number)["python"], made)
    assert task_document(made["task"]) == task_document(read_subject(QUESTIONS[number]))
    wanted = json.loads(files_of(number)["lesson"])["demonstrations"]
    assert [[list(pair) for pair in each] for each in made["lesson"].demonstrations] == wanted


def test_the_command_does_the_same(didact, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = files_of(0)
    (tmp_path / "task.json").write_text(files["task"])
    answer = didact(*shlex.split(files["command"])[1:])
    assert answer.code == 3  # two starts leave something open
    written = json.loads((tmp_path / "lesson.json").read_text())
    assert written["demonstrations"] == json.loads(files["lesson"])["demonstrations"]


def test_files_are_read_back(tmp_path):
    files = files_of(1)
    for name in ("task", "lesson"):
        (tmp_path / f"{name}.json").write_text(files[name])
    task = load_task(tmp_path / "task.json")
    assert task_document(task) == task_document(read_painting(dict(MEADOW)).task())
    assert load_lesson(tmp_path / "lesson.json").is_complete
    assert files["page"].startswith("<!doctype html>")
    assert files["picture"].lstrip().startswith("<svg xmlns=")
    assert ".f0 { fill: var(--f3); }" in files["picture"]


def test_families_and_worlds_without_a_picture():
    family = {"world": "random-grid", "parameters": {"size": 2, "members": 2}}
    for question in ({"world": "garnet", "parameters": {"n_states": 4}}, family):
        files = exported(read_subject(question), question)
        assert files["picture"] is None
        assert files["page"]
        assert make(question["world"], **question["parameters"])
