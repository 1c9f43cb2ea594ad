"""How things show themselves: pages and pictures of rooms above, found by name when asked for.

The names stand here as text, so that no room imports one above it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

SHOWN = {
    "report": "didact.report.page.writing:write_lesson_page",
    "exam": "didact.report.page.writing:write_exam_pages",
    "report of a frontier": "didact.report.page.writing:write_frontier_page",
    "report of a mixed lesson": "didact.report.page.writing:write_mixed_page",
    "report of a family": "didact.report.page.writing:write_family_page",
    "exam in a notebook": "didact.report.notebook:exam_fragment",
    "audit": "didact.report.notebook:audit_fragment",
    "mixed lesson": "didact.report.notebook:mixed_lesson_fragment",
    "lesson": "didact.report.page.lesson:lesson_fragment",
    "task": "didact.report.page.lesson:task_fragment",
    "model": "didact.report.notebook:mdp_fragment",
    "plan": "didact.report.notebook:plan_fragment",
    "evaluation": "didact.report.notebook:evaluation_fragment",
    "class": "didact.report.notebook:class_fragment",
    "lesson from a file": "didact.report.notebook:lesson_table",
    "verdict": "didact.report.notebook:verdict_fragment",
    "selection": "didact.report.notebook:selection_fragment",
    "transfer": "didact.report.notebook:transfer_fragment",
    "difficulty": "didact.report.notebook:difficulty_fragment",
    "ranking": "didact.report.notebook:ranking_fragment",
    "belief": "didact.report.notebook:belief_in_notebook",
    "risk": "didact.report.notebook:risk_fragment",
    "frontier": "didact.report.notebook:frontier_fragment",
    "family": "didact.report.notebook:family_fragment",
    "class of a family": "didact.report.notebook:family_class_fragment",
    "run": "didact.report.notebook:run_fragment",
    "comparison": "didact.report.notebook:comparison_fragment",
    "plot of a task": "didact.plots:world",
    "plot of a plan": "didact.plots:plan",
    "plot of a class": "didact.plots:cone",
    "plot of a lesson": "didact.plots:lesson",
    "plot of a family's lesson": "didact.plots:family",
    "plot of a selection": "didact.plots:coverage",
    "plot of a difficulty": "didact.plots:difficulty",
    "plot of a transfer": "didact.plots:transfer",
    "plot of a frontier": "didact.plots:frontier",
    "plot of a belief": "didact.plots:posterior",
    "plot of a run": "didact.plots:curve",
}


def in_notebook(kind: str) -> Callable[[Any], str]:
    """The method `_repr_html_` of a kind of result."""

    def _repr_html_(self: Any) -> str:
        html: str = show(kind, self)
        return html

    return _repr_html_


def show(what: str, *arguments: Any, **options: Any) -> Any:
    """What the named page or picture makes of the arguments."""
    module, _, function = SHOWN[what].partition(":")
    return getattr(import_module(module), function)(*arguments, **options)
