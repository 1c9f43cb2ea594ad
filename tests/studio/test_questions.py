"""Questions of the studio: every one takes what a page sends and answers with plain JSON."""

import json

import pytest

from didact import Family, make
from didact.errors import InvalidInput
from didact.mdp.files import family_document, task_document
from didact.studio.questions import MEADOW, QUESTIONS, first_world
from didact.studio.worlds import opened, read_subject


def test_the_first_world_is_what_was_named(tmp_path):
    assert first_world(None, None) == {"painting": dict(MEADOW)}
    path = tmp_path / "task.json"
    make("garnet", n_states=5).save(path)
    for source, parameters in ((str(path), {}), ("Taxi-v4", {}), ("random-grid", {"size": 4})):
        kept = json.loads(json.dumps(first_world(source, parameters)))
        wanted = task_document(make(source, **parameters))
        assert {**task_document(read_subject(kept)), "name": ""} == {**wanted, "name": ""}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("given", [None, 3, "x", [], {}, {"painting": None}, {"world": "x"}])
def test_nonsense_is_refused_in_one_line(question, given):
    with pytest.raises(InvalidInput):
        QUESTIONS[question](given)


def test_worlds_come_by_name_by_document_and_painted():
    task = make("random-grid", size=4, seed=2)
    named = read_subject({"world": "random-grid", "parameters": {"size": 4, "seed": 2}})
    given = read_subject({"task": task_document(task)})
    painted = read_subject(opened(task, {})["subject"])
    assert all(task_document(each) == task_document(task) for each in (named, given, painted))


def test_families_come_by_name_and_by_document():
    family = make("random-grid", size=3, members=3)
    named = read_subject({"world": "random-grid", "parameters": {"size": "3", "members": "3"}})
    given = read_subject({"task": family_document(family)})
    for found in (named, given):
        assert isinstance(found, Family)
        assert family_document(found)["members"] == family_document(family)["members"]


def test_questions_about_one_world_make_it_and_its_class_once(monkeypatch):
    from didact.studio import lessons, worlds

    made, classes = [], []
    monkeypatch.setattr(worlds, "grid_task", _counting(worlds.grid_task, made))
    monkeypatch.setattr(lessons, "equivalence_class", _counting(lessons.equivalence_class, classes))
    lessons.class_for.cache_clear()
    for n, weight in enumerate(("-2", "-3", "-2"), start=1):
        painted = {
            **MEADOW,
            "name": "once",
            "features": [["grass", weight, 3], *MEADOW["features"][1:]],
        }
        question = json.loads(json.dumps({"painting": painted}))
        QUESTIONS["look"](question)
        shown = QUESTIONS["teach"](question)["demonstrations"]
        for i in range(3):
            QUESTIONS["fit"]({**question, "demonstrations": shown[:i]})
        assert (len(made), len(classes)) == (n, n)


def _counting(function, calls):
    def counted(*arguments, **options):
        calls.append(arguments)
        return function(*arguments, **options)

    return counted


def test_a_world_stays_what_it_was_named_where_it_cannot_be_painted():
    for version in ("v3", "v4"):  # of which a Gymnasium has one
        taxi = {"world": f"Taxi-{version}", "parameters": {}}
        assert opened(make(taxi["world"]), taxi)["subject"] == taxi
    kept = opened(make("garnet", n_states=4), {"world": "./mine.json"})["subject"]
    assert kept == {"task": task_document(make("garnet", n_states=4))}


@pytest.mark.parametrize(
    "source",
    [
        "os:system", "didact.worlds:make", "module:Env-v0", "./task.json", "/etc/passwd",
        "~/x.json", "../x.json", "task.json", "gymnasium", "grid", "nothing", "Nothing-v0", "", 3,
        None, ["a"], "Taxi-v4\n", "Taxi-v4:x",
    ],
)  # fmt: skip
def test_files_modules_and_unknown_names_are_refused(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make("six-cell").save("task.json")
    with pytest.raises(InvalidInput, match="world must be the name"):
        read_subject({"world": source, "parameters": {}})


@pytest.mark.parametrize("value", ["a", "/etc/passwd", None, [1], {"a": 1}, 10**10, "1" * 20])
def test_parameters_are_numbers(value):
    with pytest.raises(InvalidInput, match="parameter"):
        read_subject({"world": "random-grid", "parameters": {"size": value}})


@pytest.mark.parametrize("name", ["size=3, x=print(1), y", "a b", "a\n", "", "size)#"])
def test_names_of_parameters_are_words(name):
    """They stand in the Python that the page shows to be copied; environments may take any."""
    with pytest.raises(InvalidInput, match="the name of a parameter must be a word"):
        read_subject({"world": "FrozenLake-v1", "parameters": {name: 1}})


def test_members_that_are_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make("six-cell").save("task.json")
    document = family_document(Family([make("six-cell")]))
    with pytest.raises(InvalidInput, match="one is a path"):
        read_subject({"task": {**document, "members": ["task.json"]}})


@pytest.mark.parametrize(
    "question", [None, [], {}, {"painting": {}, "world": "chain"}, {"task": 3}, {"painting": 1}]
)
def test_a_question_names_one_world(question):
    with pytest.raises(InvalidInput):
        read_subject(question)


def test_large_worlds_are_refused():
    with pytest.raises(InvalidInput, match="at most 5000 states"):
        read_subject({"world": "random-grid", "parameters": {"size": 80}})
