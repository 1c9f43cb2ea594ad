"""The world widget: what is painted is the task, and a wrong painting is told."""

import pytest

pytest.importorskip("anywidget", reason="the widgets are an extra")

from didact import make
from didact.app.studio import MEADOW
from didact.errors import InvalidInput
from didact.mdp.files import task_document
from didact.widgets import World


def test_a_task_is_painted_and_taken_back():
    task = make("random-grid", size=4, seed=2, slip="0.1")
    assert task_document(World(task).task) == task_document(task)
    assert World().painting == dict(MEADOW)


def test_changes_are_seen_and_mistakes_told():
    world = World()
    before = world.seen["values"]
    world.painting = {**world.painting, "ends": [20]}
    assert world.seen["values"] != before
    world.painting = {**world.painting, "discount": "2"}
    assert "discount" in world.seen["problem"]
    world.painting = {**world.painting, "discount": "0.5"}
    assert "problem" not in world.seen


def test_what_is_no_grid_is_refused():
    with pytest.raises(InvalidInput, match="no plain grid"):
        World(make("garnet"))
