"""Paired comparisons: the same as single runs, whatever the number of processes."""

import json

import numpy as np
import pytest

from didact.active import ask, compare
from didact.active.compare import StrategyComparison, _filled
from didact.errors import InvalidParameter
from didact.random import stream
from didact.worlds import make


def worlds(n=3):
    return [make("random-grid", size=3, n_features=3, seed=seed) for seed in range(n)]


def test_a_comparison_is_single_runs_with_the_same_seed_for_every_strategy(quick):
    names = ("random", "max-var", "scot")
    done = []
    found = compare(
        worlds(), names, n_queries=4, horizon=2, seed=7,
        progress=lambda *counts: done.append(counts), **quick,
    )  # fmt: skip
    assert done == [(1, 3), (2, 3), (3, 3)]
    assert found.policy_loss.shape == found.wrong_actions.shape == (3, 3, 5)
    for i, task in enumerate(worlds()):
        seed = int(stream(7, "compare", i).integers(2**63))
        for j, name in enumerate(names):
            run = ask(task, strategy=name, n_queries=4, horizon=2, seed=seed, **quick)
            n = run.n_queries + 1
            assert found.n_asked[i, j] == run.n_queries
            assert found.policy_loss[i, j, :n].tolist() == run.policy_losses.tolist()
            assert (found.policy_loss[i, j, n:] == run.policy_losses[-1]).all()
            assert found.wrong_actions[i, j, :n].tolist() == run.wrong_actions.tolist()
        assert len(set(found.policy_loss[i, :, 0])) == 1  # before the first question
    assert (found.n_asked[:, 2] < 4).any()
    json.dumps(found.document(), allow_nan=False)


def test_a_run_that_ended_early_keeps_its_last_loss():
    assert _filled(np.array([3.0, 2.0]), 4).tolist() == [3.0, 2.0, 2.0, 2.0]


def by_hand() -> StrategyComparison:
    loss = np.array([[[9, 4.0, 2.0], [9, 2.0, 0.0]], [[7, 3.0, 3.0], [7, 1.0, 1.0]]])
    ones = np.ones((2, 2))
    return StrategyComparison(("one", "two"), ("random", "mine"), loss, loss / 10, ones, ones, {})


def test_areas_and_paired_differences():
    found = by_hand()
    assert found.area().tolist() == [[3.0, 1.0], [3.0, 1.0]]
    baseline, mine = found.table()
    assert (baseline["area"], baseline["difference"]) == (3.0, 0.0)
    assert (mine["area"], mine["difference"], mine["low"], mine["high"]) == (1.0, -2.0, -2.0, -2.0)
    assert (mine["last"], mine["n_asked"]) == (0.5, 1.0)
    assert (mine["median"], mine["n_better"], baseline["n_better"]) == (1.0, 2, 0)
    assert found.table("wrong_actions", baseline="mine")[0]["difference"] == pytest.approx(0.2)
    with pytest.raises(InvalidParameter, match="measure must be"):
        found.area("regret")
    with pytest.raises(InvalidParameter, match="baseline must be 'random' or 'mine'; it is 'scot'"):
        found.table(baseline="scot")


@pytest.mark.parametrize(
    ("tasks", "names", "options", "message"),
    [
        ([], ("random",), {}, "at least one task and one strategy"),
        (None, (), {}, "at least one task and one strategy"),
        (None, ("random", "random"), {}, "strategies must differ"),
        (None, ("best",), {}, "no strategy is called 'best'"),
        (None, ("random",), {"jobs": 0}, "jobs must be a whole number from 1"),
        (None, ("random",), {"n_queries": 0}, "n_queries must be a whole number from 1"),
    ],
)
def test_bad_comparisons_are_told_in_one_line(tasks, names, options, message):
    with pytest.raises(InvalidParameter, match=message):
        compare(worlds(1) if tasks is None else tasks, names, **options)


def test_processes_change_nothing():
    settings = {"n_queries": 2, "horizon": 2, "n_steps": 200, "n_chains": 2, "seed": 1}
    one, two = (
        compare(worlds(2), ("max-var", "max-infogain"), jobs=n, **settings).document()
        for n in (1, 2)
    )
    assert one == two
