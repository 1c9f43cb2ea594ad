"""A frontier is drawn as it is: a point for each bound, by cost."""

import pytest

import didact

pytest.importorskip("matplotlib")


def test_costs_are_drawn_over_bounds():
    task = didact.make("random-grid", size=4, n_features=3, seed=1)
    found = didact.frontier(task, losses=["50%", "1%"], horizon=1, learner="half-spaces")
    ax = found.plot()
    heights = ax.get_lines()[0].get_ydata().tolist()
    assert heights == [float(point.lesson.cost) for point in found.points]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["50%", "1%", "exact"]
    assert found.plot(ax) is ax
