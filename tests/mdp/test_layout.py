"""What pictures need to know of a grid, against the layout itself."""

import numpy as np

from didact import gridworld, make
from didact.mdp.layout import (
    action_directions,
    active_feature,
    feature_letters,
    marked_starts,
    states_by_cell,
)


def test_every_state_stands_in_its_cell():
    whole = make("random-grid", size=4, seed=0)
    assert states_by_cell(whole).tolist() == np.arange(16).reshape(4, 4).tolist()
    walled = gridworld(["a#b", "aab"], {"a": -1, "b": 1})
    cells = states_by_cell(walled)
    assert cells[0, 1] == -1
    assert sorted(cells[cells >= 0].tolist()) == list(range(walled.mdp.n_states))
    for state, cell in enumerate(walled.layout["cells"]):
        assert cells[divmod(cell, 3)] == state


def test_actions_point_where_they_lead_in_the_middle_of_a_grid():
    task = make("random-grid", size=3, seed=0)
    cells, middle = states_by_cell(task), 4
    following = np.asarray(task.mdp.transitions.successors).reshape(9, 4)
    for action, (right, down) in enumerate(action_directions(task.mdp)):
        assert cells[1 + down, 1 + right] == following[middle, action]


def test_a_cell_shows_the_one_feature_that_is_on():
    task = make("six-cell")
    for state in range(6):
        feature = active_feature(task.mdp, state)
        on = np.flatnonzero(task.mdp.features.floats[state])
        assert ([] if feature is None else [feature]) == on.tolist()[: len(on) == 1]
    assert feature_letters(task.mdp) == ["w", "g"]
    drawn = gridworld(["..#", "S.G"], {".": -1, "S": -1, "G": 10}, terminal="G")
    assert feature_letters(drawn.mdp) == [".", "S", "G"]
    wide = gridworld([".界"], {".": -1, "界": 1})
    assert feature_letters(wide.mdp) == ["a", "b"]


def test_starts_are_marked_where_they_say_something():
    assert not marked_starts(make("random-grid", size=3, seed=0).mdp).any()
    one = gridworld(["ab"], {"a": -1, "b": 1}, start="a")
    assert marked_starts(one.mdp).tolist() == [True, False]
