"""MiniGrid environments on the command line, by their ids."""

import pytest

from didact.cli import main
from didact.worlds.opening import open_task

pytest.importorskip("minigrid")


def test_an_id_opens_a_task():
    assert open_task("MiniGrid-Empty-5x5-v0").mdp.n_states == 34
    other = open_task("MiniGrid-DoorKey-5x5-v0", {"seed": 7, "discount": "0.9"})
    assert other.mdp.exact_discount.denominator == 10


def test_teach_by_id(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as left:
        main(["teach", "MiniGrid-DoorKey-5x5-v0"])
    assert left.value.code == 0
    assert capsys.readouterr().out.splitlines()[0] == (
        "MiniGrid-DoorKey-5x5-v0: 260 situations, 1 start: ONE demonstration of 11 steps is "
        "enough. Proof verified."
    )


def test_a_limit_is_a_clear_refusal(capsys):
    with pytest.raises(SystemExit) as left:
        main(["show", "MiniGrid-KeyCorridorS3R3-v0", "-p", "limit=300"])
    output = capsys.readouterr()
    assert (left.value.code, output.err.count("\n")) == (2, 1)
    assert "more than 300 states, too many to tabularise" in output.err
