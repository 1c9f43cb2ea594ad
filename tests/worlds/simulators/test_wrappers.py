"""Vector environments: what one of their environments shows is what they show, step by step."""

import json
from dataclasses import replace
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.wrappers import TimeLimit

import didact
from didact.bec.observed.episodes import sample_states
from didact.errors import InvalidModel, Unsupported
from didact.report.page.simulators import simulator_page
from didact.report.words.observed import audit_lines, lesson_document
from didact.worlds.simulators.opening import open_simulator
from didact.worlds.simulators.wrappers import taken_apart

HAS_MODES = hasattr(gymnasium, "VectorizeMode")


class Monitor(gymnasium.Wrapper):
    """As that of Stable-Baselines3: no step after the end, be it the time limit."""

    def reset(self, **options):
        self.is_over = False
        return self.env.reset(**options)

    def step(self, action):
        if self.is_over:
            raise RuntimeError("Tried to step environment that needs reset")
        after = self.env.step(action)
        self.is_over = after[2] or after[3]
        return after


class Scaled(gymnasium.ObservationWrapper):
    def observation(self, observation):
        return 3 * observation


class DummyVecEnv:
    """Environments one after the other."""

    def __init__(self, *envs):
        self.envs, self.num_envs = list(envs), len(envs)


class SubprocVecEnv:
    num_envs = 2


class VecEnvWrapper:
    num_envs = 2

    def __init__(self, venv):
        self.venv = venv


class VecMonitor(VecEnvWrapper):
    pass


class VecExtractDictObs(VecEnvWrapper):
    pass


class VecFrameStack(VecEnvWrapper):
    def __init__(self, venv, n):
        super().__init__(venv)
        self.stacked_obs = SimpleNamespace(n_stack=n, repeat_axis=-1)


class VecNormalize(VecEnvWrapper):
    """Its copies, as those of Stable-Baselines3, have no environments."""

    norm_obs = True

    def normalize_obs(self, observations):
        return np.clip(observations / 2 - 1, -10, 10)

    def __deepcopy__(self, memo):
        return VecNormalize(None)


def pendulum():
    return DummyVecEnv(Monitor(gymnasium.make("Pendulum-v1")))


def shown(env, n=4):
    """What the first steps show."""
    batch = open_simulator(env).begin([5])
    rows = [batch.observations[0]]
    rows += [batch.step(np.array([[0.5]])).observations[0] for _ in range(n)]
    batch.keep(np.zeros(1, dtype=bool))
    return np.array(rows)


def test_the_first_environment_is_stepped_beyond_its_time_limit():
    plain = shown("Pendulum-v1", 250)
    np.testing.assert_array_equal(shown(pendulum(), 250), plain)
    np.testing.assert_array_equal(shown(VecMonitor(pendulum()), 250), plain)
    inside = DummyVecEnv(Scaled(Monitor(gymnasium.make("Pendulum-v1"))))
    np.testing.assert_array_equal(shown(inside, 250), 3 * plain)
    assert open_simulator(pendulum()).restoring.endswith("as the object that was given")


def test_frames_are_stacked_newest_last_after_zeros():
    plain = shown("Pendulum-v1")
    stacked = shown(VecFrameStack(pendulum(), 3))
    np.testing.assert_array_equal(stacked[0], [*np.zeros(6), *plain[0]])
    np.testing.assert_array_equal(stacked[4], plain[2:5].ravel())
    inside = shown(VecFrameStack(VecNormalize(pendulum()), 3))
    np.testing.assert_array_equal(inside[0], [*np.zeros(6), *(plain[0] / 2 - 1)])
    np.testing.assert_array_equal(inside[4], plain[2:5].ravel() / 2 - 1)


def test_policies_see_what_is_normalised_and_features_do_not():
    simulator = open_simulator(VecNormalize(VecFrameStack(pendulum(), 2)))
    some = simulator.begin([5]).observations
    np.testing.assert_array_equal(simulator.view(some), some / 2 - 1)
    np.testing.assert_array_equal(some[0, 3:], shown("Pendulum-v1", 0)[0])
    env = VecNormalize(pendulum())
    env.norm_obs = False
    assert open_simulator(env).view is None


