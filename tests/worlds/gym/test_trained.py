"""Agents of Stable-Baselines3: their files are read without unpickling, or refused."""

import json
import pickle
import sys
import zipfile
from types import ModuleType

import gymnasium
import numpy as np
import pytest

from didact.cli.policies import read_agent
from didact.errors import DidactError, InvalidFile, InvalidModel, InvalidParameter, Unsupported
from didact.mdp.model import deciding_states
from didact.planning import as_policy, solve
from didact.worlds import from_gymnasium, make
from didact.worlds.gym.runs import ALGORITHMS, NORMALISATIONS
from didact.worlds.gym.trained import load_agent
from tests.malicious import (
    agent_data,
    evil_pickle,
    in_text,
    policy_class,
    trap,
    weights_file,
    write_agent,
)

__all__ = ["trap"]

DEEP = "[" * 100_000
BOX = "gymnasium.spaces.box.Box"
REFUSED = {
    "own policy": (agent_data(policy_class=policy_class("evil", "Own")), "'Own', none that is"),
    "no policy": (agent_data(policy_class=None), "cannot be read without unpickling it; a pickle"),
    "options": (agent_data(policy_kwargs=in_text("dict")), "policy_kwargs cannot be read without"),
    "own layers": (
        agent_data(policy_kwargs={"features_extractor_class": "<class 'evil_payload.X'>"}),
        r"policy_kwargs\['features_extractor_class'\], .* without unpickling it; a pickle can run",
    ),
    "own activation": (
        agent_data(policy_kwargs={"activation_fn": "<class 'torch.hub.load'>"}),
        "a pickle can run any code; say --trust-pickle",
    ),
    "unknown option": (agent_data(policy_kwargs={"evil": "evil_payload:X"}), "without unpickling"),
    "dict observed": (
        agent_data(observation_space=in_text("gymnasium.spaces.dict.Dict")),
        "its observation_space 'Dict' cannot be read without unpickling it",
    ),
    "own space": (agent_data(action_space=in_text("evil_payload.X")), "its action_space None"),
    "continuous": (
        agent_data(action_space={**in_text(BOX), "_shape": [1], "dtype": "float32"}),
        "its action_space 'Box' cannot be read without unpickling it",
    ),
    "wide": (agent_data(policy_kwargs={"net_arch": [2**30, 2**30]}), "must hold the 1152921"),
    "many states": (
        agent_data(observation_space={**agent_data()["observation_space"], "n": "999999999"}),
        "must hold the 4000000004 weights",
    ),
    "many numbers": (
        agent_data(observation_space={**in_text(BOX), "_shape": [2**30, 4], "dtype": "float32"}),
        "its observation_space 'Box' cannot be read without unpickling it",
    ),
    "many actions": (
        agent_data(action_space={**agent_data()["action_space"], "n": "999999999"}),
        "must hold the 1000000067 weights",
    ),
    "no object": ("[]", r"data must be an object; it is \[\]"),
    "no JSON": (b"\xff\x00", "data must be JSON"),
    "a pickle": (evil_pickle(), "data must be JSON"),
    "deep": (DEEP, "data must be JSON"),
    "long": ('{"n_envs": ' + "9" * 100_000 + "}", "data must be JSON"),
    "large": ("[" + "[]," * 4_000_000 + "0]", "data must have at most"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_only_a_pickle_tells_is_refused_in_one_line(kind, trap, tmp_path):
    data, message = REFUSED[kind]
    with pytest.raises(DidactError, match=message):
        load_agent(str(write_agent(tmp_path / "agent.zip", data)))


def bomb():
    """Weights of a few bytes that unpack to many."""
    from io import BytesIO

    made = BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({}, 2))
        archive.writestr("archive/data/0", bytes(30_000_000))
    return made.getvalue()


WEIGHTS = {
    "pickle": (weights_file(evil_pickle()), "names '__builtin__.eval', and a pickle can run any"),
    "newer pickle": (weights_file(evil_pickle(4)), "must hold weights alone; it names 'STACK_GL"),
    "plain pickle": (evil_pickle(), "is not a whole file of Stable-Baselines3: BadZipFile"),
    "packed": (bomb(), "must hold its weights as they are; they are packed"),
    "nothing": (b"", "is not a whole file of Stable-Baselines3"),
}


@pytest.mark.parametrize("kind", WEIGHTS)
def test_weights_that_name_more_than_tensors_are_refused_before_they_are_loaded(
    kind, trap, tmp_path
):
    weights, message = WEIGHTS[kind]
    with pytest.raises(InvalidFile, match=message):
        load_agent(str(write_agent(tmp_path / "agent.zip", weights=weights)))


def test_a_bomb_is_refused_by_its_sizes(trap, tmp_path):
    path = write_agent(
        tmp_path / "agent.zip", weights=bytes(90_000_000), compression=zipfile.ZIP_DEFLATED
    )
    assert path.stat().st_size < 200_000
    with pytest.raises(InvalidFile, match=r"policy.pth must have at most \d+ bytes"):
        load_agent(str(path))


def test_members_are_never_written_anywhere(trap, tmp_path):
    folder = tmp_path / "inner"
    folder.mkdir()
    members = {"../outside": b"x", str(tmp_path / "absolute"): b"x", "/tmp/../x": b"x"}
    path = write_agent(folder / "agent.zip", agent_data(policy_class=None), **members)
    with pytest.raises(Unsupported):
        load_agent(str(path))
    assert sorted(file.name for file in tmp_path.rglob("*") if file.is_file()) == [
        "agent.zip",
        "evil_payload.py",
    ]


def test_how_observations_were_normalised_is_a_pickle_too(trap, tmp_path):
    path = str(write_agent(tmp_path / "agent.zip"))
    (tmp_path / NORMALISATIONS[0]).write_bytes(evil_pickle())
    with pytest.raises(Unsupported, match="were normalised; a pickle can run any code; say --tr"):
        load_agent(path)


@pytest.mark.parametrize("name", ["agent.pkl", "vecnormalize.pkl", "policy.pth", "agent.pt"])
def test_a_plain_pickle_is_no_agent(name, trap, tmp_path):
    (tmp_path / name).write_bytes(evil_pickle())
    with pytest.raises(Unsupported, match="is a pickle, which can run any code, and is not read"):
        read_agent(str(tmp_path / name), make("FrozenLake-v1"))


@pytest.mark.parametrize("name", ["evil_payload", "evil_payload:", ":X", "evil_payload.model"])
def test_the_name_of_a_file_imports_no_module(name, trap):
    with pytest.raises(InvalidParameter, match="--agent must be module:name or"):
        read_agent(name, make("FrozenLake-v1"))


def test_spaces_must_be_those_of_the_environment(trap, tmp_path):
    path = str(write_agent(tmp_path / "agent.zip"))
    with pytest.raises(InvalidFile, match=r"the environment's, Box \(4,\); it is Discrete 16"):
        load_agent(path, gymnasium.make("CartPole-v1"))


class Doubled:
    """A normalisation that a pickle can name."""

    def normalize_obs(self, seen):
        return 2 * seen


def test_trusted_files_are_unpickled(tmp_path, monkeypatch):
    """By the first algorithm that reads them, and with what lies beside them."""

    class Agent:
        @classmethod
        def load(cls, path, device, custom_objects):
            return cls()

        def predict(self, observation, deterministic=False):
            return observation, None

    package = ModuleType("stable_baselines3")
    package.A2C = Agent
    monkeypatch.setitem(sys.modules, "stable_baselines3", package)
    path = str(write_agent(tmp_path / "agent.zip"))
    assert load_agent(path, trust_pickle=True).predict(3) == (3, None)
    (tmp_path / NORMALISATIONS[0]).write_bytes(pickle.dumps(Doubled()))
    assert load_agent(path, trust_pickle=True).predict(3) == (6, None)
    with pytest.raises(InvalidFile, match="cannot be read: No such file"):
        load_agent(str(tmp_path / "none.zip"), trust_pickle=True)


OLD_LAYERS = {"pi": [5], "vf": [6]}
SMALL = {"n_steps": 16, "batch_size": 16, "n_epochs": 1}
LATE = {"learning_starts": 5, "buffer_size": 100}
TRAINED = {
    "PPO, Discrete": ("PPO", "FrozenLake-v1", SMALL),
    "PPO, Box": ("PPO", "Pendulum-v1", {**SMALL, "use_sde": True}),
    "A2C, layers": ("A2C", "CartPole-v1", {"policy_kwargs": {"net_arch": {"pi": [4], "vf": [3]}}}),
    "DQN, layers": ("DQN", "CartPole-v1", {**LATE, "policy_kwargs": {"net_arch": [8]}}),
    "SAC": ("SAC", "Pendulum-v1", {**LATE, "policy_kwargs": {"net_arch": [8, 4]}}),
    "TD3": ("TD3", "Pendulum-v1", {**LATE, "policy_kwargs": {"net_arch": [8], "n_critics": 3}}),
    "DDPG": ("DDPG", "Pendulum-v1", {**LATE, "policy_kwargs": {"net_arch": [8]}}),
    "TRPO": ("TRPO", "CartPole-v1", {"n_steps": 16, "policy_kwargs": {"net_arch": [8]}}),
    "ARS, linear": ("ARS", "CartPole-v1", {"n_delta": 1}),
    "ARS": ("ARS", "Pendulum-v1", {"n_delta": 1, "policy_kwargs": {"net_arch": [4]}}),
    "QRDQN": ("QRDQN", "CartPole-v1", {**LATE, "policy_kwargs": {"n_quantiles": 7}}),
    "TQC": ("TQC", "Pendulum-v1", {**LATE, "policy_kwargs": {"net_arch": [8], "n_critics": 3}}),
    "CrossQ": ("CrossQ", "Pendulum-v1", {**LATE, "policy_kwargs": {"net_arch": [8]}}),
    "old layers": ("PPO", "CartPole-v1", {**SMALL, "policy_kwargs": {"net_arch": OLD_LAYERS}}),
    "bits": ("PPO", "Bits-v0", SMALL),
    "activation": ("A2C", "CartPole-v1", {"policy_kwargs": {"activation_fn": "ReLU"}}),
}


class Bits(gymnasium.Env):
    """Observations and actions of several bits."""

    observation_space = gymnasium.spaces.MultiBinary(5)
    action_space = gymnasium.spaces.MultiBinary(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.np_random.integers(0, 2, 5, dtype=np.int8), {}

    def step(self, action):
        return self.np_random.integers(0, 2, 5, dtype=np.int8), float(action[0]), False, False, {}


gymnasium.register("Bits-v0", Bits)


@pytest.mark.parametrize("kind", TRAINED)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_is_built_anew_acts_as_what_is_unpickled(kind, tmp_path, monkeypatch):
    pytest.importorskip("stable_baselines3")
    import cloudpickle
    from torch import nn

    algorithm, id, settings = TRAINED[kind]
    is_extra = algorithm in ALGORITHMS["sb3_contrib"]
    package = pytest.importorskip("sb3_contrib" if is_extra else "stable_baselines3")
    if "activation_fn" in settings.get("policy_kwargs", {}):
        settings = {**settings, "policy_kwargs": {"activation_fn": nn.ReLU}}
    env, path = gymnasium.make(id), str(tmp_path / "agent.zip")
    own = "LinearPolicy" if kind == "ARS, linear" else "MlpPolicy"
    trained = getattr(package, algorithm)(own, env, seed=0, device="cpu", **settings)
    trained.learn(20).save(path)
    by_pickle = getattr(package, algorithm).load(path, device="cpu")
    for module in (pickle, cloudpickle):
        monkeypatch.setattr(module, "loads", lambda *_, **__: pytest.fail("it was unpickled"))
        monkeypatch.setattr(module, "load", lambda *_, **__: pytest.fail("it was unpickled"))
    if settings.get("policy_kwargs", {}).get("net_arch") is OLD_LAYERS:
        rewritten(path, lambda data: data["policy_kwargs"].update(net_arch=[OLD_LAYERS]))
    agent = load_agent(path, env)
    without = load_agent(path)
    rewritten(path, as_gym)
    old = load_agent(path)
    env.observation_space.seed(0)
    some = np.array([env.observation_space.sample() for _ in range(300)])
    some = some if some.dtype.kind == "i" else np.clip(some, -5, 5)
    wanted = by_pickle.predict(some, deterministic=True)[0]
    for found in (agent, without, old):
        np.testing.assert_array_equal(found.predict(some, deterministic=True)[0], wanted)


def rewritten(path, change):
    """A file with other texts in its member `data`."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    data = json.loads(members["data"])
    change(data)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**members, "data": json.dumps(data)}.items():
            archive.writestr(name, content)


def as_gym(data):
    """Texts as files from the time of `gym` have them."""
    for name in ("observation_space", "action_space"):
        data[name][":type:"] = data[name][":type:"].replace("gymnasium", "gym")
        data[name]["shape"] = data[name].pop("_shape", None)


TAXI = "Taxi-v4" if "Taxi-v4" in gymnasium.registry else "Taxi-v3"
CLIFF = "CliffWalking-v1" if "CliffWalking-v1" in gymnasium.registry else "CliffWalking-v0"


class Agent:
    """A trained agent as Stable-Baselines3 has it: noisy unless asked for its best action."""

    def __init__(self, actions):
        self.actions = actions
        self.asked = []

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        self.asked.append((int(observation), deterministic))
        action = self.actions[int(observation)] if deterministic else 0
        return np.array(action), None


def numbers_of(task):
    """For each state of the task its number in the environment."""
    return [task.observation(state) for state in range(task.mdp.n_states)]


@pytest.mark.parametrize("name", [TAXI, CLIFF, "FrozenLake-v1"])
def test_states_keep_their_numbers_in_the_environment(name):
    """A step of the environment goes where the task's own transitions say."""
    task = from_gymnasium(name, **({"is_slippery": False} if "Lake" in name else {}))
    numbers = numbers_of(task)
    table = gymnasium.make(name, **({"is_slippery": False} if "Lake" in name else {})).unwrapped.P
    moves, mdp = task.mdp.transitions, task.mdp
    for state in np.flatnonzero(deciding_states(mdp)).tolist():
        for action in range(mdp.n_actions):
            after = int(moves.successors[moves.offsets[state * mdp.n_actions + action]])
            assert numbers[after] in [row[1] for row in table[numbers[state]][action]]


def test_an_agent_is_asked_in_the_environments_numbers_without_exploration():
    task = from_gymnasium(TAXI)
    plan, numbers = solve(task.mdp, task.true_weights), numbers_of(task)
    best = np.zeros(500, dtype=int)
    best[list(numbers)] = plan.optimal.argmax(axis=1)
    agent = Agent(best)
    policy = as_policy(task, agent)
    assert plan.optimal[policy > 0].all()
    assert {deterministic for _, deterministic in agent.asked} == {True}
    assert {state for state, _ in agent.asked} == {
        numbers[s] for s in np.flatnonzero(deciding_states(task.mdp))
    }


def test_functions_are_asked_in_the_environments_numbers():
    task = from_gymnasium(CLIFF)
    actions = np.arange(48) % 4
    wanted = as_policy(task.mdp, lambda s: actions[numbers_of(task)[s]])
    assert np.array_equal(as_policy(task, lambda state: actions[state]), wanted)


def test_agents_without_the_flag_work_too():
    class Plain:
        def predict(self, observation):
            return 2

    task = from_gymnasium(CLIFF)
    policy = as_policy(task, Plain())
    assert (policy[deciding_states(task.mdp)].argmax(axis=1) == 2).all()


@pytest.mark.parametrize("answer", [np.array([1, 2]), 0.5, None])
def test_an_agent_that_gives_no_action_is_refused(answer):
    class Odd:
        def predict(self, observation):
            return answer

    with pytest.raises(InvalidModel, match="must"):
        as_policy(from_gymnasium(CLIFF), Odd())


@pytest.mark.slow
def test_a_real_stable_baselines_agent_is_read():
    sb3 = pytest.importorskip("stable_baselines3")
    env = gymnasium.make("FrozenLake-v1", is_slippery=False)
    agent = sb3.DQN("MlpPolicy", env, learning_starts=10, seed=0).learn(200)
    task = from_gymnasium("FrozenLake-v1", is_slippery=False)
    policy = as_policy(task, agent)
    wanted = [int(agent.predict(s, deterministic=True)[0]) for s in range(16)]
    going = ~task.mdp.terminal
    assert policy[going].argmax(axis=1).tolist() == np.array(wanted)[going].tolist()
