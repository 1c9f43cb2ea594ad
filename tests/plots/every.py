"""A figure with every kind of panel, and its files."""

import functools

from didact import make
from didact.plots.studies import pictures
from didact.studies.summary import Bars, Figure, Lines, Plane, Series, WorldPanel

LINES = Lines(
    "losses", "queries", "loss",
    (
        Series("one", (1, 2, 3), (5, 3, 1), (4, 2, 0), (6, 4, 2)),
        Series("other", (1, 2, 3), (4, 4, 4)),
    ),
)  # fmt: skip
LOG = Lines("time", "features", "s", (Series("a", (2, 4), (0.02, 300.0)),), log_y=True)
BARS = Bars(
    "pairs", "n", ("first", "second"),
    (Series("ours", (0, 1), (3, 9), (2, 8), (4, 10)), Series("the paper", (1,), (7,))),
)  # fmt: skip
PLANE = Plane("class", "w0", "w1", ((2.539, -1, "a"), (-1, 0, "b")), ((-1, -10, "true"),))
WORLD = WorldPanel(
    "<world> & co", make("six-cell"), ((1, 2), (2, 1)), ((5, 2),), ((4, "wrong"),)
)  # fmt: skip
EVERY = Figure("every", "All <kinds> & one", (LINES, LOG, BARS, PLANE, WORLD))


@functools.cache
def every():
    """The figure with every kind of panel as files, by kind."""
    return pictures(EVERY)
