"""Policies and features of one state or of many give the same; what they give is checked."""

from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium import spaces

from didact.errors import InvalidModel, InvalidParameter, Unsupported
from didact.worlds.simulators.batches import Stepped, batch_features, batch_policy

TWO = SimpleNamespace(action_space=spaces.Discrete(2), view=None, masks=None)
BOX = SimpleNamespace(action_space=spaces.Box(-1, 1, (1,)), view=None, masks=None)
SOME = np.array([[0.0, 1.0], [2.0, -3.0]])
MANY = np.random.default_rng(0).normal(size=(50, 2))


class Predictor:
    """As Stable-Baselines3: many observations, or one."""

    def __init__(self, memory=None):
        self.memory, self.calls = memory, 0

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        self.calls += 1
        assert deterministic
        return (np.atleast_2d(observation)[:, 1] > 0).astype(int), self.memory


@pytest.mark.parametrize(
    "policy",
    [
        Predictor(),
        lambda o: int(o[1] > 0),
        lambda o: (o[:, 1] > 0).astype(int),
        lambda o: (np.atleast_2d(o)[:, 1] > 0).astype(int),
        lambda o: np.array([o[1] > 0], dtype=int),
    ],
)
def test_policies_of_one_and_of_many_act_alike(policy):
    act = batch_policy(policy, TWO, SOME)
    np.testing.assert_array_equal(act(MANY), (MANY[:, 1] > 0).astype(int))


def test_many_states_are_one_question():
    agent = Predictor()
    act = batch_policy(agent, TWO, SOME)
    before = agent.calls
    act(MANY)
    assert agent.calls == before + 1


class Doubling:
    """Says with the names of VecNormalize what observations become."""

    norm_obs = True

    def __init__(self, shape):
        self.obs_rms = SimpleNamespace(mean=np.zeros(shape))

    def normalize_obs(self, observations):
        return 2 * observations - 3


@pytest.mark.parametrize(("own", "of_simulator"), [(1, 0), (0, 1), (1, 1)])
def test_a_policy_sees_what_its_training_or_the_environment_normalises_once(own, of_simulator):
    agent = Predictor()
    agent.observation_space = spaces.Box(-9, 9, (2,))
    agent.get_vec_normalize_env = lambda: Doubling(2) if own else None
    view = Doubling(2).normalize_obs if of_simulator else None
    act = batch_policy(
        agent, SimpleNamespace(action_space=TWO.action_space, view=view, masks=None), SOME
    )
    np.testing.assert_array_equal(act(MANY), (MANY[:, 1] > 1.5).astype(int))
    agent.is_normalised = True
    agent.get_vec_normalize_env = lambda: Doubling(4)  # of single frames, which were stacked later
    act = batch_policy(
        agent, SimpleNamespace(action_space=TWO.action_space, view=view, masks=None), SOME
    )
    np.testing.assert_array_equal(act(MANY), (MANY[:, 1] > 0).astype(int))


def test_continuous_actions_keep_their_shape():
    assert batch_policy(lambda o: -0.5 * o[..., :1], BOX, SOME)(MANY).shape == (50, 1)


def test_policies_with_dice_or_memory_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(Unsupported, match="must act the same whenever"):
        batch_policy(lambda o: rng.normal(size=len(np.atleast_2d(o))), BOX, SOME)
    with pytest.raises(Unsupported, match="remembers earlier states"):
        batch_policy(Predictor(memory=np.zeros(3)), TWO, SOME)


@pytest.mark.parametrize("policy", [lambda o: np.nan, lambda o: [0, 1, 2], lambda o: "left"])
def test_answers_that_are_no_actions_are_refused(policy):
    with pytest.raises(InvalidModel, match="must give actions of shape"):
        batch_policy(policy, TWO, SOME)


def went(observations):
    """A step that led there and ended nothing."""
    n = len(observations)
    return Stepped(observations, np.zeros(n), np.zeros(n, dtype=bool))


@pytest.mark.parametrize(
    "features",
    [
        lambda o, a, n, e: [o[0], float(a), n[1]],
        lambda o, a, n, e: np.stack([o[:, 0], a, n[:, 1]], axis=1),
    ],
)
def test_features_of_one_and_of_many_are_alike(features):
    some = (SOME, np.array([0, 1]), went(SOME + 1))
    steps = (MANY, np.arange(50) % 2, went(MANY + 1))
    found = batch_features(features, None, some)(*steps)
    np.testing.assert_allclose(found, np.stack([MANY[:, 0], steps[1], MANY[:, 1] + 1], axis=1))


NAMED = {
    "what came": lambda next_obs: [next_obs[0]],
    "by keyword": lambda *, terminated, obs: [obs[0] + terminated],
    "info": lambda info, action: [info["pays"] + action],
    "with a setting": lambda observation, size=2.0: [size * observation[0]],
}


@pytest.mark.parametrize("kind", NAMED)
def test_features_take_the_parts_of_a_step_that_they_name(kind):
    infos = [{"pays": 5.0 + i} for i in range(2)]
    step = (SOME, np.array([0, 1]), went(SOME + 1)._replace(infos=infos))
    wanted = {"what came": SOME[:, 0] + 1, "by keyword": SOME[:, 0], "info": [5.0, 7.0],
              "with a setting": 2 * SOME[:, 0]}[kind]  # fmt: skip
    np.testing.assert_allclose(batch_features(NAMED[kind], None, step)(*step)[:, 0], wanted)


def test_info_that_no_step_gives_is_refused():
    step = (SOME, np.array([0, 1]), went(SOME))
    with pytest.raises(InvalidParameter, match="features take info, which this simulator's steps"):
        batch_features(NAMED["info"], None, step)


def test_bad_features_are_refused_in_one_line():
    some = (SOME, np.array([0, 1]), went(SOME))
    with pytest.raises(InvalidModel, match="features must be finite; feature 1 is nan"):
        batch_features(lambda o, a, n, e: [1.0, np.nan], None, some)
    with pytest.raises(InvalidParameter, match="the features failed: on many steps KeyError"):
        batch_features(lambda o, a, n, e: o["x"] if isinstance(o, dict) else {}["x"], None, some)
    with pytest.raises(InvalidParameter, match="feature_names must be 2"):
        batch_features(lambda o, a, n, e: [1.0, 2.0], ["one"], some)
    with pytest.raises(InvalidParameter, match="features must be a function"):
        batch_features(7, None, some)


def test_one_number_for_a_step_is_one_feature():
    steps = (np.zeros((3, 2)), np.zeros(3), went(np.ones((3, 2))))
    phi = batch_features(lambda o, a, n, e: [float(n[0])], None, steps)
    np.testing.assert_array_equal(phi(*steps), np.ones((3, 1)))


def test_features_of_many_in_single_precision_are_taken_as_they_are():
    def rounded(observation, action, after, ended):
        noise = 1e-6 * len(observation)  # as sums that depend on how many there are
        return (after[:, :1] - observation[:, :1]) * 100 * (1 + noise)

    steps = (np.zeros((3, 2)), np.zeros(3), went(np.ones((3, 2))))
    np.testing.assert_allclose(batch_features(rounded, None, steps)(*steps), 100.0, rtol=1e-4)


def test_features_that_fail_say_why_on_many_steps_and_on_one():
    steps = (np.zeros((3, 2)), np.zeros(3), went(np.ones((3, 2))))

    def broken(observation, action, after, ended):
        return after[:, :1] / {}["missing"]

    with pytest.raises(InvalidParameter, match=r"on many steps KeyError.*; on one step IndexError"):
        batch_features(broken, None, steps)
