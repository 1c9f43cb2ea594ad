"""A grid world alone, as a piece of a page or a file. First pictures need it: it loads little."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from didact.mdp import Task
from didact.planning import Plan
from didact.report.page.grid import grid_scene
from didact.report.page.templates import render
from didact.report.page.world import world_picture


def task_drawn(task: Task, plan: Plan | None = None) -> tuple[str, str]:
    """A grid world alone, with its optimal actions where there is a plan; what its signs mean."""
    facts = _drawn_facts(task, plan)
    return render("drawn.html.jinja", **facts), facts["world"].key


def task_picture(task: Task, plan: Plan | None = None, *, colours: Sequence[int] = ()) -> str:
    """A grid world as a file of its own (SVG), with its optimal actions where there is a plan.

    colours: of the features, each one of the twelve; by default in their order.
    """
    return render("picture.svg.jinja", colours=colours, **_drawn_facts(task, plan))


def _drawn_facts(task: Task, plan: Plan | None) -> dict[str, Any]:
    scene = grid_scene(task, plan)
    box = scene.box_around([0], whole=30, most=30)
    return {"world": world_picture(task, plan, scene, box), "ground": scene.ground([box])}
