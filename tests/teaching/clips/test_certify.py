"""Certificates keep their promise: exact coverage of the bound, and of what it is made of."""

import numpy as np
import pytest
from scipy.stats import binom

import didact
from didact.errors import InvalidParameter
from didact.numerics.intervals import binomial_upper_bound
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
        told = didact.certify(seen, lesson, n_states=200, seed=seed).certificate
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
