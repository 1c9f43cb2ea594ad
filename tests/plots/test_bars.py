"""Difficulties: bars as long as the smallest lessons, and their bounds."""

import numpy as np

from didact import plots, rank
from didact.teaching import Difficulty


def test_difficulties_are_bars_with_their_bounds(ax):
    rows = rank(["six-cell", "chain", "nowhere"])
    plots.difficulty(rows, ax)
    n = len(rows)
    lengths = [bar.get_width() for bar in ax.patches]
    assert lengths[:n] == [float(row.n_pairs or 0) for row in rows]
    assert lengths[n:] == [float(row.n_demonstrations or 0) for row in rows]
    bounds = [line.get_xdata() for line in ax.get_lines()]
    assert [b for b in bounds[0] if np.isfinite(b)] == [r.fewest_pairs for r in rows if r.n_pairs]
    assert [label.get_text() for label in ax.get_yticklabels()] == [row.name for row in rows]


def test_one_difficulty_is_a_row(ax):
    Difficulty("one", n_pairs=3, n_demonstrations=2).plot(ax)
    assert [bar.get_width() for bar in ax.patches] == [3, 2]
