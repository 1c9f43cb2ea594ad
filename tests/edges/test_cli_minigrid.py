"""MiniGrid environments on the command line, by their ids."""

import pytest

from didact.worlds.opening import open_task

pytest.importorskip("minigrid")


def test_an_id_opens_a_task():
    assert open_task("MiniGrid-Empty-5x5-v0").mdp.n_states == 34
    other = open_task("MiniGrid-DoorKey-5x5-v0", {"seed": 7, "discount": "0.9"})
    assert other.mdp.exact_discount.denominator == 10


def test_teach_by_id(didact):
    answer = didact("teach", "MiniGrid-DoorKey-5x5-v0")
    assert (answer.code, answer.verdict) == (
        0,
        "MiniGrid-DoorKey-5x5-v0: 1 demonstration (11 state-action pairs) is enough. "
        "Proof verified.",
    )
