"""Direct solves end where inexact evaluations go in circles, and agree with exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from didact import MDP, Task, ask, evaluate, learn, solve, teach
from didact.planning.derived import reward_reach, reward_table
from didact.planning.direct import iterate_directly
from didact.planning.floats import plan_in_floats
from tests.effort import chunks
from tests.laws.test_hard_models import draw_task

F = Fraction
CIRCLING = (
    ({1: F(3, 4), 0: F(1, 4)}, {0: F(3, 10), 1: F(3, 10), 3: F(2, 5)},
     {1: F(4, 7), 2: F(2, 7), 0: F(1, 7)}),
    ({1: F(1)}, {3: F(1, 2), 1: F(1, 2)}, {3: F(2, 3), 1: F(1, 3)}),
    ({1: F(1, 2), 0: F(1, 2)}, {2: F(1)}, {3: F(4, 5), 0: F(1, 5)}),
    ({}, {}, {}),
)  # fmt: skip
"""Rows of a model on which loose evaluations and greedy sweeps undo each other."""


@pytest.fixture(scope="module")
def circling():
    moves = np.zeros((4, 3, 4), dtype=object)
    for state, rows in enumerate(CIRCLING):
        for action, row in enumerate(rows):
            for successor, probability in row.items():
                moves[state, action, successor] = probability
    mdp = MDP(moves, [[0, 1], [1, 0], [1, 0], [0, 1]], "0.99", terminal=[3])
    return Task(mdp, [-2, -3])


def test_every_verb_answers_where_evaluations_go_in_circles(circling):
    exact = solve(circling.mdp, [-2, -3], arithmetic="exact")
    usual = solve(circling.mdp, [-2, -3])
    assert usual.is_proved
    assert (usual.optimal == exact.optimal).all()
    assert teach(circling).status == teach(circling, arithmetic="exact").status
    assert evaluate(circling, [-2, -3.5]).policy_loss >= 0
    assert learn(circling.mdp, [[(1, 2)]], learner="ml-irl").map_weights.shape == (2,)
    assert learn(circling.mdp, [[(1, 2)]], n_steps=100, n_chains=1).n_draws > 0
    assert len(ask(circling, n_queries=1, n_steps=100, n_chains=1).demonstrations) == 1


@pytest.mark.parametrize("number", chunks(30, 60))
def test_direct_solves_agree_with_exact_arithmetic(number):
    task = draw_task(number)
    rewards, _ = reward_table(task.mdp, task.weights)
    policy = np.zeros(task.mdp.n_states, dtype=np.uint32)
    allowed = np.ones(rewards.size, dtype=np.uint8)
    values, _ = iterate_directly(task.mdp, rewards, allowed, policy)
    exact = solve(task.mdp, task.true_weights, arithmetic="exact")
    bound = plan_in_floats(task.mdp, rewards, float(reward_reach(task.mdp, task.weights)))
    assert np.abs(values - exact.values).max() <= 2 * bound.error_bound
    going = ~task.mdp.terminal
    loss = exact.values - exact.action_values[np.arange(task.mdp.n_states), policy]
    assert loss[going].max(initial=0.0) <= 4 * bound.error_bound


def test_policies_that_come_again_end_the_rounds(circling, monkeypatch):
    """Values that err at random never let policy iteration settle; the least residual is kept."""
    rng = np.random.default_rng(0)
    module = "didact.planning.direct.discounted_sums"
    right = iterate_directly.__globals__["discounted_sums"]
    monkeypatch.setattr(module, lambda *given: right(*given) + rng.normal(size=(4, 1)))
    rewards, _ = reward_table(circling.mdp, circling.weights)
    values, rounds = iterate_directly(
        circling.mdp, rewards, np.ones(12, dtype=np.uint8), np.zeros(4, dtype=np.uint32)
    )
    assert rounds <= 81
    assert np.isfinite(values).all()


def test_the_bound_on_rewards_does_not_grow_with_the_scale_of_a_feature():
    """One feature is small and its weight large: their product counts, not the largest of each."""
    mdp = MDP([[[1, 0]], [[0, 1]]], [["1e-6", 0], [0, 1]], "0.9")
    assert reward_reach(mdp, np.array([1e6, 1.0])) == pytest.approx(2.0)
    rows = reward_reach(mdp, np.array([[1e6, 1.0], [0.0, 1.0]]))
    assert rows == pytest.approx([2.0, 1.0])
