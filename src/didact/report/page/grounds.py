"""Pictures of steps in a task or in the members of a family, and the ground of each world once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from didact.mdp import Family, Task
from didact.report.page.player import Drawing, Frame, box_of, player
from didact.report.page.scene import Box, Scene, scene_of


class Grounds:
    """The worlds of a page; what is drawn of each is remembered, for a ground that holds it all."""

    def __init__(self, task: Task | Family) -> None:
        self.task = task
        self._scenes: dict[int, Scene | None] = {}
        self._boxes: dict[int, list[Box]] = {}

    def home(self, member: int | None) -> Task:
        """The task, or the member of the family."""
        return self.task[member or 0] if isinstance(self.task, Family) else self.task

    def scene(self, member: int | None) -> Scene | None:
        """Where things stand in it; None where there is nothing to draw it by."""
        number = member or 0
        if number not in self._scenes:
            self._scenes[number] = scene_of(self.home(member))
        return self._scenes[number]

    def drawing(self, member: int | None, moments: Sequence[Frame], number: int) -> Drawing | None:
        """The picture of moments of a world; number: its own on the page."""
        scene = self.scene(member)
        if scene is None:
            return None
        self._boxes.setdefault(member or 0, []).append(box_of(moments, scene))
        return player(moments, scene, number=number, n_steps=len(moments), telling={}).drawing

    def name(self, member: int | None) -> str:
        """What the ground of a world is called on the page."""
        return f"world-{member or 0}" if isinstance(self.task, Family) else "world"

    def drawn(self) -> Iterator[tuple[str, Scene, Any]]:
        """Name, scene and ground of every world of which something was drawn."""
        for member, boxes in sorted(self._boxes.items()):
            scene = self.scene(member)
            assert scene is not None
            yield self.name(member), scene, scene.ground(boxes)
