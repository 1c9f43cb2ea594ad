"""A world to paint in a notebook: paint and take the task, or set the painting and see it."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from didact.app.looking import looked_at
from didact.app.painting import painting_of, read_painting
from didact.errors import DidactError, InvalidParameter
from didact.inputs import shown
from didact.mdp import Task
from didact.widgets.modules import widget_module, widget_style


class World(anywidget.AnyWidget):
    """A painted grid world with its optimal actions.

    painting: the document of `didact.app.painting`; setting it redraws, painting changes it.
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
    from didact.app.studio import MEADOW

    if world is None:
        return dict(MEADOW)
    if isinstance(world, Task):
        painting = painting_of(world)
        if painting is None:
            raise InvalidParameter(f"{shown(world.name)} is no plain grid and cannot be painted")
        return painting.document()
    return read_painting(world).document()
