"""Pictures of what didact finds, on Matplotlib: `plots.world(task)`, or `task.plot()`.

Every function draws on the axes given, or on new ones, and returns them. Matplotlib is loaded when
something is drawn: `pip install 'didact[plots]'`.
"""

from didact.plots.bars import difficulty as difficulty
from didact.plots.beliefs import posterior as posterior
from didact.plots.cones import cone as cone
from didact.plots.curves import curve as curve
from didact.plots.families import family as family
from didact.plots.frontiers import frontier as frontier
from didact.plots.lessons import coverage as coverage
from didact.plots.lessons import lesson as lesson
from didact.plots.transfers import transfer as transfer
from didact.plots.worlds import plan as plan
from didact.plots.worlds import world as world

__all__ = [
    "cone",
    "coverage",
    "curve",
    "difficulty",
    "family",
    "frontier",
    "lesson",
    "plan",
    "posterior",
    "transfer",
    "world",
]