@pytest.mark.skipif(not HAS_MODES, reason="this Gymnasium has no modes of vectors")
def test_vectors_of_gymnasium_keep_what_they_were_made_with():
    def made(id="Pendulum-v1", mode="sync", **settings):
        return gymnasium.make_vec(id, num_envs=3, vectorization_mode=mode, **settings)

    np.testing.assert_allclose(np.diff(shown(made(g=0.0))[:, 2]), 0.15 * 0.5, atol=1e-6)
    entry = "vector_entry_point"
    assert open_simulator(made("CartPole-v1", entry)).name == "CartPole-v1"
    changed = open_simulator(made("CartPole-v1", entry, sutton_barto_reward=True))
    assert changed.name == "CartPole-v1"
    assert changed.drawn() is None
    for simulator, reward in ((changed, 0.0), (open_simulator("CartPole-v1"), 1.0)):
        assert simulator.begin([0]).step(np.array([1])).rewards.tolist() == [reward]


class Odd(gymnasium.vector.VectorEnv):
    num_envs = 2


def wrapped():
    many = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make("Pendulum-v1")])
    return gymnasium.wrappers.vector.NormalizeObservation(many)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (SubprocVecEnv, "vec_env_cls=DummyVecEnv, or give a function that makes one"),
        (lambda: VecExtractDictObs(pendulum()), r"put a gymnasium\.Wrapper that does the same"),
        (Odd, r"Odd steps several environments at once and cannot be taken apart; give one of"),
        pytest.param(
            wrapped,
            r"put a gymnasium\.wrappers\.NormalizeObservation that does the same around one",
            marks=pytest.mark.skipif(not HAS_MODES, reason="older wrappers are of other modules"),
        ),
    ],
)
def test_what_cannot_be_taken_apart_is_refused_with_a_remedy(make, match):
    with pytest.raises(Unsupported, match=match):
        open_simulator(make())


def test_environments_of_other_processes_are_refused_with_the_function_that_makes_one():
    class AsyncVectorEnv:
        num_envs = 2

    with pytest.raises(Unsupported, match=r"give its function env\.env_fns\[0\], or make it with"):
        open_simulator(AsyncVectorEnv())


def test_those_of_stable_baselines_show_the_same():
    vec_env = pytest.importorskip("stable_baselines3.common.vec_env")
    from stable_baselines3.common.env_util import make_vec_env

    normalised = vec_env.VecNormalize(make_vec_env("Pendulum-v1", 2, seed=0))
    normalised.reset()
    for _ in range(50):
        normalised.step(np.zeros((2, 1)))
    normalised.training = False
    both = vec_env.VecFrameStack(normalised, 3)
    ours = open_simulator(both).begin([7])
    both.seed(7)
    theirs = both.reset()
    for _ in range(5):
        np.testing.assert_allclose(ours.observations[0], theirs[0], atol=1e-6)
        actions = np.full((2, 1), 0.7, dtype=np.float32)
        theirs = both.step(actions)[0]
        ours.step(actions[:1])
    ours.keep(np.zeros(1, dtype=bool))
    raw = open_simulator(normalised)
    some = raw.begin([3]).observations
    np.testing.assert_array_equal(raw.view(some), normalised.normalize_obs(some))
    stacked = vec_env.VecFrameStack(make_vec_env("Pendulum-v1", 1), 3)
    assert taken_apart(stacked)[0].observation_space == stacked.observation_space


