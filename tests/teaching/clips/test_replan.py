"""What a learner reaches who plans for the taught weights, and the region of weights that fit."""

from dataclasses import replace

import numpy as np
import pytest
from gymnasium import spaces

import didact
from didact.report.words.observed import lesson_document, lesson_lines
from didact.teaching.clips.lesson import ClipLesson, Replanned
from didact.teaching.clips.replan import replanned_words
from tests.observing import observe


class Wobbling:
    """Steps pay 1. Action 1 wobbles, and twice in a row it ends the episode. What shows of a wobble
    is -2 instead of -1: a lesson of single deviations teaches that number, and not that to end is
    bad."""

    action_space = spaces.Discrete(2)
    weights = np.array([1.0, 0.0])
    feature_names = ("alive", "-wobble")
    time_limit = 50

    def start(self, n, rng):
        return np.zeros((n, 1))

    def step(self, states, actions):
        wobbles = np.asarray(actions) == 1
        ended = wobbles & (states[:, 0] == 1)
        return wobbles[:, None].astype(float), np.ones(len(states)), ended

    def features(self, observation, action, next_observation, terminated):
        return np.stack([np.ones(len(observation)), -1.0 - next_observation[:, 0]], axis=1)

    def best_policy(self, discount):
        return lambda seen: np.zeros(len(np.atleast_2d(seen)), dtype=int)


@pytest.fixture(scope="module")
def wobbling():
    seen = observe(Wobbling(), discount=0.9, n_rollouts=5, length=5, tolerance=0.05)
    return seen, didact.teach(seen)


def test_a_lesson_whose_learner_would_end_everything_does_not_hold(wobbling):
    seen, lesson = wobbling
    told = didact.certify(seen, lesson, n_states=300).certificate
    assert told.open_share <= told.target
    assert told.replanned.own == 50
    assert told.replanned.taught == 2
    assert told.replanned.is_planned
    assert not told.replanned.keeps_return
    assert not told.holds
    assert didact.certify(seen, lesson, n_states=300, replan=False).certificate.holds
    assert "the learner follows this policy after each action" in told.assumptions


def test_what_is_open_and_what_was_reached_is_told(wobbling):
    seen, lesson = wobbling
    certified = didact.certify(seen, lesson, n_states=300)
    lines = "\n".join(lesson_lines(certified))
    assert "alive 0 [-1, 1], -wobble 1 [0, 1] (in brackets: all weights of length 1 that" in lines
    assert "the best for the taught weights returns 2 an episode, the agent 50" in lines
    document = lesson_document(certified)
    assert document["weight_bounds"] == [[-1.0, 1.0], [0.0, 1.0]]
    assert document["certificate"]["replanned"]["keeps_return"] is False


def test_a_lesson_does_not_hold_where_no_other_policy_was_tried():
    own = Replanned(1, 1, 5.0, 5.0, 5.0, (1.0,), 5.0, 5.0, is_planned=False)
    assert not own.keeps_return
    assert replace(own, n_policies=2).keeps_return
    assert "no time for a policy beside the agent's" in replanned_words(own, ("x",))


def test_replanning_keeps_the_return_where_the_weights_are_taught():
    seen = didact.observe("point-robot", discount=0.9, n_rollouts=20, length=20)
    told = didact.certify(seen, didact.teach(seen), target=0.05).certificate
    assert told.replanned.keeps_return
    assert told.holds
    assert told.replanned.taught >= 0.99 * told.replanned.own


@pytest.mark.parametrize("seed", range(8))
def test_bounds_of_weights_are_those_of_dense_draws(seed, wobbling):
    """Against a million directions: none that fits is outside, and some come near."""
    rng = np.random.default_rng(seed)
    seen = wobbling[0]
    k = 3
    truth = rng.normal(size=k)
    rows = rng.normal(size=(5 + seed, k))
    rows *= np.sign(rows @ truth)[:, None]
    setting = replace(seen.setting, weights=truth, scale=np.exp(rng.normal(size=k)), blind=None)

    class Given(ClipLesson):
        cone = setting.scaled(rows)

    lesson = Given(replace(seen, setting=setting), (), ())
    draws = rng.normal(size=(300_000, k))
    draws /= np.linalg.norm(draws, axis=1)[:, None]
    fits = draws[(draws @ rows.T >= 0).all(axis=1)]
    low, high = lesson.weight_bounds.T
    assert (fits.min(axis=0) >= low - 1e-9).all()
    assert (fits.max(axis=0) <= high + 1e-9).all()
    slack = np.maximum(fits.min(axis=0) - low, high - fits.max(axis=0))
    assert (slack < 0.15).all() or len(fits) < 2000
    assert ((lesson.extremes @ rows.T) >= -1e-7).all()
