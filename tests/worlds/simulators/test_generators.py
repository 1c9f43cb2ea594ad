"""Chance is found whatever generator it comes from, and however late it begins."""

import random
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import didact
from didact.errors import DidactError, Unsupported
from didact.worlds.simulators.generators import own_sources, shared_sources
from didact.worlds.simulators.opening import open_simulator
from tests.observing import observe

MODULES_OWN = np.random.default_rng(3)


class Machine(gymnasium.Env):
    """Action 0 pays 1, action 1 pays 200 if `wins` says so; what was paid is shown."""

    action_space = spaces.Discrete(2)
    observation_space = spaces.Box(0, 200, (1,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return np.zeros(1), {}

    def step(self, action):
        self.t += 1
        paid = 1.0 if action == 0 else 200.0 * self.wins()
        return np.array([paid]), paid, self.t >= 50, False, {}

    def wins(self):
        return self.np_random.random() < 1 / 20


class OwnSeeded(Machine):
    def reset(self, *, seed=None, options=None):
        self.rng = np.random.default_rng(seed)
        return super().reset(seed=seed)

    def wins(self):
        return self.rng.random() < 1 / 20


class OwnNeverSeeded(Machine):
    def __init__(self):
        self.parts = {"dice": [np.random.default_rng()]}

    def wins(self):
        return self.parts["dice"][0].random() < 1 / 20


class OwnLegacy(OwnNeverSeeded):
    def __init__(self):
        self.parts = {"dice": [np.random.RandomState(5)]}

    def wins(self):
        return self.parts["dice"][0].random_sample() < 1 / 20


class OwnPlain(OwnNeverSeeded):
    def __init__(self):
        self.parts = {"dice": [random.Random(5)]}


class OfAClosure(Machine):
    def __init__(self):
        rng = np.random.default_rng(1)
        self.wins = lambda: rng.random() < 1 / 20


class OfItsClass(Machine):
    rng = np.random.default_rng(1)

    def wins(self):
        return self.rng.random() < 1 / 20


class OfItsModule(Machine):
    def wins(self):
        return MODULES_OWN.random() < 1 / 20


class GlobalNumPy(Machine):
    def wins(self):
        return np.random.random() < 1 / 20  # noqa: NPY002


class GlobalPlain(Machine):
    def wins(self):
        return random.random() < 1 / 20


class OfItsSpace(Machine):
    def wins(self):
        return all(self.action_space.sample() for _ in range(5))


class Late(Machine):
    """Chance begins after 12 steps."""

    def wins(self):
        return self.t > 12 and super().wins()


KINDS = [Machine, OwnSeeded, OwnNeverSeeded, OwnLegacy, OwnPlain, OfAClosure, OfItsClass,
         OfItsModule, GlobalNumPy, GlobalPlain, OfItsSpace, Late]  # fmt: skip


def paid(observation, action, after, ended):
    action = np.asarray(action)
    return np.stack([action == 0, (action != 0) * (after[:, 0] > 0)], axis=1).astype(float)


def first(observations):
    return np.zeros(len(observations), dtype=int)


GIVEN = dict(features=paid, weights=[1.0, 200.0], discount=0.5, n_rollouts=2, length=2,
             tolerance=0.5)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_chance_is_found_and_never_certified_away(kind):
    """The policy errs everywhere: action 1 is worth 10 on average, and 0 most of the time."""
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    before = random.getstate(), np.random.get_state(legacy=False)["state"]  # noqa: NPY002
    assert open_simulator(kind).is_random
    given = {**GIVEN, "length": 16 if kind is Late else 2}
    with pytest.raises(DidactError, match="chance leaves undecided"):
        observe(kind, first, **given, repeats=20)
    after = random.getstate(), np.random.get_state(legacy=False)["state"]  # noqa: NPY002
    assert before[0] == after[0], "the user's own generators are left alone"
    np.testing.assert_array_equal(before[1]["key"], after[1]["key"])
    assert before[1]["pos"] == after[1]["pos"]


@pytest.mark.parametrize("kind", [OwnSeeded, OwnNeverSeeded, OfItsModule, GlobalNumPy, GlobalPlain])
def test_repeats_are_drawn_by_seeds_whatever_the_generator(kind):
    def outcomes(seed):
        simulator = open_simulator(often)
        (saved,) = simulator.begin([3]).saved_states()
        batch = simulator.resume([saved] * 40, np.arange(40) + seed)
        return batch.step(np.ones(40, dtype=int)).rewards.tolist()

    class often(kind):
        def wins(self):
            return any(kind.wins(self) for _ in range(20))

    assert outcomes(0) == outcomes(0)
    assert outcomes(0) != outcomes(1000)
    assert len(set(outcomes(0))) == 2


class Afar(Machine):
    """Every action but 0 ends the episode in the first 30 steps; later it gambles."""

    def step(self, action):
        shown, pays, ended, _, _ = super().step(action)
        return shown, pays, ended or (bool(action) and self.t < 30), False, {}

    def wins(self):
        return self.t >= 30 and super().wins()


def test_chance_that_only_branches_come_to_is_found_there(monkeypatch):
    monkeypatch.setattr(sys.modules["didact.bec.observed.observe"], "REPEATS", 10)
    assert not open_simulator(Afar).is_random, "random actions end too soon"
    with pytest.raises(DidactError, match="chance leaves undecided"):
        didact.observe(Afar, first, **{**GIVEN, "length": 35})


class Named(gymnasium.Env):
    """No chance at all; observations are a Dict."""

    action_space = spaces.Discrete(2)
    observation_space = spaces.Dict({"x": spaces.Box(0, 1, (2,)), "n": spaces.Discrete(9)})

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = (float(self.np_random.random()),)
        return self._shown(), {}

    def _shown(self):
        return {"x": np.array(self.state * 2), "n": 3}

    def step(self, action):
        self.state = (0.9 * self.state[0],)
        return self._shown(), float(action == 0), False, False, {}


def test_observations_in_a_dict_are_no_chance():
    simulator = open_simulator(Named)
    assert not simulator.is_random
    seen = didact.observe(Named, lambda o: 0, features=lambda o, a, n, e: [a == 0, a == 1],
                          weights=[1, 0], discount=0.5, n_rollouts=3, length=2)  # fmt: skip
    assert seen.setting.repeats == 1
    assert seen.jitter == 0.0


def test_generators_are_found_once_each():
    class Holder:
        pass

    env = Holder()
    env.parts = {"dice": [np.random.default_rng(), random.Random(), random.SystemRandom()]}
    env.again = env.parts["dice"][0]
    env.loop = env
    assert len(own_sources(env)) == 2
    assert len(shared_sources(env)) == 3, "two global ones, and that of this module"


class Draws:
    """An array simulator that draws from its own generator."""

    action_space = spaces.Discrete(2)

    def __init__(self, rare=500):
        self.rng, self.rare = np.random.default_rng(0), rare

    def start(self, n, rng):
        return np.zeros((n, 1))

    def step(self, states, actions):
        wins = self.rng.random(len(states)) < 1 / self.rare
        after = np.where(np.asarray(actions) == 0, 1.0, 200.0 * wins)[:, None]
        return after, after[:, 0], np.zeros(len(states), dtype=bool)


class Counts(Draws):
    """Nothing is drawn, and yet a step depends on how many there were."""

    n = 0

    def step(self, states, actions):
        self.n += 1
        return states + self.n, np.ones(len(states)), np.zeros(len(states), dtype=bool)


@pytest.mark.parametrize(("env", "words"), [(Draws(), "drew random numbers from elsewhere"),
                                            (Counts(), "gave two results")])  # fmt: skip
def test_arrays_that_depend_on_more_than_their_arguments_are_refused(env, words):
    with pytest.raises(Unsupported, match=rf"arguments alone; it {words}.*step\(states, actions"):
        didact.observe(env, first, **GIVEN)
