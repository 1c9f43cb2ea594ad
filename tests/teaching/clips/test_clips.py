"""The fewest clips: against brute force over all choices, and without naming what nobody showed."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import nnls

import didact
from didact.teaching.clips.clips import Clip, as_said, chosen_clips
from didact.worlds.simulators.point_robot import PointRobot
from tests.bec.observed.test_observe import watch
from tests.effort import number
from tests.observing import plain_setting
from tests.teaching.clips.robots import planned


def clip_of(rows):
    return Clip("rollout 1", 0, len(rows) - 1, None, None, rows[:, None], (None,) * len(rows))


def fewest(clips, setting):
    """By NNLS of every row for every choice of clips."""
    said = [as_said(clip.rows[:, 0], setting) for clip in clips]
    rows = np.concatenate([clip.rows[:, 0] for clip in clips])
    for n in range(len(clips) + 1):
        for numbers in combinations(range(len(clips)), n):
            cone = np.concatenate([np.zeros((1, rows.shape[1])), *(said[i] for i in numbers)])
            if all(nnls(cone.T, row)[1] <= 1.03 * setting.tolerance for row in rows):
                return n
    raise AssertionError


@pytest.mark.parametrize("seed", range(12))
def test_no_fewer_clips_say_as_much(seed):
    rng = np.random.default_rng(seed)
    truth = np.array([1.0, 0.0, 0.0])
    rows = rng.normal(size=(7, 2, 3)) * [1, 1, 1]
    rows[..., 0] = np.abs(rows[..., 0]) - 0.05
    setting = plain_setting(truth, 0.2)
    clips = [clip_of(each) for each in rows]
    assert len(chosen_clips(clips, setting)) == fewest(clips, setting)


def test_near_ties_do_not_name_the_true_reward():
    """Steps that err a little, to all sides: the rewards that fit are around the truth, not it."""
    truth, turns = np.array([1.0, 0.0, 0.0]), np.linspace(0, 2 * np.pi, 7)[:-1]
    around = np.stack([np.full(6, -0.1), np.cos(turns), np.sin(turns)], axis=1)
    said = as_said(around, plain_setting(truth, 0.2))
    np.testing.assert_allclose(said @ truth, 0.05)
    assert np.linalg.norm(said - around, axis=1).max() < 0.2
    nearby = np.array([1.0, 0.04, 0.0])
    assert (said @ nearby > 0).all()


def test_a_constant_for_every_step_changes_no_lesson():
    """The features of a place add up to 1: a constant is a reward that no row sees."""
    robot, policy = planned(4, seed=1)
    richer = PointRobot(4, seed=1, weights=robot.weights + 3.0)
    one, other = (watch(env, policy, discount=0.95, n_rollouts=number(5, 8), length=number(12, 20))
                  for env in (robot, richer))  # fmt: skip
    assert one.setting.blind.shape == (1, 4)
    np.testing.assert_allclose(np.abs(one.setting.blind[0] / one.setting.scale).std(), 0, atol=1e-9)
    first, second = didact.teach(one), didact.teach(other)
    assert [repr(clip) for clip in first.clips] == [repr(clip) for clip in second.clips]
    np.testing.assert_allclose(first.weights, second.weights, atol=1e-3)
    assert first.width == pytest.approx(second.width, rel=1e-2)
    assert (first.weights * one.setting.scale) @ one.setting.blind[0] == pytest.approx(0, abs=1e-9)
