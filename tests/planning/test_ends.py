"""Ends are told apart by what they pay and by where optimal actions lead."""

import pytest

from didact import MDP, Task, solve
from didact.planning.ends import kinds_of_ends
from didact.worlds import gridworld


def two_ends(rewards, pays: str):
    """In the middle of three cells; left and right end it."""
    moves = [[[0, 0, 0]] * 2, [[1, 0, 0], [0, 0, 1]], [[0, 0, 0]] * 2]
    by_state = [[rewards[0]], [0], [rewards[1]]]
    by_action = [[[0], [0]], [[rewards[0]], [rewards[1]]], [[0], [0]]]
    mdp = MDP(
        moves,
        by_state if pays == "states" else by_action,
        "0.9",
        start=1,
        terminal=[0, 2],
        action_names=["left", "right"],
    )
    return Task(mdp, [1], layout={"kind": "grid", "rows": 1, "columns": 3})


@pytest.mark.parametrize("pays", ["states", "actions"])
@pytest.mark.parametrize(
    ("rewards", "kinds"),
    [
        ((2, -1), ("goal", "worse")),
        ((2, 1), ("goal", "goal")),
        ((-5, -1), ("worse", "goal")),
        ((3, 3), ("end", "end")),
    ],
)
def test_ends_are_told_apart_by_what_they_pay(rewards, kinds, pays):
    task = two_ends(rewards, pays)
    assert kinds_of_ends(task) == {0: kinds[0], 2: kinds[1]}
    if rewards[0] == rewards[1]:
        assert kinds_of_ends(task, solve(task)) == {0: "goal", 2: "goal"}


def test_an_end_that_is_aimed_at_is_no_hole():
    task = gridworld(["G.#.E"], {"G": 10, ".": -1, "E": -1}, terminal="GE")
    end = task.mdp.n_states - 1
    assert kinds_of_ends(task) == {0: "goal", end: "worse"}
    assert kinds_of_ends(task, solve(task)) == {0: "goal", end: "end"}
