"""Continuous observations are known before a walk; floats that are few are walked through."""

import gymnasium
import numpy as np
import pytest

import didact
from didact.errors import Unsupported
from didact.worlds.gym import tabularise

CONTINUOUS = ["CartPole-v1", "MountainCar-v0"]


@pytest.mark.parametrize("id", CONTINUOUS)
def test_they_are_refused_before_the_walk_with_a_way_out(id, monkeypatch):
    def never(*args, **options):
        raise AssertionError("no walk should begin")

    monkeypatch.setattr(tabularise, "explore", never)
    with pytest.raises(Unsupported, match=f"{id} observes continuous numbers.*give key=") as told:
        didact.make(id)
    assert "\n" not in str(told.value)
    assert "limit" not in str(told.value)


class Track(gymnasium.Env):
    """A line of `n` places that are shown as decimals."""

    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, n, show, space):
        self.n, self.show, self.observation_space = n, show, space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return self.show(0), {}

    def step(self, action):
        self.place = max(0, self.place + (1 if action else -1))
        return self.show(self.place), -1, self.place == self.n, False, {}


BOX = gymnasium.spaces.Box(0, 1, (1,), dtype=np.float32)
FEW = {
    "decimals": lambda: Track(8, lambda p: np.array([p / 8], dtype=np.float32), BOX),
    "one-hot": lambda: Track(
        8, lambda p: np.eye(9, dtype=np.float32)[p], gymnasium.spaces.Box(0, 1, (9,))
    ),
    "far": lambda: Track(
        500, lambda p: np.array([p], dtype=np.float64), gymnasium.spaces.Box(0, 999, (1,))
    ),
    "in a dict": lambda: Track(
        8,
        lambda p: {"at": np.array([p / 8], dtype=np.float32)},
        gymnasium.spaces.Dict({"at": BOX}),
    ),
}


@pytest.mark.parametrize("name", FEW)
def test_floats_that_are_few_are_walked_through(name):
    env = FEW[name]()
    task = didact.make(env)
    assert task.mdp.n_states == env.n + 1
    assert task.state(env.show(3)) == 3


def test_bins_of_ones_own_are_never_asked_about():
    drift = Track(8, lambda p: np.random.default_rng(p).normal(size=1), BOX)
    assert didact.make(drift, key=lambda env: env.place).mdp.n_states == 9