class Corridor(gymnasium.Env):
    """Five places in a row, paid by how far right; steps beyond the ends are masked."""

    observation_space = spaces.Box(0, 1, (2,))
    action_space = spaces.Discrete(3)

    def action_masks(self):
        return np.array([self.at > 0, True, self.at < 4])

    def seen(self):
        return np.array([self.at / 4, 1.0], dtype=np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = int(self.np_random.integers(5))
        return self.seen(), {}

    def step(self, action):
        assert self.action_masks()[action], "a masked action is taken"
        self.at += action - 1
        return self.seen(), self.at / 4 - 0.05 * (action != 1), False, False, {}


class GoesRight:
    """Takes the last action that its mask allows."""

    def predict(self, observation, deterministic=False, action_masks=None):
        assert np.shape(observation)[-1] == 2, "the agent sees no mask in observations"
        return np.where(action_masks, [0, 1, 2], -1).argmax(axis=-1), None


def corridor_terms(obs, action, next_obs, terminated):
    assert len(obs) == len(next_obs) == 2, "features see no mask in observations"
    return [next_obs[0], float(action != 1)]


@pytest.mark.parametrize(
    "env",
    [Corridor, Corridor(), lambda: TimeLimit(Corridor(), 20)],
    ids=["class", "object", "wrapped"],
)
def test_masked_actions_are_no_alternatives(env):
    seen = didact.observe(
        env, GoesRight(), features=corridor_terms, weights=(1, -0.05), discount=0.9, n_rollouts=6,
        length=6, settings={"held": (1, 3)},
    )  # fmt: skip
    places, allowed = 4 * seen.observations[:, 0], seen.observations[:, 2:]
    assert set(places) == {0, 1, 2, 3, 4}
    assert (allowed == np.transpose([places > 0, places >= 0, places < 4])).all()
    assert np.take_along_axis(allowed, np.asarray(seen.others), axis=1).all()
    own = np.asarray(seen.own)[:, None]
    assert (seen.others == own).any(axis=1).tolist() == (allowed.min(axis=1) == 0).tolist()
    assert not seen.rows[seen.others == own].any()
    assert not seen.mistaken.any()
    lesson = didact.certify(seen, didact.teach(seen), n_states=60, target=0.1)
    assert lesson.certificate.holds
    assert lesson.weights[0] > 0 > lesson.weights[1]


def test_a_policy_that_takes_a_masked_action_is_refused():
    given = {"features": corridor_terms, "discount": 0.9, "n_rollouts": 3, "length": 5}
    with pytest.raises(InvalidModel, match=r"allows; it takes 2, and allowed are \[0, 1\]"):
        didact.observe(Corridor, lambda obs: 2, **given)
    seen = didact.observe(Corridor, lambda obs: 1, weights=(1, -0.05), **given)
    assert seen.mistaken.any()


def test_a_mask_that_allows_nothing_is_refused():
    class Stuck(Corridor):
        def action_masks(self):
            return np.zeros(3, dtype=bool)

    with pytest.raises(Unsupported, match=r"action_masks\(\) must be 3 booleans"):
        open_simulator(Stuck)


def test_an_episode_may_end_without_an_allowed_action():
    class Game(Corridor):
        def action_masks(self):
            return super().action_masks() & (self.at < 4)

        def step(self, action):
            shown, reward, *_ = super().step(action)
            return shown, reward, self.at == 4, False, {}

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.at %= 4
            return self.seen(), {}

    given = {"features": corridor_terms, "weights": (1, -0.05), "discount": 0.9, "n_rollouts": 6}
    seen = didact.observe(Game, GoesRight(), **given)
    assert seen.observations[:, 0].max() < 1


def test_a_trained_agent_acts_by_its_masks(tmp_path):
    contrib = pytest.importorskip("sb3_contrib")
    model = contrib.MaskablePPO(
        "MlpPolicy", TimeLimit(Corridor(), 20), n_steps=128, batch_size=64, gamma=0.9,
        learning_rate=3e-3, seed=0,
    ).learn(3000)  # fmt: skip
    model.save(tmp_path / "agent.zip")
    agent = didact.load_agent(tmp_path / "agent.zip", Corridor)
    given = {"features": corridor_terms, "weights": (1, -0.05), "discount": 0.9, "n_rollouts": 6}
    seen = [didact.observe(Corridor, each, length=6, **given) for each in (model, agent)]
    assert (seen[0].own == seen[1].own).all()
    places = np.round(4 * seen[0].observations[:, 0]).astype(int)
    corridor = Corridor()
    for place, own in zip(places, seen[0].own, strict=True):
        corridor.at = place
        masks = corridor.action_masks()
        assert model.predict(corridor.seen(), deterministic=True, action_masks=masks)[0] == own
    allowed = seen[0].observations[:, 2:]
    assert np.take_along_axis(allowed, np.asarray(seen[0].others), axis=1).all()
    assert didact.teach(seen[0]).weights[0] > 0


class Line(gymnasium.Env):
    """A walk to 0 whose own clock cuts episodes off; observations as `shows` has them."""

    action_space = spaces.Discrete(3)
    observation_space = spaces.Box(-9, 9, (1,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.t = int(self.np_random.integers(1, 5)), 0
        return self.shows(), {}

    def shows(self):
        return np.array([self.x], dtype=np.float32)

    def step(self, action):
        self.x, self.t = min(self.x + int(action) - 1, 5), self.t + 1
        return self.shows(), -float(self.x), self.x == 0, self.t >= 9, {}


class Named(Line):
    observation_space = spaces.Dict(x=Line.observation_space, goal=spaces.Discrete(2))

    def shows(self):
        return {"x": np.array([self.x]), "goal": 0}


class Several(Line):
    action_space = spaces.MultiBinary(2)

    def step(self, action):
        assert np.shape(action) == (2,)
        return super().step(1 + action[1] - action[0])


def watched(env, policy, features=lambda next_obs: -next_obs, **more):
    return didact.observe(env, policy, features=features, discount=0.8, n_rollouts=4, **more)


def stacked():
    return VecFrameStack(DummyVecEnv(Monitor(Line())), 2)


def test_a_clock_of_its_own_ends_nothing_inside_a_stack_of_frames():
    """The Monitor inside refuses steps after it; a function may make such an environment, too."""
    rows = []
    for env in (stacked(), stacked):
        seen = watched(env, lambda shown: 0, lambda next_obs: -next_obs[1:])
        assert seen.observations.shape[1:] == (2,)
        rows.append(seen.rows.tobytes())
    assert rows[0] == rows[1]
    given = stacked()
    open_simulator(given)
    assert type(given.venv.envs[0]).__name__ == "Monitor"


class Asked:
    """An agent of dicts of arrays, as Stable-Baselines3's are, that counts questions."""

    n = 0

    def predict(self, observation, deterministic=False):
        assert isinstance(observation, dict)
        Asked.n += 1
        return np.where(observation["x"][..., 0] > 3, 1, 0), None


def test_observations_that_are_dicts_are_asked_at_once_told_and_planned_for(tmp_path):
    seen = watched(Named, Asked(), lambda next_obs: -next_obs["x"], settings={"held": (1, 2)})
    n_before = Asked.n
    lesson = didact.certify(seen, didact.teach(seen), n_states=60)
    assert Asked.n - n_before < seen.setting.simulator.n_steps / 4
    assert lesson.certificate.replanned.is_planned
    document = json.loads(json.dumps(lesson_document(lesson)))
    assert document["clips"][0]["observations"][0].keys() == {"x", "goal"}
    assert "<polyline" in simulator_page(lesson)
    audited = didact.audit(seen, None, loss=0.1)
    assert audited.status == "fail"
    assert any("in (0, " in line for line in audit_lines(audited))
    for write in (seen.save, lesson.save_minari):
        with pytest.raises(Unsupported, match="FlattenObservation"):
            write(str(tmp_path / "x"))


def test_actions_of_several_bits_are_changed_one_by_one():
    seen = watched(Several, lambda shown: np.array([1, 0]))
    assert seen.others[0].tolist() == [[0, 0], [1, 1]]
    assert didact.certify(seen, didact.teach(seen), n_states=60).certificate.replanned is not None
    assert np.isfinite(didact.teach(seen).width)


def test_states_are_drawn_from_episodes_of_few_steps():
    """Of those of one step a discount of .99 leaves one in a hundred."""
    seen = watched(Line, lambda shown: 0, length=1)
    short = replace(seen.setting, discount=0.995)
    assert len(sample_states(short, 40, np.random.default_rng(0))[0]) == 40
