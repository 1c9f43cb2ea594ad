"""What pictures share: Matplotlib when it is needed, and files of the same bytes."""

import hashlib
import io
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from didact import plots
from didact.errors import Unsupported
from didact.plots.studies import KINDS, pictures
from didact.studies.summary import Figure
from tests import effort
from tests.plots.every import EVERY, LINES, WORLD, every


def test_every_picture_returns_the_axes_it_was_given(ax, taught):
    task, lesson = taught
    assert task.plot(ax) is ax
    assert lesson.plot(ax) is ax
    assert lesson.bec.plot(ax) is ax
    assert plots.coverage(lesson, ax) is ax


def test_new_axes_are_made_where_none_are_given(taught):
    import matplotlib.pyplot as plt

    drawn = taught[0].plot()
    assert drawn.figure.number in plt.get_fignums()
    plt.close(drawn.figure)


def test_without_matplotlib_one_line_says_what_to_install(monkeypatch, taught):
    for name in [n for n in sys.modules if n.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(Unsupported, match=r"pictures need .* pip install 'didact\[plots\]'"):
        taught[0].plot()


def test_nobody_loads_matplotlib_before_something_is_drawn():
    code = (
        "import sys, didact, didact.plots, didact.report.reproduce, didact.plots.studies\n"
        "print('matplotlib' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.stdout.split() == ["False"], answer.stderr


pytest.importorskip("matplotlib")


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
    drawn = [pictures(Figure(name, "t", (LINES, WORLD)), ["svg"]) for name in ("one", "two")]
    one, two = (files["svg"].decode() for files in drawn)
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
    again = KINDS if effort.takes_all() else ("svg", "png")  # the type of a PDF takes long
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.fonttype": "path"}):
        assert pictures(EVERY, again) == {kind: first[kind] for kind in again}


@pytest.mark.slow
def test_another_process_draws_the_same_bytes():
    code = (
        "import hashlib\nfrom tests.plots.every import EVERY, pictures\n"
        "print(*(hashlib.sha256(c).hexdigest() for c in pictures(EVERY).values()))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={"PYTHONHASHSEED": "1", "PYTHONPATH": ":".join(sys.path)},
    ).stdout  # fmt: skip
    assert found.split() == [hashlib.sha256(content).hexdigest() for content in every().values()]


def test_nothing_tells_when_or_with_what_it_was_drawn():
    import matplotlib

    for content in every().values():
        for word in (b"Date", matplotlib.__version__.encode(), b"Matplotlib v"):
            assert word not in content


def test_a_print_has_three_hundred_dots_an_inch():
    from PIL import Image

    assert Image.open(io.BytesIO(every()["png"])).width == 7 * 300
