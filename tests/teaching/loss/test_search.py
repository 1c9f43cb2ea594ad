"""The quick search finds nothing that visiting every class does not, up to rounding.

What demonstrations may still cost, against all policies, and on the model that leaks.
"""

from __future__ import annotations

import numpy as np
import pytest

import didact
from didact.bec.classes import shown_pairs
from didact.errors import InvalidInput
from didact.planning import solve
from didact.planning.batch import Losses
from didact.planning.loss import action_gaps
from didact.teaching.loss.region import region_of, worst_cell
from didact.teaching.loss.search import boundary_rounds, remaining_loss
from didact.teaching.loss.space import weight_space
from tests.all_policies import counts_and_losses, largest_loss
from tests.effort import chunks


@pytest.mark.parametrize("seed", [*range(8), 1588085971])
def test_no_point_of_a_search_loses_more_than_the_worst_class(seed):
    task = didact.make("random-grid", size=3, n_features=3, seed=seed)
    bec = didact.equivalence_class(task)
    pairs = [tuple(pair) for pair in np.argwhere(bec.plan.optimal).tolist()]
    rng = np.random.default_rng(seed)
    for size in (1, 2, 4, len(pairs)):
        chosen = [pairs[i] for i in rng.permutation(len(pairs))[:size]]
        shown = shown_pairs(bec.members, [didact.Demonstration([pair]) for pair in chosen])
        region = region_of(weight_space(bec), bec.rows.normals[bec.rows.stated_by(shown)])
        found = worst_cell(region)
        assert found.is_proved
        worst = 0.0 if found.worst is None else found.worst.loss
        for weights, lost in boundary_rounds(region, rng):
            assert lost.losses.max() <= worst + 1e-9
            inside = weights / np.linalg.norm(weights, axis=1)[:, None] @ region.basis.T
            assert (inside @ region.facets.T).min(initial=0.0) > -1e-12


@pytest.mark.parametrize("seed", range(5))
def test_half_spaces_cost_what_all_policies_say(seed):
    task = didact.make("garnet", n_states=4, n_actions=3, n_features=3, branching=2, seed=seed)
    bec = didact.equivalence_class(task)
    pairs = [tuple(pair) for pair in np.argwhere(bec.plan.optimal).tolist()]
    shown = [didact.Demonstration([pair]) for pair in pairs[:2]]
    rows = bec.rows.normals[bec.rows.stated_by(shown_pairs(bec.members, shown))]
    half, _ = remaining_loss(bec, shown)
    assert half.status == "enumerated"
    assert half.loss == pytest.approx(largest_loss(*counts_and_losses(task), rows), abs=1e-8)


def test_a_planners_witness_makes_what_is_shown_optimal_and_loses_it():
    task = didact.make("random-grid", size=5, n_features=4, seed=3)
    bec = didact.equivalence_class(task)
    shown = didact.teach(task, bec=bec, horizon=1, budget=1).demonstrations
    _, planner = remaining_loss(bec, shown)
    plan = solve(task.mdp, planner.weights)
    assert all(plan.optimal[pair] for demonstration in shown for pair in demonstration)
    lost = Losses(task, action_gaps(bec.plan)).of(np.array([planner.weights])).losses[0]
    assert planner.loss == pytest.approx(lost)
    assert planner.status == "enumerated"


def test_a_complete_lesson_costs_half_space_learners_nothing():
    task = didact.make("random-grid", size=5, n_features=4, seed=3)
    bec = didact.equivalence_class(task)
    half, _ = remaining_loss(bec, didact.teach(task, bec=bec).demonstrations)
    assert (half.status, half.weights) == ("enumerated", None)
    assert half.loss == pytest.approx(0.0, abs=1e-9)


def loss_of(bec, shown):
    rows = bec.rows.normals[bec.rows.stated_by(shown_pairs(bec.members, list(shown)))]
    return largest_loss(*counts_and_losses(bec.task), rows)


@pytest.mark.parametrize("seed", chunks(1, 6))
def test_each_prefix_loses_least_of_all_that_leave_one_out(seed):
    task = didact.make("garnet", n_states=5, n_actions=2, n_features=3, branching=2, seed=seed)
    lesson = didact.teach(task, starts="all", horizon=1, teacher="random", n=30, order="loss")
    bec, shown = lesson.bec, list(lesson.demonstrations)
    assert len(shown) >= 3
    while len(shown) > 1:
        losses = [loss_of(bec, shown[:i] + shown[i + 1 :]) for i in range(len(shown))]
        assert losses[-1] == pytest.approx(min(losses), abs=1e-8)
        shown.pop()


def test_a_lesson_in_another_order_is_the_same_lesson():
    task = didact.make("random-grid", size=5, n_features=4, seed=6)
    lesson = didact.teach(task, horizon=1)
    ordered = didact.teach(task, horizon=1, order="loss")
    assert sorted(d.pairs for d in ordered.demonstrations) == sorted(
        d.pairs for d in lesson.demonstrations
    )
    assert (ordered.status, ordered.cost) == (lesson.status, lesson.cost)
    assert sum(ordered.gains) == sum(lesson.gains)
    assert didact.check(task, ordered.demonstrations).teaches
    assert ordered.settings["order"] == "loss"
    again = didact.teach(task, horizon=1, order="loss")
    assert again.demonstrations == ordered.demonstrations


def test_prefixes_in_the_order_of_loss_lose_far_less_than_in_the_teachers():
    task = didact.make("random-grid", size=5, n_features=4, seed=2)
    bec = didact.equivalence_class(task)
    worst = {}
    for order in ("teacher", "loss"):
        lesson = didact.teach(task, bec=bec, teacher="exact", horizon=1, order=order)
        halves = lesson.demonstrations[: len(lesson.demonstrations) - 2]
        found = didact.check(task, halves, bec=bec)
        assert not found.teaches
        worst[order] = remaining_loss(bec, halves)[0].loss
    assert worst["loss"] <= worst["teacher"]


def test_lessons_within_a_bound_come_in_the_order_of_loss():
    task = didact.make("random-grid", size=5, n_features=4, seed=2)
    settings = {"horizon": 1, "loss": "0.1%", "learner_model": "half-spaces", "teacher": "exact"}
    lesson = didact.teach_within(task, **settings)
    assert (
        lesson.demonstrations == didact.teach_within(task, order="loss", **settings).demonstrations
    )
    numbers = np.argsort([d.pairs[0] for d in lesson.demonstrations], axis=0)
    assert len(numbers) == len(lesson.demonstrations)


@pytest.mark.parametrize(
    ("given", "words"),
    [({"order": "size"}, "order"), ({"order": "loss", "teacher": "uvm"}, "uvm")],
)
def test_orders_that_are_none_are_refused(given, words):
    with pytest.raises(InvalidInput, match=words):
        didact.teach(didact.make("six-cell"), **given)


def test_families_have_an_order_too():
    tasks = [didact.make("random-grid", size=3, n_features=3, seed=seed) for seed in (1, 2)]
    family = didact.Family([didact.Task(task.mdp, tasks[0].true_weights) for task in tasks])
    plain, ordered = (didact.teach(family, order=order, horizon=1) for order in (None, "loss"))
    assert set(ordered.demonstrations) == set(plain.demonstrations)
    assert ordered.is_complete
    left = [
        remaining_loss(plain.bec, lesson.demonstrations[:-1])[0].loss for lesson in (ordered, plain)
    ]
    assert left[0] <= left[1] + 1e-9
