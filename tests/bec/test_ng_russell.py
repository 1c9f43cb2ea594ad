"""The matrix form of the BEC against dense inverses, the paper's numbers and the exact class."""

import numpy as np
import pytest

import didact
from didact.errors import Unsupported


def dense(mdp, policy: np.ndarray) -> np.ndarray:
    """(T_pi - T_a) (I - discount T_pi)^-1 Phi, with dense matrices from the transition table."""
    n_states, n_actions = mdp.n_states, mdp.n_actions
    table = mdp.transitions.matrix().toarray().reshape(n_states, n_actions, n_states)
    moves = table.transpose(1, 0, 2)
    followed = np.einsum("sa,ast->st", policy, moves)
    inverse = np.linalg.inv(np.eye(n_states) - mdp.discount * followed)
    return np.stack([(followed - each) @ inverse @ mdp.features.floats for each in moves])


@pytest.mark.parametrize("name", ["six-cell", "chain", "random-grid", "FrozenLake-v1"])
def test_it_is_the_printed_product_of_matrices(name):
    task = didact.make(name)
    if task.mdp.has_action_features:
        task = didact.make("garnet")
    plan = didact.solve(task.mdp, task.true_weights)
    np.testing.assert_allclose(
        didact.ng_russell(task), dense(task.mdp, plan.policy), rtol=0, atol=1e-9
    )


def test_the_example_has_the_papers_constraints():
    """2.539 w0 - w1 >= 0 and -w0 >= 0 are all that is not redundant (the appendix's example)."""
    task = didact.make("six-cell")
    normals = didact.ng_russell(task).reshape(-1, 2)
    for weights, fits in [([-1, -2.54], True), ([-1, -2.53], False), ([0.01, -9], False)]:
        assert (normals @ weights >= -1e-12).all() == fits


@pytest.mark.parametrize("seed", range(5))
def test_weights_fit_all_rows_exactly_where_the_policy_is_optimal(seed):
    task = didact.make("random-grid", size=4, n_features=3, seed=seed)
    policy = didact.solve(task.mdp, task.true_weights).policy
    normals = didact.ng_russell(task, policy).reshape(-1, 3)
    drawn = np.random.default_rng(seed).normal(size=(60, 3))
    fits = [(normals @ weights >= -1e-9).all() for weights in [*drawn, task.weights]]
    optimal = []
    for weights in [*drawn, task.weights]:
        values = didact.solve(task.mdp, weights).action_values
        gap = values.max(axis=1) - np.where(policy > 0, values, np.inf).min(axis=1)
        optimal.append(gap.max() < 1e-9)
    assert fits == optimal
    assert fits[-1]


def test_what_it_refuses():
    task = didact.make("six-cell")
    with pytest.raises(Unsupported, match="give a policy"):
        didact.ng_russell(task.mdp)
    paid = didact.MDP([[[1], [1]]], features=[[[1], [0]]], discount=0.5)
    with pytest.raises(Unsupported, match="rewards of states"):
        didact.ng_russell(paid, [0])
