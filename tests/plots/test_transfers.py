"""The curve of a transfer is drawn as it is; without one, what to give."""

import pytest

import didact
from didact import make, plots
from didact.errors import InvalidInput


def test_shares_and_intervals_are_drawn_as_they_are():
    import matplotlib.pyplot as plt

    small = {"size": 3, "n_features": 3}
    lesson = didact.teach(make("random-grid", **small, members=5), horizon=1)
    unseen = make("random-grid", **small, members=4, seed=9, weights_seed=0)
    found = didact.transfer(lesson, unseen)
    ax = found.plot(color="black")
    (line,) = ax.get_lines()
    assert line.get_xdata().tolist() == [1, 2, 5]
    assert line.get_ydata().tolist() == [point.share for point in found.curve]
    assert line.get_color() == "black"
    ends = {y for path in ax.collections[0].get_paths() for y in path.vertices[:, 1].tolist()}
    assert {end for point in found.curve for end in (point.low, point.high)} <= ends
    assert plots.transfer(found, ax) is ax
    assert len(ax.get_lines()) == 2
    plt.close("all")


def test_without_members_there_is_no_curve(tmp_path):
    task = make("random-grid", size=2, n_features=2)
    didact.teach(task, horizon=1).save(tmp_path / "lesson.json")
    found = didact.transfer(didact.load_lesson(tmp_path / "lesson.json"), task)
    with pytest.raises(InvalidInput, match="give of="):
        found.plot()
