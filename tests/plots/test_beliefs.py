"""Beliefs: the quantiles of the draws."""

import numpy as np
import pytest

from didact import learn


def test_a_belief_is_its_quantiles(ax, taught):
    task, lesson = taught
    belief = learn(task.mdp, lesson.demonstrations, learner="birl", n_steps=400, seed=0)
    belief.plot(ax, truth=task.true_weights)
    thin, thick = (np.array(c.get_segments())[:, :, 0] for c in ax.collections)
    draws = belief.samples.reshape(-1, 3)
    assert np.allclose(thin.T, np.quantile(draws, [0.025, 0.975], axis=0))
    assert np.allclose(thick.T, np.quantile(draws, [0.25, 0.75], axis=0))
    _, mean, likely, truth = ax.get_lines()
    assert np.allclose(mean.get_xdata(), draws.mean(axis=0))
    assert np.allclose(likely.get_xdata(), belief.map_weights)
    marked = truth.get_xdata()
    assert np.linalg.norm(marked) == pytest.approx(np.linalg.norm(belief.map_weights))
    assert marked @ task.weights == pytest.approx(
        np.linalg.norm(marked) * np.linalg.norm(task.weights)
    )
