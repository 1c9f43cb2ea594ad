"""Figures of studies: what is drawn is what is described, in the same bytes, everywhere."""

import sys

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from didact.errors import Unsupported
from didact.plots.studies import draw_figure, draw_panel, pictures
from tests.plots.every import BARS, EVERY, LINES, LOG, PLANE, WORLD


def test_everything_is_inside_the_picture():
    sheet = draw_figure(EVERY)
    whole = sheet.get_tightbbox()
    assert whole.x0 >= -0.01
    assert whole.y0 >= -0.01
    assert whole.x1 <= sheet.get_figwidth() + 0.01
    assert whole.y1 <= sheet.get_figheight() + 0.01


def test_lines_are_drawn_where_the_numbers_are(ax):
    draw_panel(LINES, ax)
    assert [tuple(line.get_ydata()) for line in ax.get_lines()] == [s.ys for s in LINES.series]
    (band,) = ax.collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (0, 6)
    assert ax.get_ylim()[0] == 0
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "other"]


def test_a_logarithmic_axis_is_one(ax):
    draw_panel(LOG, ax)
    assert ax.get_yscale() == "log"


def test_bars_are_as_long_as_their_numbers(ax):
    draw_panel(BARS, ax)
    assert [bar.get_width() for bar in ax.patches] == [3, 9, 7]
    (intervals,) = ax.collections
    ends = [segment[:, 0].tolist() for segment in intervals.get_segments()]
    assert ends == [[2, 4], [8, 10]]
    middles = [bar.get_y() + bar.get_height() / 2 for bar in ax.patches]
    assert [round(middle) for middle in middles] == [0, 1, 1]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]


def test_a_plane_is_shaded_where_all_half_planes_are(ax):
    draw_panel(PLANE, ax)
    (region,) = ax.patches
    rng = np.random.default_rng(0)
    low, high = ax.get_xlim()
    points = rng.uniform(low, high, size=(500, 2))
    inside = [2.539 * x - y >= 0 and -x >= 0 for x, y in points]
    assert region.get_path().contains_points(points).tolist() == inside


def test_a_world_shows_its_policy_and_what_is_shown(ax):
    draw_panel(WORLD, ax)
    thin, heavy = (c for c in ax.collections if hasattr(c, "U"))
    assert list(zip(thin.X, thin.Y, thin.U, thin.V, strict=True)) == [
        (1, 0, -0.4, 0), (2, 0, 0, 0.4),
    ]  # fmt: skip
    assert (heavy.X[0], heavy.Y[0], heavy.U[0], heavy.V[0]) == (2, 1, -0.4, 0)
    assert "wrong" in [text.get_text() for text in ax.texts]


def test_without_matplotlib_one_line_says_what_to_install(monkeypatch):
    for name in [n for n in sys.modules if n.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(Unsupported, match=r"figures need .* pip install 'didact\[plots\]'"):
        pictures(EVERY)
