"""Successor features: routes agree, errors are bounded, large systems too."""

import numpy as np
import pytest

from didact.errors import InvalidParameter
from didact.planning import solve, successor_features
from didact.planning.solve import discounted_sums, policy_matrix
from didact.worlds import make


def uniform(mdp):
    return np.where(mdp.terminal[:, None], 0.0, 1.0 / mdp.n_actions) * np.ones(mdp.n_actions)


@pytest.mark.parametrize("slip", [0, "0.1"])
@pytest.mark.parametrize("chosen", ["optimal", "uniform"])
def test_every_route_gives_the_same_counts(slip, chosen, monkeypatch):
    task = make("random-grid", size=8, n_features=3, slip=slip, terminals=2, seed=4)
    mdp = task.mdp
    policy = solve(mdp, task.true_weights).policy if chosen == "optimal" else uniform(mdp)
    counts = [successor_features(mdp, policy)]
    monkeypatch.setitem(discounted_sums.__globals__, "DENSE_STATES", 0)
    counts.append(successor_features(mdp, policy))
    monkeypatch.setitem(discounted_sums.__globals__, "DIRECT_STATES", 0)
    counts.append(successor_features(mdp, policy))
    for other in counts[1:]:
        gap = np.abs(other.pairs - counts[0].pairs).max()
        assert gap <= other.error_bound + counts[0].error_bound
        assert other.error_bound < 1e-11


def test_a_truncated_series_agrees():
    task = make("random-grid", size=5, n_features=3, slip="0.2", discount="0.5")
    mdp = task.mdp
    policy = uniform(mdp)
    moves = policy_matrix(mdp, policy).toarray()
    total, term = np.zeros((25, 3)), mdp.features.floats.copy()
    for _ in range(60):
        total += term
        term = mdp.discount * moves @ term
    np.testing.assert_allclose(successor_features(mdp, policy).states, total, atol=1e-15 + 0.5**59)


def test_exact_counts_need_a_uniform_choice():
    task = make("six-cell")
    lopsided = np.tile([0.7, 0.3, 0, 0], (6, 1))
    with pytest.raises(InvalidParameter, match="equal probability"):
        successor_features(task.mdp, lopsided, arithmetic="exact")


def test_the_callers_policy_is_left_alone():
    task = make("six-cell")
    policy = solve(task.mdp, task.true_weights).policy
    before = policy.copy()
    successor_features(task.mdp, policy)
    assert (policy == before).all()
