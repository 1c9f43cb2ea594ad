"""States and actions have one name each, in every message."""

import pytest

from didact import MDP, Task, make
from didact.mdp import Transitions
from didact.mdp.naming import (
    action_words,
    episode_numbers,
    numbered_state,
    pair_words,
    state_words,
    step_words,
)


def grid_task(**names):
    moves = [[s, a, s, 1] for s in range(6) for a in range(4)]
    mdp = MDP(Transitions.from_rows(moves, 6, 4), [[1]] * 6, "1/2", **names)
    return Task(mdp, [1], layout={"kind": "grid", "rows": 2, "columns": 3})


def test_cells_and_directions_are_read_from_the_grid_and_counted_from_one():
    task = grid_task()
    assert pair_words(task, 5, 3) == "right in row 2, column 3"
    assert [action_words(task, a) for a in range(4)] == ["up", "down", "left", "right"]
    assert numbered_state(task, 5) == "state 5 (row 2, column 3)"


def test_cells_follow_the_layout_where_not_every_cell_is_a_state():
    task = make("grid", rows=["#ab", "ba#"], weights={"a": 1, "b": 0})
    cells = [divmod(cell, 3) for cell in task.layout["cells"]]
    expected = [f"row {row + 1}, column {column + 1}" for row, column in cells]
    assert [state_words(task, s) for s in range(task.mdp.n_states)] == expected


def test_without_a_grid_numbers_say_what_they_number():
    mdp = grid_task().mdp
    assert pair_words(mdp, 5, 3) == "action 3 in state 5"
    assert numbered_state(mdp, 5) == "state 5"


def test_names_that_were_given_come_first():
    names = {"state_names": list("uvwxyz"), "action_names": ["hop", "skip", "jump", "rest"]}
    task = grid_task(**names)
    assert pair_words(task, 5, 2) == pair_words(task.mdp, 5, 2) == "jump in z"
    assert numbered_state(task, 5) == "state 5 (z)"


def test_a_state_that_also_ends_is_told_apart():
    names = ["0", "1", "2", "3", "4", "4 (end)"]
    assert state_words(grid_task(state_names=names).mdp, 5) == "state 4 (end)"


def test_people_count_demonstrations_and_steps_from_one():
    assert step_words(0, 3) == "demonstration 1, step 4"
    assert step_words(2, 0, "episode") == "episode 3, step 1"


@pytest.mark.parametrize(
    ("in_the_file", "for_people"),
    [
        ((), []),
        ((0, 1, 2), ["1", "2", "3"]),
        ((1, 2), ["1", "2"]),
        ((17, 4), ["1 (17 in the file)", "2 (4 in the file)"]),
        ((1, 0), ["1 (1 in the file)", "2 (0 in the file)"]),
    ],
)
def test_people_count_episodes_from_one_and_hear_other_numbers_of_the_file(in_the_file, for_people):
    assert list(episode_numbers(in_the_file).values()) == for_people


@pytest.mark.parametrize("name", ["Taxi-v4", "MiniGrid-Empty-5x5-v0"])
def test_worlds_that_name_their_states_count_rows_and_columns_from_one_too(name):
    pytest.importorskip("minigrid")
    task = make(name)
    assert all(s.startswith("row ") for s in task.mdp.state_names)
    assert any(s.startswith("row 1, column 1") for s in task.mdp.state_names)
