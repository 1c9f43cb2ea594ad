"""Figures of studies: what is drawn is what is described, in the same bytes, everywhere."""

import functools
import io
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from didact import make
from didact.errors import Unsupported
from didact.plots.studies import draw_figure, draw_panel, pictures
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
    "<world> & co", make("six-cell"), ((1, 2), (2, 1)), ((5, 2),), ((4, "wrong"),)
)  # fmt: skip
EVERY = Figure("every", "All <kinds> & one", (LINES, LOG, BARS, PLANE, WORLD))


@functools.cache
def every():
    """The figure with every kind of panel as files, by kind."""
    return pictures(EVERY)


@pytest.fixture
def ax():
    from matplotlib.figure import Figure as Sheet

    return Sheet().add_subplot()


def test_svg_is_well_formed_and_escaped():
    text = every()["svg"].decode()
    root = ElementTree.fromstring(text)
    assert root.tag.endswith("svg")
    texts = [node.text for node in root.iter() if node.tag.endswith("text")]
    assert {"<world> & co", "All <kinds> & one", "true", "ours", "wrong"} <= set(texts)
    assert root.get("aria-label") == "All <kinds> & one"
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_svgs_can_stand_in_one_page():
    """No name stands in two of them, and no style of one reaches another."""
    one = every()["svg"].decode()
    two = pictures(Figure("other", "t", EVERY.panels), ["svg"])["svg"].decode()
    names = [{n.get("id") for n in ElementTree.fromstring(t).iter()} - {None} for t in (one, two)]
    assert names[0]
    assert not names[0] & names[1]
    assert "<style" not in one + two


def test_the_same_figure_is_the_same_bytes_whatever_a_person_has_set():
    import matplotlib

    first = every()
    assert {kind: content[:4] for kind, content in first.items()} == {
        "svg": b"<svg", "pdf": b"%PDF", "png": b"\x89PNG",
    }  # fmt: skip
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.fonttype": "path"}):
        assert pictures(EVERY) == first


def test_another_process_draws_the_same_bytes():
    code = (
        "import hashlib\nfrom tests.plots.test_studies import EVERY, pictures\n"
        "print(*(hashlib.sha256(c).hexdigest() for c in pictures(EVERY).values()))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={"PYTHONHASHSEED": str(seed), "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in (1, 2)
    }  # fmt: skip
    assert len(found) == 1


def test_nothing_tells_when_or_with_what_it_was_drawn():
    import matplotlib

    for content in every().values():
        for word in (b"Date", matplotlib.__version__.encode(), b"Matplotlib v"):
            assert word not in content


def test_a_print_has_three_hundred_dots_an_inch():
    from PIL import Image

    assert Image.open(io.BytesIO(every()["png"])).width == 7 * 300


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
