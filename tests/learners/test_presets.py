"""The paper's settings as a preset of `learn`: what the appendix prints."""

import numpy as np
import pytest

from didact.errors import InvalidParameter, NotMixed
from didact.learners import learn
from didact.learners.presets import published_chain
from didact.worlds import make


def test_the_preset_is_the_published_chain():
    """Appendix: alpha 100, 10,000 steps of size 0.005; one chain, nothing dropped."""
    task = make("six-cell")
    shown = [[(2, 1), (5, 2), (4, 2), (3, 0)]]
    with pytest.warns(NotMixed):
        belief = learn(task, shown, preset="paper", seed=3)
    assert belief.samples.shape == (1, 10_000, 2)
    np.testing.assert_allclose(np.abs(belief.samples).sum(axis=2), 1.0)
    told = {"confidence": belief.confidence, **belief.settings}
    wanted = {"confidence": 100.0, "n_steps": 10_000, "step_size": 0.005, "burn_in": 0}
    assert {name: told[name] for name in wanted} == wanted
    with pytest.warns(NotMixed):
        again = learn(task, shown, **published_chain(2), seed=3)
    np.testing.assert_array_equal(belief.samples, again.samples)


def test_the_preset_of_bio_irl_and_options_that_win():
    """Appendix, ball sorting: 1,000 steps of size 0.05, lambda 100, greedy matching."""
    task = make("six-cell")
    with pytest.warns(NotMixed):
        belief = learn(task, [[(5, 2)]], learner="bio-irl", preset="paper", n_steps=50)
    wanted = {"trust": 100.0, "matching": "greedy", "step_size": 0.05, "n_steps": 50}
    assert {name: belief.settings[name] for name in wanted} == wanted


def test_what_a_preset_refuses():
    task = make("six-cell")
    with pytest.raises(InvalidParameter, match="must be 'paper'"):
        learn(task, [], preset="papre")
    with pytest.raises(InvalidParameter, match="birl and bio-irl"):
        learn(task, [], learner="ml-irl", preset="paper")
