"""The widgets: a world to paint, a lesson to play, a cone with a slider; their modules."""

import re

import pytest

pytest.importorskip("anywidget", reason="the widgets are an extra")

from didact import check, make, teach
from didact.errors import InvalidInput
from didact.mdp.files import task_document
from didact.studio.questions import MEADOW
from didact.widgets import ConeView, LessonPlayer, World
from didact.widgets.views import OWN, module_text, widget_module, widget_style

ENTRIES = sorted(path.name for path in OWN.glob("*_widget.js"))


def test_there_are_three():
    assert ENTRIES == ["cone_widget.js", "player_widget.js", "world_widget.js"]


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_notebook_needs_nothing_else(entry):
    module = widget_module(entry)
    assert not re.search(r"^import ", module, re.MULTILINE)
    assert module.count("export default { render };") == 1
    assert "http" not in module


def test_they_share_the_modules_of_pages_and_studio():
    assert module_text("player.js") in widget_module("player_widget.js").replace(
        "function player", "export function player"
    ).replace("function stepsIn", "export function stepsIn")


def test_the_style_stays_inside():
    style = widget_style()
    assert ":root" not in style
    assert not re.search(r"^body ", style, re.MULTILINE)


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


def test_all_demonstrations_are_there():
    task = make("six-cell")
    lesson = teach(task)
    shown = LessonPlayer(task, lesson)
    assert shown.html.count('class="demo ') == len(lesson.demonstrations)
    assert "<script" not in shown.html


TASK = make("random-grid", size=4, n_features=3, seed=3)


def test_it_tells_what_the_first_demonstrations_leave_open():
    lesson = teach(TASK, teacher="exact")
    cone = ConeView(TASK, lesson)
    assert (cone.n, cone.told["teaches"]) == (len(lesson.demonstrations), True)
    for n in range(len(lesson.demonstrations)):
        cone.n = n
        assert cone.told["n_open"] == check(TASK, lesson.demonstrations[:n]).n_open
    cone.wish = {"unit": 1}
    assert cone.told["unit"] == 1
