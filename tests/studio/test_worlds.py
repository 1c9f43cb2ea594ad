"""Paintings: what they mean is compared with worlds that are drawn with letters."""

import re

import pytest

from didact import gridworld, make, solve
from didact.errors import InvalidInput
from didact.mdp.files import task_document
from didact.studio.questions import MEADOW
from didact.studio.worlds import looked_at, painting_of, read_painting

PAINTING = {
    "name": "yard",
    "rows": ["ab#", "aab"],
    "features": [["grass", "-1", 3], ["sand", "-1/3", 5]],
    "ends": [5],
    "starts": [0, 3],
    "slip": "0.1",
    "discount": "0.9",
}


def test_a_painting_is_the_world_that_letters_draw():
    drawn = gridworld(
        ["Sb#", "Sae"],
        {"S": -1, "a": -1, "b": "-1/3", "e": "-1/3"},
        names={"S": "grass", "a": "grass", "b": "sand", "e": "sand"},
        terminal="e",
        start="S",
        slip="0.1",
        discount="0.9",
        name="yard",
    )
    assert task_document(read_painting(PAINTING).task()) == task_document(drawn)


def test_it_is_read_and_written_without_loss():
    assert read_painting(PAINTING).document() == PAINTING
    numbers = {**PAINTING, "slip": 0, "discount": 0.5}
    assert read_painting(numbers).document() == {**PAINTING, "slip": "0", "discount": "0.5"}


@pytest.mark.parametrize(
    "settings",
    [
        {"size": 5, "seed": 3},
        {"size": (4, 6), "slip": "0.2", "walls": 4, "terminals": 2},
        {"size": 3, "n_features": 2, "slip": "1/3", "discount": "8/9"},
    ],
)
def test_a_random_grid_can_be_painted_on(settings):
    task = make("random-grid", **settings)
    again = painting_of(task).task()
    assert {**task_document(again), "name": ""} == {**task_document(task), "name": ""}
    exact = [solve(each.mdp, each.true_weights, arithmetic="exact") for each in (again, task)]
    assert exact[0].exact_values == exact[1].exact_values


@pytest.mark.parametrize("name", ["garnet", "FrozenLake-v1", "Taxi-v4", "chain"])
def test_what_is_no_plain_grid_is_not_painted(name):
    assert painting_of(make(name)) is None


def test_a_large_grid_is_not_painted():
    assert painting_of(make("random-grid", size=(31, 2))) is None


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"rows": []}, "rows"),
        ({"rows": ["ab", "a"]}, "equally long"),
        ({"rows": ["ac", "aa"]}, "rows[0]"),
        ({"rows": ["a" * 31]}, "rows[0]"),
        ({"rows": ["a"] * 31}, "rows"),
        ({"rows": ["##"]}, "no wall"),
        ({"rows": [["a"]]}, "rows[0]"),
        ({"rows": "ab"}, "rows"),
        ({"ends": [6]}, "ends[0]"),
        ({"ends": [2]}, "no walls"),
        ({"ends": [True]}, "ends[0]"),
        ({"ends": list(range(7))}, "ends"),
        ({"ends": [0, 1, 3, 4, 5]}, "does not end"),
        ({"starts": [-1]}, "starts[0]"),
        ({"features": []}, "features"),
        ({"features": [["a", "-1"]]}, "features[0]"),
        ({"features": [["a", "x", 0]]}, "weight"),
        ({"features": [["a", "1e999", 0]]}, "weight"),
        ({"features": [["a", "9" * 41, 0]]}, "weight"),
        ({"features": [["a", True, 0]]}, "weight"),
        ({"features": [["a", "1", 12]]}, "colour"),
        ({"features": [["", "1", 0]]}, "name"),
        ({"features": [["a", "1", 0], ["a", "2", 1]]}, "different names"),
        ({"slip": "2"}, "slip"),
        ({"slip": None}, "slip"),
        ({"discount": "1"}, "discount"),
        ({"name": "x" * 61}, "name"),
        ({"name": 3}, "name"),
        ({"more": 1}, "object with"),
    ],
)
def test_what_breaks_a_rule_is_refused_by_its_name(change, word):
    with pytest.raises(InvalidInput, match=re.escape(word)):
        read_painting({**PAINTING, **change}).task()


@pytest.mark.parametrize("slip", ["0", "0.2"])
def test_values_and_actions_stand_in_their_cells(slip):
    painting = read_painting({**MEADOW, "slip": slip})
    told = looked_at(painting)
    task = painting.task()
    exact = solve(task.mdp, task.true_weights, arithmetic="exact")
    signs = "".join(painting.rows)
    free = [cell for cell, sign in enumerate(signs) if sign != "#"]
    assert len(told["values"]) == len(told["optimal"]) == len(signs) == 81
    for state, cell in enumerate(free):
        assert told["values"][cell] == pytest.approx(float(exact.exact_values[state]), abs=1e-9)
        assert set(exact.optimal_actions(state)) <= set(told["optimal"][cell])
    for cell in set(range(81)) - set(free):
        assert told["values"][cell] is None
        assert told["optimal"][cell] == []


def test_the_picture_has_an_arrow_for_each_optimal_action():
    told = looked_at(read_painting(dict(MEADOW)))
    policy = re.search(r'class="policy" d="([^"]*)"', told["picture"])[1]
    assert policy.count("M") == 2 * sum(map(len, told["optimal"]))
    assert "goal" in told["key"]
