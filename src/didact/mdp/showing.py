"""How tasks and lessons show themselves: pages made in rooms above, found by name when asked for.

The names stand here as text, so that these rooms import nothing above them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

PAGES = {
    "report": "didact.app.explain:write_lesson_page",
    "lesson": "didact.app.explain:lesson_in_notebook",
    "task": "didact.app.explain:task_in_notebook",
}


def show(page: str, *arguments: Any, **options: Any) -> Any:
    """What the named page makes of the arguments."""
    module, _, function = PAGES[page].partition(":")
    return getattr(import_module(module), function)(*arguments, **options)
