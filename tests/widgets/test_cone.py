"""The cone widget follows its slider."""

import pytest

pytest.importorskip("anywidget", reason="the widgets are an extra")

from didact import check, make, teach
from didact.widgets import ConeView

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
