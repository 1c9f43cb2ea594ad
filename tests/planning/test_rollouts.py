"""Sampled trajectories: steps of the model, as often as the policy says."""

import numpy as np
import pytest

from didact.errors import InvalidInput
from didact.planning import rollout, rollouts, solve
from didact.worlds import make


def test_rollouts_follow_the_model_and_stop_at_the_end():
    task = make("six-cell")
    plan = solve(task.mdp, task.true_weights)
    path = rollout(task.mdp, plan, horizon=50, rng=np.random.default_rng(0), start=2)
    assert path.pairs == ((2, 1), (5, 2), (4, 2), (3, 0))
    assert len(rollout(task.mdp, plan, horizon=2, rng=np.random.default_rng(0), start=2)) == 2


def test_rollout_frequencies_are_the_policys():
    task = make("random-grid", size=3, n_features=2, slip="0.4", seed=0)
    policy = np.tile([0.1, 0.2, 0.3, 0.4], (9, 1))
    rng = np.random.default_rng(0)
    paths = rollouts(task.mdp, policy, horizon=2, rng=rng, starts=[None] * 20_000)
    starts = np.bincount([p[0][0] for p in paths], minlength=9) / len(paths)
    actions = np.bincount([p[0][1] for p in paths], minlength=4) / len(paths)
    assert np.abs(starts - 1 / 9).max() < 0.01
    assert np.abs(actions - policy[0]).max() < 0.015
    model = task.mdp.transitions.matrix().toarray().reshape(9, 4, 9)
    moved = np.bincount([p[1][0] for p in paths if p[0] == (4, 3)], minlength=9)
    assert np.abs(moved / moved.sum() - model[4, 3]).max() < 0.05


@pytest.mark.parametrize(
    "arguments", [{"horizon": 0}, {"horizon": 3, "start": 0}, {"horizon": 3, "start": 9}]
)
def test_bad_rollouts_are_refused(arguments):
    task = make("six-cell")
    with pytest.raises(InvalidInput):
        rollout(task.mdp, task.weights, rng=np.random.default_rng(0), **arguments)
