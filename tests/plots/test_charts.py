"""Charts: curves, frontiers, transfers, bars and beliefs show the numbers that they were given."""

import numpy as np
import pytest

import didact
from didact import ask, learn, make, plots, rank
from didact.errors import InvalidInput, InvalidParameter
from didact.teaching import Difficulty


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


pytest.importorskip("matplotlib")


def test_costs_are_drawn_over_bounds():
    task = didact.make("random-grid", size=4, n_features=3, seed=1)
    found = didact.frontier(
        task, losses=["50%", "1%"], horizon=1, learner_model="half-spaces", time_limit=600.0
    )
    ax = found.plot()
    heights = ax.get_lines()[0].get_ydata().tolist()
    assert heights == [float(point.lesson.cost) for point in found.points]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["50%", "1%", "exact"]
    assert found.plot(ax) is ax


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


def test_a_belief_is_its_quantiles(ax, taught):
    task, lesson = taught
    belief = learn(task.mdp, lesson.demonstrations, learner="birl", n_steps=400, seed=0)
    belief.plot(ax, truth=task.true_weights)
    thin, thick = (np.array(c.get_segments())[:, :, 0] for c in ax.collections)
    draws = belief.samples.reshape(-1, 3)
    assert np.allclose(thin.T, np.quantile(draws, [0.025, 0.975], axis=0))
    assert np.allclose(thick.T, np.quantile(draws, [0.25, 0.75], axis=0))
    _, mean, likely, truth = ax.get_lines()
    assert np.allclose(mean.get_xdata(), draws.mean(axis=0))
    assert np.allclose(likely.get_xdata(), belief.map_weights)
    marked = truth.get_xdata()
    assert np.linalg.norm(marked) == pytest.approx(np.linalg.norm(belief.map_weights))
    assert marked @ task.weights == pytest.approx(
        np.linalg.norm(marked) * np.linalg.norm(task.weights)
    )


def test_bounds_of_weights_and_counts_of_constraints_are_drawn():
    import matplotlib.pyplot as plt

    task = make("random-grid", size=4, n_features=3, seed=1)
    found = didact.identify(task, ["discount=1/2"])
    ax = found.plot()
    lines = [segment[:, 0].tolist() for segment in ax.collections[0].get_segments()]
    for ends, pair in zip(lines, found.bounds, strict=True):
        for drawn, bound, limit in zip(ends, pair, ax.get_xlim(), strict=True):
            assert drawn == pytest.approx(limit if bound.value is None else float(bound.value))
    attacked = didact.attack(task, didact.teach_robust(task, lies=1, horizon=1))
    ax = attacked.plot()
    assert [bar.get_width() for bar in ax.patches] == [n for _, n in attacked.stated]
    assert plots.stated(attacked, ax) is ax
    plt.close("all")
