"""What demonstrations may still cost, against all policies, and on the model that leaks."""

import numpy as np
import pytest

import didact
from didact.bec.classes import shown_pairs
from didact.planning import solve
from didact.planning.batch import Losses
from didact.planning.loss import action_gaps
from didact.teaching.loss.remaining import remaining_loss
from tests.all_policies import counts_and_losses, largest_loss


@pytest.mark.parametrize("seed", range(5))
def test_half_spaces_cost_what_all_policies_say(seed):
    task = didact.make("garnet", n_states=4, n_actions=3, n_features=3, branching=2, seed=seed)
    known = didact.equivalence_class(task)
    pairs = [tuple(pair) for pair in np.argwhere(known.plan.optimal).tolist()]
    shown = [didact.Demonstration([pair]) for pair in pairs[:2]]
    rows = known.rows.normals[known.rows.stated_by(shown_pairs(known.parts, shown))]
    half, _ = remaining_loss(known, shown)
    assert half.status == "enumerated"
    assert half.loss == pytest.approx(largest_loss(*counts_and_losses(task), rows), abs=1e-8)


def test_a_planners_witness_makes_what_is_shown_optimal_and_loses_it():
    task = didact.make("random-grid", size=5, n_features=4, seed=3)
    known = didact.equivalence_class(task)
    shown = didact.teach(task, known=known, horizon=1, budget=1).demonstrations
    _, planner = remaining_loss(known, shown)
    plan = solve(task.mdp, planner.weights)
    assert all(plan.optimal[pair] for demonstration in shown for pair in demonstration)
    lost = Losses(task, action_gaps(known.plan)).of(np.array([planner.weights])).losses[0]
    assert planner.loss == pytest.approx(lost)
    assert planner.status == "enumerated"


def test_a_complete_lesson_costs_half_space_learners_nothing():
    task = didact.make("random-grid", size=5, n_features=4, seed=3)
    known = didact.equivalence_class(task)
    half, _ = remaining_loss(known, didact.teach(task, known=known).demonstrations)
    assert (half.status, half.weights) == ("enumerated", None)
    assert half.loss == pytest.approx(0.0, abs=1e-9)
