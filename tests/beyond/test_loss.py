"""Counterexamples and golden values of good-enough lessons."""

from itertools import combinations

import numpy as np
import pytest

import didact
from didact.bec.parts import shown_pairs
from didact.planning import solve
from didact.planning.many_losses import Losses
from didact.teaching.loss.fan import fan_of
from didact.teaching.loss.region import region_of, worst_cell


def region_of_pairs(task, pairs):
    known = didact.equivalence_class(task)
    shown = shown_pairs(known.parts, [didact.Demonstration([pair]) for pair in pairs])
    rows = known.rows.normals[known.rows.stated_by(shown)]
    return region_of(fan_of(known), rows)


def leak():
    """s1: a -> s2, b -> end; s2: c pays 1, d pays -2; every demonstration of s1 leaks."""
    moves = np.zeros((5, 2, 5))
    moves[0, 0, 1] = moves[0, 1, 2] = moves[1, 0, 3] = moves[1, 1, 4] = 1.0
    features = [[0], [0], [0], [1], [-2]]
    mdp = didact.MDP(moves, features, 0.9, start=[1, 0, 0, 0, 0], terminal=[2, 3, 4])
    return didact.Task(mdp, [1])


@pytest.mark.parametrize(("horizon", "least"), [(1, 2), (None, 1)])
def test_with_ties_nothing_lost_needs_less_than_the_exact_lesson(horizon, least):
    task = didact.make("uvm-failure")
    lesson = didact.teach(task, teacher="exact", horizon=horizon, loss=0, learner="half-spaces")
    assert len(lesson.demonstrations) == lesson.lower_bound == least
    assert lesson.loss_status == "enumerated"
    assert len(didact.teach(task, teacher="exact", horizon=1).demonstrations) == 3


def test_extreme_rays_do_not_suffice():
    task = didact.make("random-grid", size=4, n_features=4, seed=7)
    region = region_of_pairs(task, [(4, 0), (13, 1), (14, 2)])
    n, m = region.facets.shape
    rays = []
    for meeting in combinations(range(n), m - 1):
        _, sizes, across = np.linalg.svd(region.facets[list(meeting)])
        if sizes[-1] > 1e-9:
            sides = (across[-1], -across[-1])
            rays += [ray for ray in sides if (region.facets @ ray).min() > -1e-9]
    at_rays = region.fan.losses.of(np.array(rays) @ region.basis).losses.max()
    found = worst_cell(region)
    assert found.is_proved
    assert at_rays < 0.1 * found.worst.loss


def test_no_violation_in_many_draws_bounds_nothing():
    task = didact.make("random-grid", size=9, seed=0)
    exact = didact.teach(task, teacher="exact", horizon=1)
    region = region_of_pairs(task, [d.pairs[0] for d in exact.demonstrations[:8]])
    draws = np.random.default_rng(0).standard_normal((3000, len(region.inside)))
    sampled = region.fan.losses.of(region.onto_boundary(draws) @ region.basis).losses.max()
    found = worst_cell(region)
    assert found.is_proved
    assert found.worst.loss > 10 * sampled


def test_a_lesson_for_half_spaces_need_not_serve_who_plans():
    task = leak()
    region = region_of_pairs(task, [(0, 0)])
    assert worst_cell(region).worst is None or worst_cell(region).worst.loss == 0.0
    lost = Losses(task, solve(task)).of(np.array([[-1.0]]))
    assert lost.optimal[0, 0, 0]
    assert lost.losses[0] == pytest.approx(0.81 * 3)
    lesson = didact.teach(task, starts="all", teacher="exact", horizon=1, loss=0)
    assert {d.pairs[0] for d in lesson.demonstrations} >= {(1, 0)}


@pytest.mark.parametrize("seed", range(4))
def test_losses_never_rise_towards_the_truth_and_fall_with_more_shown(seed):
    task = didact.make("random-grid", size=5, n_features=4, seed=seed)
    fan = fan_of(didact.equivalence_class(task))
    drawn = np.random.default_rng(seed).standard_normal((300, 4))
    drawn = (drawn @ fan.basis.T) @ fan.basis
    along = [fan.losses.of(drawn + step * fan.truth).losses for step in (0.0, 0.2, 1.0, 5.0)]
    assert (np.diff(along, axis=0) <= 1e-9).all()
    optimal = [tuple(pair) for pair in np.argwhere(fan.known.plan.optimal).tolist()]
    worst = [worst_cell(region_of_pairs(task, optimal[:n])).worst for n in (1, 3, 9, len(optimal))]
    losses = [0.0 if cell is None else cell.loss for cell in worst]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] == pytest.approx(0.0, abs=1e-9)


GOLDEN = {"0.1%": (8, 10, 8, 11, 9, 13), "1%": (6, 6, 6, 7)}
"""Fewest single steps of 9x9 worlds with 8 features, seeds 0, 1, ..."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "seed"), [(loss, seed) for loss, sizes in GOLDEN.items() for seed in range(len(sizes))]
)
def test_fewest_single_steps(loss, seed):
    task = didact.make("random-grid", size=9, seed=seed)
    settings = {"teacher": "exact", "horizon": 1, "learner": "half-spaces", "loss_time": 600}
    lesson = didact.teach(task, loss=loss, **settings)
    assert len(lesson.demonstrations) == lesson.lower_bound == GOLDEN[loss][seed]
    assert lesson.loss_status == "enumerated"
