"""Lessons as the studio shows them: the demonstrations are those that `check` accepts."""

import json
import shlex
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from didact import check, frontier, load_lesson, load_task, make, rollout, solve, teach
from didact.errors import DidactError, InvalidInput
from didact.mdp.files import task_document
from didact.studio.lessons import (
    exported,
    fitted,
    frontier_of,
    read_demonstrations,
    read_settings,
    rolled,
    taught,
)
from didact.studio.questions import MEADOW
from didact.studio.worlds import read_painting, read_subject


def test_a_lesson_teaches_and_is_as_small_as_that_of_teach():
    task = make("random-grid", size=5, n_features=4, seed=1)
    told = taught(task, {})
    assert check(task, told["demonstrations"]).teaches
    assert len(told["demonstrations"]) == len(teach(task, teacher="exact").demonstrations)
    assert told["verified"].startswith("proved: ")
    assert told["html"].count('class="demo ') == len(told["demonstrations"])
    assert "<script" not in told["html"]


def test_walks_are_whole_unless_they_are_to_be_cut():
    task = read_painting(dict(MEADOW)).task()
    for wish, is_whole in (({}, True), ({"trim": True}, False)):
        shown = taught(task, {"settings": wish})["demonstrations"]
        ends = []
        for each in shown:
            row = task.mdp.transitions.matrix()[each[-1][0] * task.mdp.n_actions + each[-1][1]]
            ends.append(bool(task.mdp.terminal[row.argmax()]))
        assert all(ends) == is_whole
    circling = taught(make("FrozenLake-v1"), {})["demonstrations"]
    assert all(len({*map(tuple, each)}) == len(each) for each in circling)


def test_a_horizon_is_kept_and_what_stays_open_is_told():
    task = make("FrozenLake-v1", discount=0.9)
    told = taught(task, {"settings": {"horizon": 3, "cost": "pairs"}})
    assert all(len(shown) <= 3 for shown in told["demonstrations"])
    assert not told["is_complete"]
    assert "What stays open" in told["html"]


def test_a_family_is_taught_as_one():
    told = taught(make("random-grid", size=3, members=2), {})
    assert told["is_complete"]
    assert told["html"].count('class="card member') == 2


def test_names_are_text():
    task = make("random-grid", size=3, n_features=2)
    hostile = type(task)(task.mdp, task.true_weights, name="<script>x</script>", layout=task.layout)
    assert "<script>x" not in taught(hostile, {})["html"]


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        {"loss": 1},
        {"teacher": "random"},
        {"cost": 3},
        {"horizon": 0},
        {"horizon": "9"},
        {"trim": 1},
    ],
)
def test_settings_are_checked(given):
    with pytest.raises(InvalidInput):
        read_settings(given)


def test_a_frontier_is_that_of_frontier():
    task = make("random-grid", size=3, n_features=2, seed=1)
    told = frontier_of(task, {})
    sizes = [len(point.lesson.demonstrations) for point in frontier(task).points]
    assert told["html"].count('class="card point"') == len(sizes) == len(told["points"])
    with pytest.raises(DidactError, match="one world"):
        frontier_of(make("random-grid", size=2, members=2), {})


TASK = make("random-grid", size=4, n_features=3, seed=3)
LESSON = teach(TASK, teacher="exact")
SHOWN = [[list(pair) for pair in each] for each in LESSON.demonstrations]


@pytest.mark.parametrize("n", range(len(SHOWN) + 1))
def test_verdict_bounds_and_half_spaces_follow_the_demonstrations(n):
    told = fitted(TASK, {"demonstrations": SHOWN[:n], "unit": 0, "pair": [1, 2]})
    verdict = check(TASK, LESSON.demonstrations[:n])
    assert (told["teaches"], told["n_open"]) == (verdict.teaches, verdict.n_open)
    assert (told["believer"] is None) == verdict.teaches
    scaled = [Fraction(w) / abs(TASK.true_weights.fractions()[0])
              for w in TASK.true_weights.fractions()]  # fmt: skip
    for weight, bar in zip(scaled, told["bounds"], strict=True):
        assert bar["proved"]
        assert bar["low"] is None or bar["low"] <= float(weight) + 1e-12
        assert bar["high"] is None or bar["high"] >= float(weight) - 1e-12
    assert (np.array(told["normals"]).reshape(-1, 3) @ TASK.weights >= -1e-12).all()
    assert told["picture"].lstrip().startswith("<svg")


def test_bars_close_in_as_more_is_shown():
    widths = []
    for n in range(len(SHOWN) + 1):
        bars = fitted(TASK, {"demonstrations": SHOWN[:n], "unit": 0})["bounds"]
        ends = [(bar["low"], bar["high"]) for bar in bars]
        widths.append([-np.inf if low is None else low for low, _ in ends])
    assert all((np.array(a) <= np.array(b) + 1e-9).all() for a, b in zip(widths, widths[1:]))  # noqa: B905, RUF007


def test_wrong_steps_are_named():
    plan = solve(TASK.mdp, TASK.true_weights)
    state = int(np.flatnonzero(~plan.optimal.all(axis=1))[0])
    action = int(np.flatnonzero(~plan.optimal[state])[0])
    told = fitted(TASK, {"demonstrations": [[[state, action]]]})
    assert not told["teaches"]
    assert told["wrong"][0]["state"] == state


def test_a_teacher_walks_on_as_rollouts_do():
    plan = solve(TASK.mdp, TASK.true_weights)
    told = rolled(TASK, {"state": 5, "length": 7})["demonstration"]
    rng = np.random.default_rng(1)
    walk = rollout(TASK.mdp, plan.optimal.argmax(axis=1), horizon=7, seed=rng, start=5)
    assert told == [list(pair) for pair in walk]


@pytest.mark.parametrize(
    "given",
    [None, 3, [3], [[]], [[[0]]], [[[0, 9]]], [[[99, 0]]], [[["0", 0]]], [[[0, 0]]] * 61,
     [[[0, 0]] * 2001]],
)  # fmt: skip
def test_demonstrations_are_checked(given):
    with pytest.raises(DidactError):
        read_demonstrations(given, TASK)


@pytest.mark.parametrize(
    "choice", [{"unit": 9}, {"unit": "x"}, {"pair": [0]}, {"pair": [1, 1]}, {"pair": [0, 9]}]
)
def test_choices_are_checked(choice):
    with pytest.raises(DidactError):
        fitted(TASK, {"demonstrations": [], **choice})


def test_families_have_no_one_picture():
    with pytest.raises(DidactError, match="one world"):
        fitted(make("random-grid", size=2, members=2), {"demonstrations": []})


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
