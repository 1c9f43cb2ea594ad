"""Certificates keep their promise: exact coverage of the bound, and of what it is made of."""

from dataclasses import replace

import numpy as np
import pytest
from gymnasium import spaces
from scipy.stats import binom

import didact
from didact.bec.observed.branches import measure
from didact.bec.observed.setting import ObserveWorkers
from didact.errors import InvalidParameter
from didact.numerics.intervals import binomial_upper_bound
from didact.stages import Deadline, listening, within
from didact.teaching.clips import certify as certify_module
from didact.teaching.clips.certify import Fresh
from tests.bec.observed.test_observe import Coin, watch
from tests.effort import number
from tests.teaching.clips.robots import planned

DELTA = 0.05


@pytest.mark.parametrize("n", [1, 10, 100, 600])
def test_the_bound_misses_at_most_its_share_whatever_the_truth(n):
    found = np.arange(n + 1)
    bounds = np.array([binomial_upper_bound(int(v), n, DELTA) for v in found])
    assert binomial_upper_bound(0, n, DELTA) == pytest.approx(1 - DELTA ** (1 / n))
    for share in np.linspace(0.001, 0.999, 60):
        missed = binom.pmf(found, n, share)[bounds < share].sum()
        assert missed <= DELTA + 1e-12


def test_states_of_a_few_rollouts_are_not_independent():
    """Five rollouts of forty states that are open together or not at all, counted as 200."""
    share = 0.2
    missed = sum(
        binom.pmf(v, 5, share) for v in range(6) if binomial_upper_bound(40 * v, 200, DELTA) < share
    )
    assert missed > 5 * DELTA


def test_fresh_situations_come_one_from_an_episode_at_the_times_of_the_discount():
    seen, n = watch(), number(500, 3000)
    fresh = Fresh(seen.setting, n, np.random.default_rng(0))
    assert len(fresh.rows) == n
    share = 1 - seen.setting.discount
    for time in range(5):
        expected = share * (1 - share) ** time
        error = np.sqrt(expected * (1 - expected) / n)
        assert abs((fresh.times == time).mean() - expected) < 4 * error


class Bomb(Coin):
    """Ends at once."""

    def step(self, states, actions):
        states, rewards, _ = super().step(states, actions)
        return states, rewards, np.ones(len(states), dtype=bool)


def test_situations_that_had_ended_are_drawn_again():
    env = Bomb()
    env.weights = np.array([1.0, 0.0])
    seen = watch(env, lambda o: np.zeros(len(np.atleast_2d(o)), dtype=int), tolerance=0.1)
    fresh = Fresh(seen.setting, 50, np.random.default_rng(0))
    assert (fresh.times == 0).all()


def test_the_certified_share_is_that_of_planted_mistakes():
    env = Coin()
    env.weights = np.array([1.0, 0.0])
    seen = watch(env, lambda o: (np.atleast_2d(o)[:, 0] < 0.1).astype(int), tolerance=0.1)
    lesson = didact.teach(seen)
    n_missed, n = 0, number(30, 60)
    for seed in range(n):
        told = didact.certify(seen, lesson, n_states=200, seed=seed, replan=False).certificate
        assert told.n_open == 0
        n_missed += told.mistaken_share < 0.1
        assert told.mistaken_share < 0.25
    assert n_missed <= binom.ppf(0.9999, n, DELTA)


@pytest.fixture(scope="module")
def robot():
    """What a robot was seen to do, and its lesson."""
    seen = watch(
        *planned(4, seed=1), discount=0.95, n_rollouts=number(8, 15), length=number(20, 30)
    )
    return seen, didact.teach(seen)


def test_a_lesson_of_a_robot_is_small_and_certified(robot):
    seen, lesson = robot
    assert 1 <= len(lesson.clips) <= 10
    assert lesson.open_seen == 0
    certified = didact.certify(seen, lesson, n_states=number(150, 300), target=0.05)
    assert certified.certificate.holds
    assert certified.certificate.open_share <= 0.05
    assert len(certified.clips) >= len(lesson.clips)
    assert "not a proof" in certified.statement()
    nothing = didact.certify(seen, type(lesson)(seen, (), ()), n_states=100, extend=False)
    assert nothing.certificate.open_share > 0.3
    # what teaches nothing never holds, however little is asked of it
    nothing = didact.certify(
        seen, type(lesson)(seen, (), ()), n_states=20, target=0.9999, extend=False
    )
    assert nothing.certificate.open_share <= 0.9999
    assert not nothing.certificate.holds


def test_counterexamples_become_clips(robot):
    seen, lesson = robot
    empty = type(lesson)(seen, (), ())
    told = didact.certify(seen, empty, n_states=200, target=0.05)
    assert told.certificate.rounds > 1
    assert told.clips
    assert {clip.episode for clip in told.clips} == {"a fresh episode"}
    assert all((clip.rows @ seen.setting.truth >= -seen.setting.tolerance).all()
               for clip in told.clips), "runs up to the first mistake"  # fmt: skip
    assert any(len(clip) > 1 for clip in told.clips)
    assert told.certificate.holds


