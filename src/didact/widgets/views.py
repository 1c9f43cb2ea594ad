"""The widgets: a world to paint, a lesson to play, and the cone of rewards that still fit.

A notebook loads no files of the package. So each widget carries its browser modules inside, put
together as a lesson's page does it, and its style in a shadow root, where it cannot restyle the
notebook.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from didact.errors import DidactError, InvalidParameter
from didact.inputs import shown
from didact.mdp import Task
from didact.report.page.facts import gather
from didact.report.page.lesson import lesson_piece
from didact.report.page.templates import inlined, static_text
from didact.studio.lessons import fitted
from didact.studio.questions import MEADOW
from didact.studio.worlds import looked_at, painting_of, read_painting
from didact.teaching import Lesson

OWN = Path(__file__).parent / "static"


def module_text(name: str) -> str:
    """A module of the widgets, or one that they share with pages and studio."""
    own = OWN / name
    return own.read_text(encoding="utf-8") if own.exists() else static_text(name)


@cache
def widget_module(entry: str) -> str:
    """The module of a widget with all that it imports, as a notebook wants it."""
    return f"{inlined(entry, module_text)}\nexport default {{ render }};\n"


@cache
def widget_style() -> str:
    """The style of pages and studio, for a shadow root."""
    style = static_text("page.css") + static_text("studio.css")
    style = style.replace(":root", ":host")
    return re.sub(r"^body \{", ".page {", style, flags=re.MULTILINE)


class World(anywidget.AnyWidget):
    """A painted grid world with its optimal actions.

    painting: the document of `didact.studio.worlds`; setting it redraws, painting changes it.
    task: the exact task that it means now.
    """

    _esm = widget_module("world_widget.js")
    style = traitlets.Unicode().tag(sync=True)
    painting = traitlets.Dict().tag(sync=True)
    seen = traitlets.Dict().tag(sync=True)

    def __init__(self, world: Any = None):
        super().__init__(style=widget_style(), painting=_as_painting(world), seen={})
        self._look({})
        self.observe(self._look, "painting")

    @property
    def task(self) -> Task:
        """The task that is painted now."""
        return read_painting(self.painting).task()

    def _look(self, change: Any) -> None:
        try:
            self.seen = looked_at(read_painting(self.painting))
        except DidactError as error:
            self.seen = {**self.seen, "problem": str(error)}


def _as_painting(world: Any) -> dict[str, Any]:
    """The document of a task that is a plain grid, of a painting, or of the first world."""
    if world is None:
        return dict(MEADOW)
    if isinstance(world, Task):
        painting = painting_of(world)
        if painting is None:
            raise InvalidParameter(f"{shown(world.name)} is no plain grid and cannot be painted")
        return painting.document()
    return read_painting(world).document()


class LessonPlayer(anywidget.AnyWidget):
    """The demonstrations of a lesson and what they show, as on the lesson's own page."""

    _esm = widget_module("player_widget.js")
    style = traitlets.Unicode().tag(sync=True)
    html = traitlets.Unicode().tag(sync=True)

    def __init__(self, task: Task, lesson: Lesson):
        html = lesson_piece(gather(task, lesson))
        super().__init__(style=widget_style(), html=html)


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
