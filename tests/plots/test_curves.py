"""Runs: the losses that they hold."""

import pytest

from didact import ask
from didact.errors import InvalidParameter


def test_a_run_is_its_losses_and_runs_share_axes(ax, taught):
    task, _ = taught
    runs = [ask(task, strategy=s, n_queries=2, n_steps=200, seed=0) for s in ("random", "max-var")]
    for run in runs:
        run.plot(ax)
    assert [list(line.get_ydata()) for line in ax.get_lines()] == [
        run.policy_losses.tolist() for run in runs
    ]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["random", "max-var"]
    runs[0].plot(ax, measure="covered", color="black")
    assert ax.get_lines()[-1].get_color() == "black"
    assert list(ax.get_lines()[-1].get_ydata()) == [step.covered for step in runs[0].steps]
    with pytest.raises(InvalidParameter, match="measure must be policy_loss, "):
        runs[0].plot(ax, measure="loss")
