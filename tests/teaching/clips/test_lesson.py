"""Lessons of clips: without mistakes, few, and enough to plan by.

The fewest clips: against brute force over all choices, and without naming what nobody showed.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import nnls

import didact
from didact.bec.observed.result import distances_to_cone
from didact.errors import InvalidParameter
from didact.teaching.clips.lesson import Clip, ClipLesson, as_said, chosen_clips, clips_of
from didact.worlds.simulators.classics import LQR, MountainCar, PointRobot
from tests.bec.observed.test_observe import Coin, watch
from tests.effort import number
from tests.observing import observe, plain_setting
from tests.teaching.clips.robots import mean_return, planned


@pytest.mark.parametrize(
    ("k", "seed"),
    [(3, 1), *(pytest.param(*more, marks=pytest.mark.slow) for more in ((4, 2), (6, 1)))],
)
def test_planning_for_what_clips_teach_is_as_good_as_the_policy(k, seed):
    robot, policy = planned(k, seed)
    seen = watch(robot, policy, discount=0.95, n_rollouts=number(8, 20), length=number(20, 30))
    lesson = didact.teach(seen)
    assert lesson.open_seen == 0
    _, learned = planned(k, seed, weights=tuple(lesson.weights))
    _, nothing = planned(k, seed, weights=tuple(np.ones(k)))
    best, poor = mean_return(robot, policy), mean_return(robot, nothing)
    assert mean_return(robot, learned) - poor >= 0.995 * (best - poor)


def test_the_true_reward_fits_every_row_that_is_shown():
    robot, policy = planned(4, 2)
    seen = watch(robot, policy, discount=0.95, n_rollouts=number(5, 10), length=number(20, 30))
    lesson = didact.teach(seen)
    assert (lesson.cone @ seen.setting.truth >= -1e-12).all()
    assert seen.mistaken.any(), "otherwise this says nothing"


def test_clips_are_runs_without_a_mistake():
    env = Coin()
    env.weights = np.array([1.0, 0.0])
    seen = watch(env, lambda o: (np.atleast_2d(o)[:, 0] < 0.5).astype(int), tolerance=0.1,
                 n_rollouts=30)  # fmt: skip
    clips = clips_of(seen)
    right = np.unique(seen.rollout[~seen.mistaken])
    assert [len(clip) for clip in clips] == [6] * len(right)
    assert len(clips_of(seen, whole=True)) == len(right)
    lesson = didact.teach(seen, demonstrations="rollouts")
    assert len(lesson.clips) == 1, "every step says the same"


def test_all_rows_of_all_clips_are_near_the_cone_of_the_chosen_ones():
    robot, policy = planned(6, 1)
    seen = watch(robot, policy, discount=0.95, n_rollouts=number(8, 20), length=number(20, 30))
    lesson = didact.teach(seen)
    assert len(lesson.clips) < len(clips_of(seen))
    rows = seen.scaled_rows[~seen.mistaken].reshape(-1, 6)
    fitting = rows[rows @ seen.setting.truth >= 0]
    assert distances_to_cone(lesson.cone, fitting).lengths.max() <= 1.05 * seen.setting.tolerance


def test_other_options_are_refused():
    with pytest.raises(InvalidParameter, match="demonstrations must be"):
        didact.teach(watch(), demonstrations="films")


@pytest.mark.parametrize("change", [{"teacher": "exact"}, {"loss": "1%"}, {"seed": 3}, {"x": 1}])
def test_options_that_a_lesson_of_clips_does_not_look_at_are_refused(change):
    with pytest.raises(InvalidParameter, match=next(iter(change))):
        didact.teach(watch(), **change)


def test_clips_that_contradict_each_other_within_the_tolerance_still_teach_the_truth():
    """All clips of a car: near ties lie on both sides, and no weights have a margin from all."""
    car = MountainCar()
    seen = didact.observe(car, discount=0.99, n_rollouts=number(4, 8), length=60, seed=2)
    clips = tuple(clips_of(seen))
    weights = ClipLesson(seen, clips, clips).weights
    assert weights @ (car.weights / np.linalg.norm(car.weights)) > 0.9


@pytest.mark.parametrize("step", [0.5, 1.0])
def test_the_class_of_a_linear_system_is_as_wide_as_the_steps_around_its_actions(step):
    """Brute force over many directions across the truth, each as far as every row allows."""
    cart = LQR(weights=[1.0, 0.3, 0.2])
    seen = observe(cart, discount=0.9, actions=step, n_rollouts=6, length=8)
    lesson = didact.teach(seen)
    truth = seen.setting.truth
    across = np.linalg.svd(truth[None])[2][1:]
    turns = np.linspace(0, 2 * np.pi, 2000)
    directions = np.stack([np.cos(turns), np.sin(turns)], axis=1) @ across
    slopes = lesson.cone @ directions.T
    room = np.where(
        slopes < 0, (lesson.cone @ truth)[:, None] / -np.minimum(slopes, -1e-300), np.inf
    )
    points = (directions * room.min(axis=0)[:, None]) @ across.T
    assert lesson.width == pytest.approx(np.ptp(points, axis=0).max(), rel=1e-2)


def test_steps_twice_as_large_make_the_class_wider():
    cart = LQR(weights=[1.0, 0.3, 0.2])
    given = dict(discount=0.9, n_rollouts=6, length=8)
    widths = [didact.teach(observe(cart, actions=a, **given)).width for a in (0.25, 1.0)]
    assert widths[0] < widths[1]


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