@pytest.mark.parametrize("change", [{"level": 1.0}, {"target": 0}, {"n_states": 0}])
def test_bad_input_is_told(change):
    seen = watch()
    with pytest.raises(InvalidParameter, match=next(iter(change))):
        didact.certify(seen, didact.teach(seen), **change)


def test_what_is_no_lesson_of_clips_is_refused():
    with pytest.raises(InvalidParameter, match="lesson must be"):
        didact.certify(watch(), 5)


class Slow:
    """A pole that is pushed left or right; every step takes so many seconds of its own clock."""

    action_space = spaces.Discrete(3)
    weights = np.array([1.0, -0.5, -0.1])

    def __init__(self, seconds, lasts):
        self.seconds, self.lasts, self.now = seconds, lasts, 0.0

    def start(self, n, rng):
        return np.append(rng.uniform(-1, 1, (n, 1)), np.zeros((n, 1)), axis=1)

    def step(self, states, actions):
        self.now += self.seconds * len(states)
        after = 0.95 * states[:, :1] + 0.1 * (np.asarray(actions)[:, None] - 1)
        after = np.append(after, states[:, 1:] + 1, axis=1)
        return after, self.features(states, actions) @ self.weights, after[:, 1] >= self.lasts

    def features(self, observation, action):
        place = np.atleast_2d(observation)[:, :1]
        return np.hstack([np.ones_like(place), place**2, (np.asarray(action)[:, None] - 1.0) ** 2])

    def best_policy(self, discount):
        return lambda seen: 1 - np.sign(np.round(5 * np.atleast_2d(seen)[:, 0])).astype(int)


@pytest.mark.parametrize("lasts", [30, 300])
@pytest.mark.parametrize(("seconds", "share"), [(0.002, 1.0), (0.0004, 0.6)])
def test_a_budget_gives_a_statement_in_its_time_whatever_a_step_takes(
    monkeypatch, lasts, seconds, share
):
    env = Slow(seconds, lasts)
    monkeypatch.setattr(Deadline, "clock", staticmethod(lambda: env.now))
    told = []
    with listening(lambda words: told.append((env.now, words))):
        seen = didact.observe(env, discount=0.95, settings={"seconds": 15})
        assert env.now <= 1.2 * 15
        forecast = next(now for now, words in told if words.startswith("forecast: "))
        assert forecast <= 5
        before = env.now
        lesson = didact.certify(seen, didact.teach(seen), seconds=15)
    assert env.now - before <= 1.2 * 15
    assert lesson.certificate.open_share <= share, lesson
    assert lesson.certificate.replanned is not None


def test_what_is_not_branched_in_time_counts_as_open(monkeypatch):
    env = Slow(0.001, 10**6)
    seen = didact.observe(env, discount=0.9, n_rollouts=3, length=5, tolerance=0.01)
    lesson = didact.teach(seen)
    monkeypatch.setattr(Deadline, "clock", staticmethod(lambda: env.now))
    fresh = Fresh(seen.setting, 60, np.random.default_rng(0))
    states = len(fresh.states)
    assert fresh.n_missing == 0
    spent, env.now = env.now, 0.0
    with within(spent / 2):
        cut = Fresh(replace(seen.setting, seconds_a_step=env.seconds), 60, np.random.default_rng(0))
    assert env.now < 0.7 * spent
    assert 0 < len(cut.states) == states - cut.n_missing < states
    n = len(cut.states)
    np.testing.assert_array_equal(cut.rows, fresh.rows[:n])
    np.testing.assert_array_equal(cut.observations, fresh.observations[:n])
    told = certify_module._judged(lesson, cut, 0.05, 0.95, 0.02, 1)[0].certificate
    assert (told.n_states, told.n_open >= cut.n_missing) == (60, True)
    assert told.open_share >= binomial_upper_bound(cut.n_missing, 60, 0.025)
    assert told.mistaken_share >= binomial_upper_bound(cut.n_missing, 60, 0.025)


def test_processes_leave_off_at_the_deadline_too(monkeypatch):
    seen = watch()
    states, observations = seen.states * 5, np.concatenate([seen.observations] * 5)
    setting = replace(seen.setting, workers=ObserveWorkers(jobs=2))
    whole = measure(seen.setting, states, observations, np.random.default_rng(0))
    with within(1e-9):
        cut = measure(setting, states, observations, np.random.default_rng(0))
    assert len(cut.numbers) == 0
    with within(1e9):
        timed = measure(setting, states, observations, np.random.default_rng(0))
    np.testing.assert_array_equal(timed.rows, whole.rows)
    assert timed.numbers.tolist() == list(range(len(states)))
