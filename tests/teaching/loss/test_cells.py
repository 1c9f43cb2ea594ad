"""Visiting cells against all policies: each is asked, by a linear program, whether it fits."""

import numpy as np
import pytest

import didact
from didact.bec.parts import shown_pairs
from didact.planning import evaluate, solve
from didact.teaching.loss.fan import fan_of
from didact.teaching.loss.region import region_of, worst_cell
from tests.all_policies import counts_and_losses, largest_loss
from tests.effort import chunks, number


def rows_of(known, pairs):
    shown = shown_pairs(known.parts, [didact.Demonstration([pair]) for pair in pairs])
    return known.rows.normals[known.rows.stated_by(shown)]


@pytest.mark.parametrize("seed", chunks(3, 12))
def test_the_worst_cell_is_the_worst_of_all_policies_that_fit(seed):
    rng = np.random.default_rng(seed)
    task = didact.make("garnet", n_states=4, n_actions=3, n_features=3, branching=2, seed=seed)
    known = didact.equivalence_class(task)
    fan = fan_of(known)
    counts, losses = counts_and_losses(task)
    optimal = np.argwhere(known.plan.optimal)
    for size in range(4):
        pairs = [tuple(optimal[i]) for i in rng.permutation(len(optimal))[:size]]
        rows = rows_of(known, pairs)
        found = worst_cell(region_of(fan, rows))
        assert found.is_proved
        worst = 0.0 if found.worst is None else found.worst.loss
        assert worst == pytest.approx(largest_loss(counts, losses, rows), abs=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_no_draw_loses_more_and_the_worst_fits(seed):
    task = didact.make("random-grid", size=4, n_features=4, seed=seed)
    known = didact.equivalence_class(task)
    fan = fan_of(known)
    optimal = np.argwhere(known.plan.optimal)
    rng = np.random.default_rng(seed)
    rows = rows_of(known, [tuple(optimal[i]) for i in rng.permutation(len(optimal))[:3]])
    found = worst_cell(region_of(fan, rows))
    assert found.is_proved
    drawn = rng.standard_normal((number(4000, 20000), 4))
    fitting = drawn[(drawn @ rows.T >= 0).all(axis=1)] if len(rows) else drawn
    assert fan.losses.of(fitting).losses.max(initial=0.0) <= found.worst.loss + 1e-9
    weights = found.worst.weights
    assert not len(rows) or (rows @ weights).min() > -1e-9
    plan = solve(task.mdp, weights + 1e-7 * fan.truth)
    loss = evaluate(task, plan, plan=known.plan).policy_loss
    assert loss == pytest.approx(found.worst.loss, abs=1e-9)


def test_a_walk_stops_at_enough_and_can_be_cut_short():
    task = didact.make("random-grid", size=4, n_features=4, seed=1)
    known = didact.equivalence_class(task)
    region = region_of(fan_of(known), rows_of(known, [tuple(np.argwhere(known.plan.optimal)[0])]))
    whole, part = worst_cell(region), worst_cell(region, most_cells=2)
    assert not part.finished
    assert not part.is_proved
    assert part.n_cells < whole.n_cells
    assert worst_cell(region, 0.5 * whole.worst.loss).worst.loss > 0.5 * whole.worst.loss


def test_policies_of_more_than_256_actions_are_told_apart():
    """Keys of one byte took actions 0 and 256 for the same, so that cells stayed unvisited."""
    from types import SimpleNamespace

    from didact.teaching.loss.cells import Walk

    search = object.__new__(Walk)
    search.fan, search.seen, search.open = SimpleNamespace(states=np.array([0])), set(), []
    search.worst = search.least = None
    for loss, action in ((0.0, 0), (1.0, 256)):
        search._add(loss, np.array([action], dtype=np.uint32), np.ones(2))
    assert len(search.seen) == 2
    assert search.worst.loss == 1.0
