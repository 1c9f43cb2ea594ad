"""What every picture shares: axes given or new, and Matplotlib only when it is needed."""

import subprocess
import sys

import pytest

from didact import plots
from didact.errors import Unsupported
from didact.mdp.showing import SHOWN


def test_every_picture_returns_the_axes_it_was_given(ax, taught):
    task, lesson = taught
    assert task.plot(ax) is ax
    assert lesson.plot(ax) is ax
    assert lesson.known.plot(ax) is ax
    assert plots.coverage(lesson, ax) is ax


def test_every_thing_that_shows_itself_finds_who_draws_it():
    for what, where in SHOWN.items():
        module, _, function = where.partition(":")
        assert callable(getattr(__import__(module, fromlist=[function]), function)), what


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
        "import sys, didact, didact.plots, didact.app.reproduce, didact.plots.studies\n"
        "print('matplotlib' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.stdout.split() == ["False"], answer.stderr
