"""What can be observed: ids, environments, functions that make them, objects that step arrays."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from didact.errors import InvalidParameter, Unsupported
from didact.worlds.simulators.arrays import ArraySimulator
from didact.worlds.simulators.classics import PointRobot
from didact.worlds.simulators.objects import ObjectSimulator
from didact.worlds.simulators.opening import open_simulator, seen_by

HAS_MODES = hasattr(gymnasium, "VectorizeMode")


def test_arrays_and_vector_entries_are_used_where_there_are_any():
    assert isinstance(open_simulator(PointRobot()), ArraySimulator)
    assert isinstance(open_simulator("CartPole-v1"), ArraySimulator) == HAS_MODES
    assert isinstance(open_simulator("CartPole-v1", restore="copy"), ObjectSimulator)


@pytest.mark.skipif(not HAS_MODES, reason="this Gymnasium has no modes of vectors")
def test_a_vector_entry_does_what_the_object_does():
    arrays, objects = open_simulator("CartPole-v1"), open_simulator("CartPole-v1", restore="copy")
    one, other = arrays.begin([0, 1, 2]), objects.begin([0, 1, 2])
    for env, state in zip(other._envs, one.states, strict=True):
        env.unwrapped.state = state.copy()
    rng = np.random.default_rng(0)
    n_ended = 0
    for _ in range(80):
        actions = rng.integers(2, size=len(one.states))
        first, second = one.step(actions), other.step(actions)
        np.testing.assert_allclose(first.observations, second.observations, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(first.ended, second.ended)
        np.testing.assert_array_equal(first.rewards, second.rewards)
        n_ended += int(first.ended.sum())
        one.keep(~first.ended)
        other.keep(~first.ended)
        if not len(one.states):
            break
    assert n_ended == 3


@pytest.mark.parametrize("id", ["MountainCar-v0", "Pendulum-v1"])
def test_saved_states_are_resumed_as_often_as_one_likes(id):
    simulator = open_simulator(id)
    batch = simulator.begin([3, 4])
    space = simulator.action_space
    space.seed(0)
    for _ in range(5):
        batch.step(np.array([space.sample(), space.sample()]))
    saved = batch.saved_states()
    actions = [np.array([space.sample(), space.sample()]) for _ in range(6)]
    expected = [batch.step(action).observations.tobytes() for action in actions]
    for _ in range(2):
        again = simulator.resume(saved)
        assert [again.step(action).observations.tobytes() for action in actions] == expected
        again.keep(np.zeros(2, dtype=bool))


def test_time_limits_end_nothing():
    simulator = open_simulator(gymnasium.make("MountainCar-v0", max_episode_steps=3))
    batch = simulator.begin([0])
    assert not any(batch.step(np.array([1])).ended[0] for _ in range(10))


class Windy(gymnasium.Env):
    """Steps depend on chance."""

    action_space = spaces.Discrete(2)
    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0.0
        return np.array([0.0]), {}

    def step(self, action):
        self.place += action + self.np_random.normal()
        return np.array([self.place]), 0.0, False, False, {}


def test_steps_that_depend_on_chance_are_noticed():
    simulator = open_simulator(Windy)
    assert simulator.is_random
    assert not open_simulator("MountainCar-v0").is_random
    (saved,) = simulator.begin([3]).saved_states()
    batch = simulator.resume([saved] * 3, [1, 1, 2])
    places = batch.step(np.zeros(3, dtype=int)).observations[:, 0]
    assert places[0] == places[1] != places[2]


def speeds(env):
    """Of a pendulum that nobody pushes."""
    batch = open_simulator(env).begin([1])
    return [batch.step(np.zeros((1, 1))).observations[0, 2] for _ in range(5)]


def test_an_environment_that_was_changed_is_used_as_it_is():
    env = gymnasium.make("Pendulum-v1")
    env.unwrapped.g = 0.0
    assert len(set(speeds(env))) == 1, "without gravity"
    assert len(set(speeds("Pendulum-v1"))) == 5
    told = open_simulator(env).restoring
    assert told.startswith("by copying the environment object, as the object that was given")
    assert told.endswith("which is not Pendulum-v1 as Gymnasium makes it")
    assert open_simulator(gymnasium.make("Pendulum-v1")).restoring.endswith("that was given")
    assert open_simulator(env).drawn() is None, "pictures would be of the registered one"


@pytest.mark.parametrize("gravity", [10.0, 0.0])
def test_what_cannot_be_copied_is_made_anew_only_if_that_does_the_same(gravity, monkeypatch):
    env = gymnasium.make("Pendulum-v1")
    env.unwrapped.g = gravity

    def refuse(self, memo):
        raise RuntimeError("a handle cannot be copied")

    monkeypatch.setattr(type(env.unwrapped), "__deepcopy__", refuse, raising=False)
    if gravity == 10.0:
        assert open_simulator(env).restoring.endswith("actions, made anew as Pendulum-v1")
        return
    with pytest.raises(Unsupported, match=r"neither be copied \(it fails.*nor made anew \(it diff"):
        open_simulator(env)


@pytest.mark.parametrize("env", [5, None, "NoSuch-v9", lambda: 3])
def test_what_is_no_environment_is_refused(env):
    with pytest.raises(InvalidParameter, match=r"env must be|has no environment"):
        open_simulator(env)


class Masking(gymnasium.Env):
    """Refuses a masked action."""

    observation_space = spaces.Box(0, 1, (1,))
    action_space = spaces.Discrete(2)

    def action_masks(self):
        return np.array([True, False])

    def reset(self, *, seed=None, options=None):
        return np.zeros(1, dtype=np.float32), {}

    def step(self, action):
        assert self.action_masks()[action]
        return np.zeros(1, dtype=np.float32), 0.0, False, False, {}


def test_an_agent_that_acts_by_masks_is_refused_where_they_cannot_be_shown():
    class Agent:
        def predict(self, observation, deterministic=False, action_masks=None):
            return np.zeros(len(observation), dtype=int), None

    class Pictures(Masking):
        observation_space = spaces.Box(0, 255, (4, 4, 3), np.uint8)

    for env in (Pictures, Pictures(), lambda: gymnasium.wrappers.TimeLimit(Pictures(), 9)):
        with pytest.raises(Unsupported, match=r"Pictures masks actions \(action_masks\), and this"):
            seen_by(Agent(), env)
    assert seen_by(Agent(), "CartPole-v1") == "CartPole-v1"
    assert seen_by(Agent(), Masking) is Masking
    assert seen_by(lambda seen: 0, Pictures) is Pictures


def test_a_compiler_warns_once_of_all_copies(capfd):
    pytest.importorskip("mujoco")
    open_simulator("HalfCheetah-v5").begin(range(5))
    assert capfd.readouterr().err.count("WARNING") <= 1
