"""Pictures of what didact finds, on Matplotlib: `plots.world(task)`, or `task.plot()`.

Every function draws on the axes given, or on new ones, and returns them. Matplotlib is loaded when
something is drawn: `pip install 'didact[plots]'`.
"""

from collections.abc import Callable
from typing import Any

from didact.plots.charts import (
    bounds,
    curve,
    difficulty,
    frontier,
    posterior,
    stated,
    transfer,
    trust,
)
from didact.plots.cones import cone
from didact.plots.lessons import coverage, family, lesson
from didact.plots.worlds import plan, world

__all__ = [
    "bounds",
    "cone",
    "coverage",
    "curve",
    "difficulty",
    "draw",
    "family",
    "frontier",
    "lesson",
    "plan",
    "posterior",
    "stated",
    "transfer",
    "trust",
    "world",
]

_PICTURES: dict[str, Callable[..., Any]] = {
    "Task": world,
    "Lesson": lesson,
    "Lesson of a family": family,
    "Plan": plan,
    "EquivalenceClass": cone,
    "Selection": coverage,
    "Difficulty": difficulty,
    "Transfer": transfer,
    "Frontier": frontier,
    "Belief": posterior,
    "Informativeness": trust,
    "Identification": bounds,
    "Attack": stated,
    "Run": curve,
}
"""By the name of a result's class: importing the classes would load every package."""


def draw(result: Any, ax: Any = None, **style: Any) -> Any:
    """Draw a result, as its method `plot` does; the axes.

    result: of any kind that has a method `plot`.
    ax: Matplotlib axes, new ones by default.
    style: options of the function that draws it.
    """
    kind = type(result).__name__
    if kind == "Lesson":
        kind = "Lesson of a family" if result.is_of_family else kind
    return _PICTURES[kind](result, ax, **style)
