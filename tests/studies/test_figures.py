"""Figures: geometry against brute force, well-formed SVG, the same bytes, one layout for both."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from didact.report.figures.layout import lay_out, ticks
from didact.report.figures.planes import border_in_square, cut
from didact.report.figures.shapes import Area, Line, Text
from didact.report.figures.svg import figure_svg
from didact.studies.figure import Bars, Figure, Lines, Plane, Series, World

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
WORLD = World(
    "<world> & co", ((0, 1), (1, 0)), ("white", "<b>odd</b>"), ((0, 0, "up"),),
    ((1, 1, "left"),), ((0, 1),), ((1, 0, "wrong"),),
)  # fmt: skip
EVERY = Figure("every", "All <kinds> & one", (LINES, LOG, BARS, PLANE, WORLD))


def test_svg_is_well_formed_and_escaped():
    text = figure_svg(EVERY)
    root = ElementTree.fromstring(text)
    assert root.tag.endswith("svg")
    assert "<b>" not in text
    texts = [node.text for node in root.iter() if node.tag.endswith("text")]
    assert "<world> & co" in texts
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_the_same_figure_is_the_same_bytes():
    assert figure_svg(EVERY) == figure_svg(EVERY)


def test_everything_is_inside_the_picture():
    canvas = lay_out(EVERY)
    for shape in canvas.shapes:
        points = [shape.at] if isinstance(shape, Text) else shape.points
        for x, y in points:
            assert -1 <= x <= canvas.width + 1
            assert -1 <= y <= canvas.height + 1


def test_lines_are_drawn_where_the_numbers_are():
    """Up is more: a series falls where its numbers fall, proportionally."""
    canvas = lay_out(Figure("f", "t", (LINES,)))
    falling, level = (s for s in canvas.shapes if isinstance(s, Line) and s.width == 1.8)
    heights = [y for _, y in falling.points]
    assert heights[1] - heights[0] == pytest.approx(heights[2] - heights[1])
    assert heights[0] < heights[1]
    assert len({y for _, y in level.points}) == 1


def test_bars_are_as_long_as_their_numbers():
    canvas = lay_out(Figure("f", "t", (BARS,)))
    boxes = [s for s in canvas.shapes if isinstance(s, Area) and len(s.points) == 4][1:]
    lengths = [b.points[1][0] - b.points[0][0] for b in boxes if b.fill in ("#0072b2", "#8a8a8a")]
    bars = [length for length in lengths if length > 8]
    assert bars[1] / bars[0] == pytest.approx(3)
    assert bars[2] / bars[0] == pytest.approx(7 / 3)


@pytest.mark.parametrize("seed", range(20))
def test_cut_agrees_with_brute_force(seed):
    rng = np.random.default_rng(seed)
    square = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
    normals = rng.normal(size=(3, 2))
    region = square
    for a, b in normals:
        region = cut(region, a, b)
    points = rng.uniform(-1, 1, size=(500, 2))
    inside = (points @ normals.T >= 0).all(axis=1)
    assert [contains(region, p) for p in points] == inside.tolist()


def contains(region, point):
    """Whether a point is in a convex polygon, by the side of each edge it lies on."""
    if len(region) < 3:
        return False
    pairs = zip(region, region[1:] + region[:1], strict=True)
    sides = [
        (q[0] - p[0]) * (point[1] - p[1]) - (q[1] - p[1]) * (point[0] - p[0]) for p, q in pairs
    ]
    return min(sides) >= -1e-12


@pytest.mark.parametrize(("a", "b"), [(1, 0), (0, 1), (2.539, -1), (-1, -1), (-0.1, 3)])
def test_borders_end_on_the_square(a, b):
    for x, y in border_in_square(a, b, 2.0):
        assert a * x + b * y == pytest.approx(0, abs=1e-12)
        assert max(abs(x), abs(y)) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (0, 17.16), (2, 20), (0, 0.003), (-3, 8), (5, 5), (0, 1e6)]
)
def test_ticks_are_round_and_few(low, high):
    found = ticks(low, high)
    assert 1 <= len(found) <= 8
    assert all(low - 1e-9 <= value <= high + 1e-9 for value in found)
    if len(found) > 2:
        steps = np.diff(found)
        assert np.allclose(steps, steps[0])
        digits = f"{steps[0]:.6e}".split("e")[0].rstrip("0")
        assert digits in ("1.", "2.", "5.")


def test_png_where_matplotlib_is_installed():
    pytest.importorskip("matplotlib")
    from didact.report.figures.png import figure_png

    picture = figure_png(EVERY)
    assert picture.startswith(b"\x89PNG")
    assert picture == figure_png(EVERY)


def test_without_matplotlib_one_line_says_what_to_install(monkeypatch):
    import sys

    from didact.errors import Unsupported
    from didact.report.figures.png import figure_png

    for name in ("matplotlib", "matplotlib.backends.backend_agg", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(Unsupported, match=r"pip install 'didact\[figures\]'"):
        figure_png(EVERY)
