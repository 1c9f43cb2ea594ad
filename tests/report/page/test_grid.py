"""What cells of a grid mean: goals, worse ends, falls."""

import gymnasium
import pytest

from didact import from_gymnasium, make, solve
from didact.planning.paths import kinds_of_ends
from didact.report.page.grid import falls
from didact.report.page.lesson import task_fragment
from didact.report.page.scene import scene_of


@pytest.mark.parametrize("slippery", [False, True])
@pytest.mark.parametrize("map_name", ["4x4", "8x8"])
def test_the_lake_has_its_goal_and_its_holes(map_name, slippery):
    options = {"map_name": map_name, "is_slippery": slippery}
    task = from_gymnasium("FrozenLake-v1", **options)
    letters = gymnasium.make("FrozenLake-v1", **options).unwrapped.desc.ravel().tolist()
    kinds = kinds_of_ends(task)
    assert kinds == {
        i: {b"H": "worse", b"G": "goal"}[letter]
        for i, letter in enumerate(letters)
        if letter in (b"H", b"G") and i in kinds
    }
    assert kinds[len(letters) - 1] == "goal"
    assert falls(task) == set()


def test_the_cliff_is_a_fall_and_no_wall():
    task = from_gymnasium("CliffWalking-v1")
    assert falls(task) == {(3, column) for column in range(1, 11)}
    assert kinds_of_ends(task) == {47: "end"}
    assert kinds_of_ends(task, solve(task)) == {47: "goal"}
    assert scene_of(task, solve(task)).signs == {"goal", "fall"}


def test_walls_are_no_falls():
    task = make("random-grid", size=6, n_features=3, seed=1, walls="0.2")
    assert falls(task) == set()


def test_a_notebook_draws_them_apart():
    html = task_fragment(from_gymnasium("FrozenLake-v1"))
    assert html.count("class=&quot;hole&quot;") == 4
    assert html.count("class=&quot;flag&quot;") == 1
