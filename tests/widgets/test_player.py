"""The lesson player carries the lesson's own page."""

import pytest

pytest.importorskip("anywidget", reason="the widgets are an extra")

from didact import make, teach
from didact.widgets import LessonPlayer


def test_all_demonstrations_are_there():
    task = make("six-cell")
    lesson = teach(task)
    shown = LessonPlayer(task, lesson)
    assert shown.html.count('class="demo ') == len(lesson.demonstrations)
    assert "<script" not in shown.html
