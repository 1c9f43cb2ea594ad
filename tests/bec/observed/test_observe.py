"""Observing a policy: what is refused, what is measured, and that seeds decide everything."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import didact
from didact.errors import DidactWarning, InvalidModel, InvalidParameter
from didact.report.words.observed import measured_lines, seen_lines
from didact.stages import Deadline, listening
from didact.teaching.clips.lesson import clips_of
from didact.worlds.simulators.classics import LQR, PointRobot
from didact.worlds.simulators.restoring import moved_numbers
from tests.observing import observe


def right(observations):
    """Always to the right."""
    return np.ones(len(np.atleast_2d(observations)), dtype=int)


def watch(env=None, policy=right, **changes):
    env = env or PointRobot(3, seed=0)
    given = dict(features=env.features, weights=env.weights, discount=0.9, n_rollouts=4, length=6)
    return observe(env, policy, **{**given, **changes})


def test_the_same_seed_sees_the_same():
    one, other, third = watch(seed=5), watch(seed=5), watch(seed=6)
    assert one.rows.tobytes() == other.rows.tobytes()
    assert one.rows.tobytes() != third.rows.tobytes()
    assert one.rows.shape == (24, 8, 3)


def test_courses_stand_beside_single_steps_and_do_not_change_the_tolerance():
    one, more = watch(), watch(held=(1, 4))
    assert more.rows.shape == (24, 16, 3)
    np.testing.assert_array_equal(more.rows[:, :8], one.rows)
    np.testing.assert_array_equal(more.others[:, 8:], more.others[:, :8])
    assert more.setting.tolerance == one.setting.tolerance


class Patient:
    """Action 1 for three steps in a row ends an episode; one alone is made good by the policy."""

    action_space = spaces.Discrete(2)
    weights = np.array([1.0])
    time_limit = 30

    def start(self, n, rng):
        return np.zeros((n, 1))

    def step(self, states, actions):
        after = np.where(np.asarray(actions)[:, None] == 1, states + 1, 0.0)
        return after, np.ones(len(states)), after[:, 0] >= 3

    def features(self, next_observation):
        return np.ones((len(next_observation), 1))

    def best_policy(self, discount):
        return lambda seen: np.zeros(len(np.atleast_2d(seen)), dtype=int)


def test_actions_are_taken_for_longer_where_taking_them_once_makes_no_difference():
    seen = observe(Patient(), discount=0.9, n_rollouts=3, length=5)
    assert seen.setting.alternatives.held == (1, 16)
    assert any("each was also taken for 16 steps" in line for line in seen_lines(seen))
    assert didact.certify(seen, didact.teach(seen)).certificate.holds
    with pytest.raises(InvalidModel, match="no action makes a difference to the return"):
        observe(Patient(), discount=0.9, n_rollouts=3, length=5, held=1)


def test_rows_are_in_the_order_of_rollouts_and_steps():
    seen = watch()
    assert seen.rollout.tolist() == np.repeat(np.arange(4), 6).tolist()
    assert seen.step.tolist() == list(range(6)) * 4
    moved = np.clip(seen.observations[:-1] + np.array([0.05, 0.0]), 0, 1)
    same = seen.rollout[:-1] == seen.rollout[1:]
    np.testing.assert_allclose(seen.observations[1:][same], moved[same])


def test_weights_are_fitted_where_none_are_given():
    env = PointRobot(4, seed=2)
    seen = watch(env, weights=None, n_rollouts=20)
    np.testing.assert_allclose(seen.setting.weights, env.weights, atol=1e-9)
    assert seen.residual < 1e-12


def test_a_reward_that_features_do_not_say_is_refused():
    env = PointRobot(3, seed=0)
    with pytest.raises(InvalidModel, match=r"the reward must be weights \. features; in step"):
        watch(env, weights=[1.0, 2.0, 3.0])
    with pytest.raises(InvalidModel, match="the reward must be"):
        watch(env, features=lambda o, a, n, e: env.features(o, a, n, e)[:, :1], weights=None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"discount": 1.0}, "discount must be between 0 and 1"),
        ({"n_rollouts": 0}, "n_rollouts"),
        ({"tolerance": -1}, "tolerance must be above 0"),
        ({"held": 0}, "held must be"),
        ({"held": (4, 4)}, "held must be different numbers of steps"),
        ({"held": ()}, "held must be different numbers of steps"),
        ({"tolerance": 1e-15}, "tolerance must be above the rounding of returns, 1.2e-11"),
        ({"tolerance": 1e-10}, "tolerance must be above what nudging states"),
        ({"seconds": 0}, "seconds must be above 0"),
        ({"tolerance": 0.01, "horizon": 3}, "cutting branches off at the horizon"),
        ({"weights": [1, 2]}, "weights must be 3 finite numbers"),
        ({"feature_names": ["a"]}, "feature_names must be 3"),
        ({"actions": 0.1}, "actions is for continuous actions"),
        ({"policy": 5}, "policy must be a function"),
        ({"features": lambda o, a, n, e: np.full((len(o), 3), np.inf)}, "features must be finite"),
    ],
)
def test_bad_input_is_told_in_one_line(change, message):
    with pytest.raises((InvalidParameter, InvalidModel), match=message):
        watch(**change)


def test_the_best_policy_of_a_linear_system_makes_no_mistake_and_another_does():
    env = LQR()
    gain = env.gain(0.9)
    best = watch(env, lambda o: -np.atleast_2d(o) @ gain.T, actions=0.5)
    assert not best.mistaken.any()
    assert best.margins.min() > 0
    worse = watch(env, lambda o: -0.2 * np.atleast_2d(o) @ gain.T, actions=0.5)
    assert worse.mistaken.mean() > 0.3


class Coin:
    """Every state asks for action 0; the state, uniform on (0, 1), never changes."""

    action_space = spaces.Discrete(2)

    def start(self, n, rng):
        return rng.random((n, 1))

    def step(self, states, actions):
        return states, (np.asarray(actions) == 0).astype(float), np.zeros(len(states), dtype=bool)

    def features(self, o, a, n, e):
        return np.stack([np.asarray(a) == 0, np.asarray(a) == 1], axis=1).astype(float)


def test_planted_mistakes_are_found_at_their_rate():
    env = Coin()
    env.weights = np.array([1.0, 0.0])
    seen = watch(env, lambda o: (np.atleast_2d(o)[:, 0] < 0.1).astype(int), n_rollouts=2000,
                 length=1, tolerance=0.1)  # fmt: skip
    np.testing.assert_array_equal(seen.mistaken, seen.observations[:, 0] < 0.1)
    assert 0.07 < seen.mistaken.mean() < 0.13


def test_objects_and_arrays_of_one_environment_give_the_same_rows():
    def balance(o):
        o = np.atleast_2d(o)
        return (o[:, 2] + 0.5 * o[:, 3] > 0).astype(int)

    given = dict(features=lambda o, a, n, e: [1.0, -abs(float(n[2]))], weights=[1, 0], discount=0.9,
                 n_rollouts=2, length=3, tolerance=0.5, horizon=40)  # fmt: skip
    seen = observe("CartPole-v1", balance, restore="copy", **given)
    replayed = observe("CartPole-v1", balance, restore="replay", **given)
    np.testing.assert_array_equal(seen.rows, replayed.rows)
    assert "replaying" in repr(replayed)
    assert seen.jitter == 0.0, "what is counted here is steps"
    assert replayed.jitter is None, "a seed and actions cannot be moved a little"


def test_episodes_begin_where_they_are_told_to():
    places = [[0.1, 0.1], [0.9, 0.9]]
    seen = watch(starts=places, n_rollouts=20)
    first = seen.observations[seen.step == 0].tolist()
    assert sorted(set(map(tuple, first))) == [(0.1, 0.1), (0.9, 0.9)]
    fresh = didact.certify(seen, didact.teach(seen), n_states=30, extend=False)
    assert fresh.certificate.n_states == 30
    for wrong in ([[0.1]], [], 5, [[np.nan, 0.1]]):
        with pytest.raises(InvalidParameter, match="starts must be"):
            watch(starts=wrong)


class Shaken(gymnasium.Env):
    """A chaotic number: the smallest change of its state is as large as the state soon after."""

    action_space = spaces.Discrete(2)
    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = (float(self.np_random.uniform(0.1, 0.9)),)
        return np.array(self.state), {}

    def step(self, action):
        self.state = (3.99 * self.state[0] * (1 - self.state[0]) * (1 - 0.01 * action),)
        return np.array(self.state), self.state[0], False, False, {}


class Told(Shaken):
    """The same, by its own protocol; writing `state` alone would be nothing."""

    def get_state(self):
        return np.array(self.state)

    def set_state(self, state):
        self.state = tuple(state.tolist())


class Hidden(Shaken):
    """Its `state` is a show: the real one is elsewhere."""

    def step(self, action):
        self.real = 3.99 * getattr(self, "real", 0.3) * (1 - getattr(self, "real", 0.3))
        return np.array([self.real]), self.real, False, False, {}

    def reset(self, *, seed=None, options=None):
        self.real = 0.3
        return super().reset(seed=seed)


@pytest.mark.parametrize("env", [Shaken, Told])
def test_a_tolerance_below_the_noise_of_objects_is_refused(env):
    given = dict(
        features=lambda o, a, n, e: n, weights=[1.0], discount=0.95, n_rollouts=2, length=2
    )
    noisy = observe(env, lambda o: 0, tolerance=6.0, **given)
    assert noisy.jitter > 0.01
    assert ("own get_state" in repr(noisy)) == (env is Told)
    with pytest.raises(InvalidParameter, match="nudging states in their last digits"):
        observe(env, lambda o: 0, tolerance=noisy.jitter / 2, horizon=400, **given)


def test_noise_is_not_measured_where_writing_the_state_changes_nothing():
    seen = observe(Hidden, lambda o: 0, features=lambda o, a, n, e: n, weights=[1.0],
                          discount=0.8, n_rollouts=2, length=2, tolerance=0.5)  # fmt: skip
    assert seen.jitter is None
    assert any("noise of states not measured" in line for line in measured_lines(seen))


def test_objects_begin_with_the_seeds_they_are_told():
    given = dict(features=lambda o, a, n, e: [1.0], discount=0.8, n_rollouts=6, length=2,
                 tolerance=0.5, restore="copy")  # fmt: skip
    seen = observe("CartPole-v1", lambda o: 0, starts=[3], **given)
    first = seen.observations[seen.step == 0]
    assert (first == first[0]).all()
    with pytest.raises(InvalidParameter, match="starts must be"):
        observe("CartPole-v1", lambda o: 0, starts=[], **given)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"settings": {"hold": 2}}, r"settings has no 'hold'.*did you mean 'held'"),
        ({"settings": 5}, "settings must be ObserveSettings or a dict of its fields"),
        ({"workers": {"job": 2}}, r"workers has no 'job'.*did you mean 'jobs'"),
        ({"settings": {"repeats": 1}}, "repeats must be"),
        ({"settings": {"reward_range": (1, 0)}}, "reward_range must be the least and the largest"),
    ],
)
def test_settings_are_checked_when_they_are_made(change, message):
    with pytest.raises(InvalidParameter, match=message):
        didact.observe("point-robot", **change)


def test_settings_may_be_an_object_or_a_dict():
    given = dict(discount=0.9, n_rollouts=2, length=3)
    one = didact.observe("point-robot", settings={"held": (1, 4)}, **given)
    other = didact.observe("point-robot", settings=didact.ObserveSettings(held=(1, 4)), **given)
    assert one.rows.tobytes() == other.rows.tobytes()


class Long:
    """Episodes of a hundred steps along a line; the reward changes in the 60th."""

    action_space = spaces.Discrete(2)
    weights = np.array([1.0])

    def start(self, n, rng):
        return np.zeros((n, 1))

    def step(self, states, actions):
        after = states + np.where(np.asarray(actions) == 1, 1.0, -1.0)[:, None]
        return after, self.features(states)[:, 0], after[:, 0] >= 100

    def features(self, observation):
        return (np.atleast_2d(observation)[:, :1] >= 60) * 5.0 - 1.0

    def best_policy(self, discount):
        return lambda seen: np.ones(len(np.atleast_2d(seen)), dtype=int)


def test_rollouts_go_to_their_end_and_runs_of_long_ones_are_looked_at():
    seen = observe(Long(), discount=0.99, n_rollouts=3)
    assert seen.episode_return == 100 * -1.0 + 40 * 5.0
    assert 60 <= len(seen.rows) <= 120
    assert seen.step.max() > 60
    assert (np.bincount(seen.rollout) <= 100).all()
    few = observe(Long(), discount=0.99, n_rollouts=3, length=10)
    assert few.step.max() == 9
    assert few.episode_return == seen.episode_return
    clips = clips_of(seen)
    assert all(clip.last - clip.first + 1 == len(clip) for clip in clips)
    assert sum(map(len, clips)) == (~seen.mistaken).sum()
    assert didact.certify(seen, didact.teach(seen), n_states=100).certificate.n_states == 100


def test_a_wrong_weight_that_only_late_steps_tell_is_refused():
    env = Long()
    wrong = lambda observation: np.full((len(observation), 1), -1.0)  # noqa: E731
    with pytest.raises(InvalidModel, match="it is 4 and the features say -1"):
        observe(env, discount=0.9, n_rollouts=2, features=wrong, weights=[1.0])
    with pytest.raises(InvalidModel, match=r"feature that is missing \(didact.reward_terms"):
        observe(env, discount=0.9, n_rollouts=2, features=wrong)


def test_a_budget_of_time_leaves_whole_runs_or_one_state(monkeypatch):
    class Timed(Long):
        now = 0.0

        def step(self, states, actions):
            Timed.now += 0.001 * len(states)
            return super().step(states, actions)

    monkeypatch.setattr(Deadline, "clock", staticmethod(lambda: Timed.now))
    seen = observe(Timed(), discount=0.99, n_rollouts=20, seconds=30)
    assert Timed.now < 1.2 * 30
    assert 1 <= len(seen.rows) <= 40
    assert (np.diff(seen.step) == 1).all()
    seen = observe(Timed(), discount=0.99, n_rollouts=20, seconds=1e-9)
    assert len(seen.rows) == 1  # it says what it can, of one state, and no more


def test_forecasts_are_told_before_branches_are_made():
    told = []
    with listening(told.append):
        observe(Long(), discount=0.99, n_rollouts=2, length=5)
    said = [words for words in told if words.startswith("forecast: 10 states, 2 branches each of")]
    assert len(said) == 2
    assert all(words.endswith(f", {words.seconds:,.0f} s") for words in said)


class Recovering:
    """Whatever is done, what follows is the same: only rounding makes a difference."""

    action_space = spaces.Discrete(2)

    def start(self, n, rng):
        return rng.random((n, 1))

    def step(self, states, actions):
        return states * 0.5, self.features(states, actions)[:, 0], np.zeros(len(states), bool)

    def features(self, observation, action):
        return 0.1 + np.asarray(action)[:, None] * 1e-17 + 3 * np.atleast_2d(observation) / 3


def test_differences_of_rounding_are_no_scale_for_a_tolerance():
    env = Recovering()
    given = dict(policy=lambda o: np.zeros(len(np.atleast_2d(o)), dtype=int), weights=[1.0],
                 features=env.features, n_rollouts=3, length=4)  # fmt: skip
    with pytest.raises(
        InvalidModel, match=r"the policy makes it good again\. Try actions for long"
    ):
        observe(env, **given)
    with pytest.raises(InvalidParameter, match="must be above the rounding of returns"):
        observe(env, **given, tolerance=1e-13)


def test_mountain_car_at_its_wall_is_nudged():
    """There its state is (-1.2, 0), of a float and a whole number."""
    env = gymnasium.make("MountainCar-v0").unwrapped
    env.reset(seed=0)
    env.state = (-1.2, 0)
    moved = moved_numbers(env.state, 1e-9, np.random.default_rng(0))
    assert moved is not None
    assert moved[1] == 0
    assert moved_numbers((1, 2), 1e-9, np.random.default_rng(0)) is None
    assert moved_numbers((True, 2.0), 1e-9, np.random.default_rng(0)) is None


class Knobs:
    """Two knobs of two and three positions; the reward is what they show."""

    action_space = spaces.MultiDiscrete([2, 3])
    weights = np.array([1.0, 0.5])

    def start(self, n, rng):
        return rng.random((n, 1))

    def step(self, states, actions):
        return states, self.features(actions) @ self.weights, np.zeros(len(states), bool)

    def features(self, action):
        return np.asarray(action, dtype=float)

    def best_policy(self, discount):
        return lambda seen: np.tile([1, 2], (len(np.atleast_2d(seen)), 1))


def test_each_of_several_discrete_actions_is_tried_alone():
    seen = observe(Knobs(), discount=0.5, n_rollouts=3, length=3)
    assert seen.others[0].tolist() == [[0, 2], [1, 0], [1, 1]]
    np.testing.assert_allclose(seen.rows[0], [[1, 0], [0, 2], [0, 1]])
    assert not seen.mistaken.any()
    assert didact.certify(seen, didact.teach(seen), n_states=300).certificate.holds
    with pytest.raises(InvalidParameter, match="actions is for continuous actions"):
        observe(Knobs(), discount=0.5, actions=0.1)


def test_a_return_far_below_the_expected_one_is_a_warning():
    given = dict(discount=0.99, n_rollouts=3, length=5)
    with pytest.warns(DidactWarning, match="return of an episode, 100, is far below the expected"):
        seen = observe(Long(), expected_return=200.0, **given)
    assert any("far below the expected 200" in note for note in seen.notes)
    assert any("far below the expected 200" in line for line in seen_lines(seen))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert observe(Long(), expected_return=110.0, **given).notes == ()
    with pytest.raises(InvalidParameter, match="expected_return must be a number"):
        observe(Long(), expected_return="much", **given)
