"""A lesson in a notebook, to be played."""

from __future__ import annotations

import anywidget
import traitlets

from didact.mdp import Task
from didact.report.page.facts import gather
from didact.report.page.lesson import lesson_piece
from didact.teaching import Lesson
from didact.widgets.modules import widget_module, widget_style


class LessonPlayer(anywidget.AnyWidget):
    """The demonstrations of a lesson and what they show, as on the lesson's own page."""

    _esm = widget_module("player_widget.js")
    style = traitlets.Unicode().tag(sync=True)
    html = traitlets.Unicode().tag(sync=True)

    def __init__(self, task: Task, lesson: Lesson):
        html = lesson_piece(gather(task, lesson))
        super().__init__(style=widget_style(), html=html)
