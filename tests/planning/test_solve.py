"""Plans: what each arithmetic promises, and named hard cases."""

import logging
from fractions import Fraction

import numpy as np
import pytest

from didact.errors import InvalidInput, InvalidNumber, InvalidParameter
from didact.mdp import MDP, Transitions
from didact.numerics.compiled import Kernel
from didact.planning import solve, sweeps
from didact.worlds import make


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
        fresh = Kernel(sweeps.residual_of.plain)
        assert fresh._dispatcher(cached=True) is fresh._dispatcher(cached=True)
    assert len([r for r in caplog.records if "compiling" in r.message]) <= 1
