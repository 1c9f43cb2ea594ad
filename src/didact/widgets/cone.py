"""The cone in a notebook: which rewards still fit after so many demonstrations."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from didact.app.fitting import fitted
from didact.mdp import Task
from didact.teaching import Lesson
from didact.widgets.modules import widget_module, widget_style


class ConeView(anywidget.AnyWidget):
    """Rewards that fit the first n demonstrations of a lesson.

    n: how many are shown; the slider changes it, and setting it moves the slider. told: what is
    said about them: bounds of weights, what stays open, who is mistaken.
    """

    _esm = widget_module("cone_widget.js")
    style = traitlets.Unicode().tag(sync=True)
    n = traitlets.Int().tag(sync=True)
    most = traitlets.Int().tag(sync=True)
    wish = traitlets.Dict().tag(sync=True)
    told = traitlets.Dict().tag(sync=True)

    def __init__(self, task: Task, lesson: Lesson):
        self._task = task
        self._shown = [[list(pair) for pair in each] for each in lesson.demonstrations]
        most = len(self._shown)
        super().__init__(style=widget_style(), n=most, most=most, wish={}, told={})
        self._tell({})
        self.observe(self._tell, ["n", "wish"])

    def _tell(self, change: Any) -> None:
        n = max(0, min(self.n, self.most))
        self.told = fitted(self._task, {"demonstrations": self._shown[:n], **self.wish})
