"""How things show themselves: pages and pictures of rooms above, found by name when asked for.

The names stand here as text, so that no room imports one above it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

SHOWN = {
    "report": "didact.app.explain:write_lesson_page",
    "lesson": "didact.app.explain:lesson_in_notebook",
    "task": "didact.app.explain:task_in_notebook",
    "plot of a task": "didact.plots:world",
    "plot of a plan": "didact.plots:plan",
    "plot of a class": "didact.plots:cone",
    "plot of a lesson": "didact.plots:lesson",
    "plot of a selection": "didact.plots:coverage",
    "plot of a difficulty": "didact.plots:difficulty",
    "plot of a belief": "didact.plots:posterior",
    "plot of a run": "didact.plots:curve",
}


def show(what: str, *arguments: Any, **options: Any) -> Any:
    """What the named page or picture makes of the arguments."""
    module, _, function = SHOWN[what].partition(":")
    return getattr(import_module(module), function)(*arguments, **options)
