"""Terms of rewards: ready ones against every reward of episodes, and the search for others."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import didact
from didact.errors import InvalidParameter
from didact.worlds.simulators.opening import open_simulator
from didact.worlds.simulators.terms import READY, find_terms, ready_features


def missed(id, n_episodes=3, length=300, **settings):
    """The largest difference of a reward to the ready terms, by the environment's own steps."""
    env = gymnasium.make(id, **settings).unwrapped
    ready = ready_features(open_simulator(gymnasium.make(id, **settings), restore="replay"))
    env.action_space.seed(0)
    worst, rng = 0.0, np.random.default_rng(0)
    parts = ready.features.__code__.co_varnames[: ready.features.__code__.co_argcount]
    for seed in range(n_episodes):
        before, _ = env.reset(seed=seed)
        for _ in range(length):
            action = np.asarray(env.action_space.sample())
            if rng.random() < 0.02 and hasattr(env, "state"):  # states that chance rarely meets
                env.state = np.asarray(env.state) * 1.3
                before = env._get_obs() if hasattr(env, "_get_obs") else np.array(env.state)
            after, reward, ended, _, _ = env.step(action)
            whole = dict(observation=before, action=action, next_observation=after,
                         terminated=np.array(ended))  # fmt: skip
            told = ready.features(**{name: np.asarray(whole[name])[None] for name in parts})
            worst = max(worst, abs(float(told[0] @ np.array(ready.weights)) - reward))
            before = after
            if ended:
                break
    return worst


@pytest.mark.parametrize(
    "id", ["CartPole-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1"]
)
def test_ready_terms_are_the_rewards_of_gymnasium(id):
    assert id.rsplit("-v", 1)[0] in READY
    assert missed(id) < 1e-4


def test_ready_terms_of_the_lander_are_its_rewards():
    pytest.importorskip("Box2D")
    assert missed("LunarLander-v3", n_episodes=20) < 1e-2
    assert missed("LunarLander-v3", n_episodes=20, continuous=True) < 1e-2


def test_terms_of_the_walker_are_its_rewards_also_where_it_falls():
    pytest.importorskip("Box2D")
    simulator = open_simulator("BipedalWalker-v3")
    ready = ready_features(simulator)
    assert ready.names == ("reward_forward", "reward_angle", "reward_ctrl", "reward_fall")
    n_fallen = 0
    for seed in range(5):
        batch, rng = simulator.begin([seed]), np.random.default_rng(seed)
        for _ in range(400):
            stepped = batch.step(rng.uniform(-1, 1, (1, 4)).astype(np.float32))
            assert abs(sum(ready.features(stepped.infos[0])) - stepped.rewards[0]) < 1e-5
            if stepped.ended[0]:
                n_fallen += 1
                break
        batch.keep(np.zeros(1, dtype=bool))
    assert n_fallen >= 3


@pytest.mark.parametrize(
    "id",
    [
        *("Hopper-v5", "HalfCheetah-v5", "Walker2d-v5"),
        *("HumanoidStandup-v5", "InvertedDoublePendulum-v5"),
    ],
)
def test_terms_in_info_are_the_rewards_of_mujoco(id):
    pytest.importorskip("mujoco")
    ready = ready_features(open_simulator(id))
    assert all(name.startswith("reward_") or "penalty" in name for name in ready.names[:-1])
    env = gymnasium.make(id)
    env.reset(seed=0)
    for _ in range(50):
        _, reward, ended, _, info = env.step(env.action_space.sample())
        assert abs(ready.weights @ np.array(ready.features(info)) - reward) < 1e-9
        if ended:
            env.reset()


def test_a_constant_and_penalties_beside_terms_in_info_are_terms_too():
    class Costly(Toy):
        def step(self, action):
            shown, _, *rest, _ = super().step(action)
            cost = -(float(action[0]) ** 2)
            told = {"reward_place": self.place[0], "cost_penalty": cost}
            return shown, self.place[0] + cost + 2.0, *rest, told

    ready = ready_features(open_simulator(Costly))
    assert ready.names == ("reward_place", "cost_penalty", "step")
    assert ready.weights == (1.0, 1.0, 2.0)
    assert ready.features({"reward_place": 3.0, "cost_penalty": -1.0}) == [3.0, -1.0, 1.0]


class Toy(gymnasium.Env):
    """Pays a term of its observation, a cost of the action, a term in info, and a prize that
    nothing tells, once in ten steps."""

    observation_space = spaces.Box(-10, 10, (2,), np.float64)
    action_space = spaces.Box(-1, 1, (1,), np.float64)

    def __init__(self, prize=0.0):
        self.prize = prize

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.n = self.np_random.normal(size=2), 0
        return self.place.copy(), {}

    def step(self, action):
        self.n += 1
        self.place = self.place * 0.9 + np.array([float(action[0]), np.sin(self.n)])
        hidden = np.cos(3 * self.n)
        reward = 2.0 * abs(self.place[0]) - 0.5 * float(action[0]) ** 2 + 3.0 * hidden
        if self.n % 10 == 0:
            reward += self.prize
        return self.place.copy(), reward, False, False, {"hidden": hidden}


def test_terms_that_make_up_a_reward_are_found_and_what_is_missing_is_told():
    found = find_terms(open_simulator(Toy), None, 600, 0)
    told = dict(zip(found.names, found.weights, strict=True))
    assert told == pytest.approx(
        {"|next_obs[0]|": 2.0, "sum(action^2)": -0.5, "info['hidden']": 3.0}, abs=1e-6
    )
    assert not found.missing
    found = didact.reward_terms(lambda: Toy(prize=50.0), n_steps=600)
    assert found.missed > 1
    assert "no term of observations, actions, info and the end says the rest" in found.missing


def test_environments_without_known_terms_are_refused():
    with pytest.raises(InvalidParameter, match=r"Toy is none of them\. Give features; didact"):
        didact.observe(Toy, lambda o: np.zeros((len(np.atleast_2d(o)), 1)), features="auto")


def test_auto_features_are_observed_with_their_names_and_weights():
    env = gymnasium.make("Pendulum-v1")
    seen = didact.observe(env, lambda o: -2.0 * np.atleast_2d(o)[:, 1:2], features="auto",
                          discount=0.9, n_rollouts=2, length=5)  # fmt: skip
    assert seen.setting.feature_names == ("-angle^2", "-speed^2", "-force^2")
    assert seen.setting.weights.tolist() == [1.0, 0.1, 0.001]
