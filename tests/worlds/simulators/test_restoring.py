"""States are restored to the bit or not at all; copies that only look right are found out."""

import copy

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from didact.errors import InvalidParameter, Unsupported
from didact.worlds.simulators.restoring import (
    Copying,
    FullPhysics,
    History,
    Replaying,
    find_way,
    moved_numbers,
    why_not,
)


class Walker(gymnasium.Env):
    """A number that actions change; its reset seeds everything."""

    action_space = spaces.Discrete(3)
    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.body = [self.np_random.normal()]
        return np.array(self.body), {}

    def step(self, action):
        self.body[0] = 0.9 * self.body[0] + action
        return np.array(self.body), 0.0, bool(self.body[0] > 25), False, {}


class Shared(Walker):
    """Copies share the body, as handles to a physics engine do."""

    def __deepcopy__(self, memo):
        return copy.copy(self)


class Forgetful(Walker):
    """Copies lose a part of the state that shows only some steps later."""

    def reset(self, *, seed=None, options=None):
        self.age = 0
        return super().reset(seed=seed)

    def step(self, action):
        seen = super().step(action)
        self.age += 1
        if self.age > 10:
            self.body[0] -= 1e-9
        return seen

    def __deepcopy__(self, memo):
        twin = copy.copy(self)
        twin.body, twin.age = list(self.body), 0
        return twin


class Uncopyable(Walker):
    def __deepcopy__(self, memo):
        raise RuntimeError("a handle cannot be copied")


class Own(Uncopyable):
    def get_state(self):
        return list(self.body)

    def set_state(self, state):
        self.body = state


class TwoPartState(Uncopyable):
    """set_state with positions and speeds, as MuJoCo has it, is not the protocol."""

    def get_state(self):
        return list(self.body)

    def set_state(self, positions, speeds):
        raise AssertionError("never called")


class Unseeded(Uncopyable):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=None)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Walker, "copying"),
        (Shared, "replaying"),
        (Forgetful, "replaying"),
        (Uncopyable, "replaying"),
        (Own, "get_state"),
        (TwoPartState, "replaying"),
    ],
)
def test_the_first_way_that_holds_to_the_bit_is_taken(kind, words):
    assert words in find_way(kind, "walker").words


@pytest.mark.parametrize("kind", [Shared, Forgetful, Uncopyable])
def test_wrong_copies_are_told(kind):
    assert why_not(Copying(), kind)
    assert not why_not(Replaying(), kind)
    with pytest.raises(Unsupported, match=r"no way restores .*\(copy: "):
        find_way(kind, "walker", "copy")


def test_an_environment_that_nobody_can_reproduce_is_refused():
    with pytest.raises(Unsupported, match=r"no way .*replay: .*differs.*reset\(seed"):
        find_way(Unseeded, "walker")


def test_a_way_that_does_not_exist_is_refused():
    with pytest.raises(InvalidParameter, match="restore must be 'auto' or one of own, mujoco"):
        find_way(Walker, "walker", "pickle")


@pytest.mark.parametrize("id", ["CartPole-v1", "MountainCar-v0", "Pendulum-v1", "Acrobot-v1"])
def test_environments_of_gymnasium_are_restored(id):
    def make():
        return gymnasium.make(id).unwrapped

    if id == "Acrobot-v1" and not hasattr(gymnasium, "VectorizeMode"):
        pytest.skip("this Gymnasium's Acrobot is of NumPy 1")
    assert find_way(make, id).words
    assert not why_not(Replaying(), make)


def test_a_lander_that_lost_its_body_is_replayed():
    pytest.importorskip("Box2D")

    def make():
        return gymnasium.make("LunarLander-v3").unwrapped

    assert why_not(Copying(), make)
    assert "replaying" in find_way(make, "LunarLander-v3").words


@pytest.mark.parametrize("id", ["Reacher-v5", "HalfCheetah-v5"])
def test_copies_of_mujoco_are_rejected_and_its_whole_state_is_used(id):
    pytest.importorskip("mujoco")
    pytest.importorskip("imageio")

    def make():
        return gymnasium.make(id).unwrapped

    assert why_not(Copying(), make)
    assert not why_not(Replaying(), make)
    assert "MuJoCo" in find_way(make, id).words


def test_only_positions_and_speeds_of_physics_are_nudged():
    pytest.importorskip("mujoco")
    env = gymnasium.make("InvertedPendulum-v5").unwrapped
    env.reset(seed=3)
    way = FullPhysics()
    state, chance = way.save(env, History(3, ()))
    moved, same = way.nudged(env, (state, chance), 1e-3, np.random.default_rng(0))
    assert same is chance
    end = 1 + env.model.nq + env.model.nv
    assert (moved[1:end] != state[1:end]).any()
    np.testing.assert_allclose(moved[1:end], state[1:end], rtol=5e-3)
    np.testing.assert_array_equal(np.delete(moved, range(1, end)), np.delete(state, range(1, end)))
    way.restore(env, (moved, chance))
    np.testing.assert_array_equal(np.append(env.data.qpos, env.data.qvel), moved[1:end])


@pytest.mark.parametrize("state", [(0.5, 2.0), [0.5, 2.0], np.array([0.5, 2.0], dtype=np.float32)])
def test_numbers_are_nudged_in_the_form_they_have(state):
    moved = moved_numbers(state, 1e-3, np.random.default_rng(0))
    assert type(moved) is type(state)
    assert getattr(moved, "dtype", None) == getattr(state, "dtype", None)
    assert list(moved) != list(state)
    np.testing.assert_allclose(moved, state, rtol=5e-3)


@pytest.mark.parametrize("state", [None, (1, 2), "x", np.array([1, 2]), {"a": 1.0}])
def test_what_is_no_real_numbers_is_not_nudged(state):
    assert moved_numbers(state, 1e-3, np.random.default_rng(0)) is None
