"""Lessons as the studio shows them: the demonstrations are those that `check` accepts."""

import pytest

from didact import check, frontier, make, teach
from didact.app.lessons import frontier_of, read_settings, taught
from didact.errors import DidactError, InvalidInput


def test_a_lesson_teaches_and_is_as_small_as_that_of_teach():
    task = make("random-grid", size=5, n_features=4, seed=1)
    told = taught(task, {})
    assert check(task, told["demonstrations"]).teaches
    assert len(told["demonstrations"]) == len(teach(task, teacher="exact").demonstrations)
    assert told["verified"].startswith("proved: ")
    assert told["html"].count('class="demo ') == len(told["demonstrations"])
    assert "<script" not in told["html"]


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
    [None, [], {"loss": 1}, {"teacher": "random"}, {"cost": 3}, {"horizon": 0}, {"horizon": "9"}],
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
