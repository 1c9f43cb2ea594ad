"""Plans: what each arithmetic promises, and named hard cases."""

import logging
from fractions import Fraction

import numpy as np
import pytest

from didact import Task, ask, evaluate, learn, teach
from didact.errors import InvalidInput, InvalidNumber, InvalidParameter
from didact.mdp import MDP, Transitions
from didact.numerics.compiled import Kernel
from didact.planning import kernels, solve
from didact.planning.kernels import reward_reach, reward_table
from didact.planning.solve import iterate_directly, plan_in_floats
from didact.worlds import make
from tests.effort import chunks
from tests.laws.test_hard_models import draw_task


def two_ways(first, second, discount="0.9"):
    """One choice between two terminal states that pay these amounts."""
    rows = [(0, 0, 1, 1), (0, 1, 2, 1)]
    return MDP(
        Transitions.from_rows(rows, 3, 2), [[0], [first], [second]], discount, terminal=[1, 2]
    )


def test_a_decimal_tie_stays_a_tie():
    """3 * 0.1 - 0.3 is 5.6e-17 in floats and zero in truth."""
    rows = [(0, 0, 1, 1), (0, 1, 2, 1)]
    mdp = MDP(Transitions.from_rows(rows, 3, 2), [[0, 0], [3, 0], [0, 1]], 0.9, terminal=[1, 2])
    plan = solve(mdp, [0.1, 0.3])
    assert plan.optimal_actions(0) == [0, 1]
    assert (plan.n_close, plan.n_settled) == (1, 1)


def test_a_difference_below_float_precision_is_seen():
    plan = solve(two_ways(1, "1.00000000000000000000000001"), [1])
    assert plan.optimal_actions(0) == [1]
    assert plan.is_proved


def test_float_mode_counts_what_it_cannot_settle():
    plan = solve(two_ways(1, "1.00000000000000000000000001"), [1], arithmetic="float")
    assert plan.optimal_actions(0) == [0, 1]
    assert (plan.n_close, plan.n_settled, plan.is_proved) == (1, 0, False)


def test_exact_values_of_a_two_cycle():
    rows = [(0, 0, 1, 1), (1, 0, 0, 1)]
    mdp = MDP(Transitions.from_rows(rows, 2, 1), [[1], [0]], "1/2")
    plan = solve(mdp, [1], arithmetic="exact")
    assert plan.exact_values == (Fraction(4, 3), Fraction(2, 3))


@pytest.mark.parametrize("discount", ["0.999999", "0.999999999"])
@pytest.mark.parametrize("slip", [0, "0.2"])
def test_discounts_near_one_keep_their_bound(discount, slip):
    task = make("random-grid", size=4, n_features=3, slip=slip, discount=discount, seed=1)
    exact = solve(task.mdp, task.true_weights, arithmetic="exact")
    quick = solve(task.mdp, task.true_weights, arithmetic="float")
    assert np.abs(quick.action_values - exact.action_values).max() <= quick.error_bound
    assert (solve(task.mdp, task.true_weights).optimal == exact.optimal).all()


def test_scaling_weights_changes_nothing():
    task = make("random-grid", size=5, n_features=4, slip="0.1", seed=3)
    plan = solve(task.mdp, task.weights)
    for factor in (1e-12, 1e12):
        assert (solve(task.mdp, task.weights * factor).optimal == plan.optimal).all()


def test_zero_weights_tie_everything():
    task = make("random-grid", size=3, n_features=2)
    plan = solve(task.mdp, [0, 0])
    assert plan.optimal.all()
    assert plan.error_bound < 1e-200


@pytest.mark.parametrize(
    ("weights", "error"),
    [([1], InvalidInput), ([1, np.nan], InvalidNumber), ([1e308, 1e308], InvalidNumber)],
)
def test_bad_weights_are_refused(weights, error):
    task = make("random-grid", size=3, n_features=2, discount="0.9")
    with pytest.raises(error):
        solve(task.mdp, weights)


def test_unknown_arithmetic_is_refused():
    task = make("six-cell")
    with pytest.raises(InvalidParameter, match="arithmetic must be"):
        solve(task.mdp, task.weights, arithmetic="double")


@pytest.mark.parametrize("slip", [0, "0.2"])
def test_plain_and_compiled_kernels_give_the_same_bits(slip, monkeypatch):
    task = make("random-grid", size=7, n_features=4, slip=slip, seed=5)
    monkeypatch.setattr(Kernel, "run", lambda self, work, *given: self.compiled(*given))
    compiled = solve(task.mdp, task.true_weights, arithmetic="float")
    monkeypatch.setattr(Kernel, "run", lambda self, work, *given: self.plain(*given))
    plain = solve(task.mdp, task.true_weights, arithmetic="float")
    assert (plain.action_values == compiled.action_values).all()
    assert plain.error_bound == compiled.error_bound


@pytest.mark.parametrize("slip", [0, "0.2"])
def test_larger_worlds_agree_with_scipy(slip):
    """A second solver: value iteration on the sparse matrix, to the same residual."""
    task = make("random-grid", size=40, n_features=6, slip=slip, seed=2)
    mdp = task.mdp
    plan = solve(mdp, task.true_weights, arithmetic="float")
    matrix = mdp.transitions.matrix()
    rewards = mdp.features.floats @ task.weights
    values = np.zeros(mdp.n_states)
    for _ in range(800):
        values = rewards + mdp.discount * (matrix @ values).reshape(mdp.n_states, -1).max(axis=1)
    assert np.abs(plan.values - values).max() < 1e-11
    assert plan.error_bound < 1e-9


def test_policy_iteration_survives_ties_everywhere():
    """Equal rewards everywhere: every policy is optimal and nothing cycles."""
    task = make("random-grid", size=30, n_features=1, slip="0.2")
    assert solve(task.mdp, [1], arithmetic="float").optimal.all()


def test_compiling_is_announced_once(caplog, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    with caplog.at_level(logging.INFO, logger="didact"):
        fresh = Kernel(kernels.residual_of.plain)
        assert fresh._dispatcher(cached=True) is fresh._dispatcher(cached=True)
    assert len([r for r in caplog.records if "compiling" in r.message]) <= 1


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
    names = iterate_directly.__globals__
    right = names["discounted_sums"]
    wrong = lambda *given: right(*given) + rng.normal(size=(4, 1))  # noqa: E731
    monkeypatch.setitem(names, "discounted_sums", wrong)
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
