"""Folders of training runs: which agent is meant, and what its settings say of observations."""

import pickle
import sys
import warnings
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest

from didact.errors import DidactWarning, InvalidFile, Unsupported
from didact.worlds.gym.runs import (
    Normalised,
    agent_file,
    frames_of,
    normalisation_of,
    read_pickle,
    recorded_return,
    run_settings,
    warn_of_settings,
)
from didact.worlds.gym.trained import load_agent
from tests.malicious import agent_data, policy_class, trap, write_agent

__all__ = ["trap"]

CONFIG = """!!python/object/apply:collections.OrderedDict
- - - n_envs
    - 8
- - normalize
  - true
- - policy
  - MlpPolicy
"""
ARGS = """!!python/object/apply:evil_payload.run
- - algo
  - ppo
- - env
  - FrozenLake-v1
"""


def a_run(folder, normalised=True):
    """A folder as RL Baselines3 Zoo writes it."""
    inside = folder / "FrozenLake-v1"
    inside.mkdir()
    (inside / "args.yml").write_text(ARGS)
    (inside / "config.yml").write_text(CONFIG)
    if normalised:
        (inside / "vecnormalize.pkl").write_bytes(b"")
    write_agent(folder / "FrozenLake-v1.zip")
    (folder / "train_eval_metrics.zip").write_bytes(b"")
    return folder


def test_a_run_names_its_agent_its_environment_and_its_normalisation(trap, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    a_run(folder)
    path = agent_file(str(folder))
    assert path == str(folder / "FrozenLake-v1.zip")
    assert run_settings(path)["env"] == "FrozenLake-v1"
    assert run_settings(path)["normalize"] == "true"
    assert normalisation_of(path) == str(folder / "FrozenLake-v1" / "vecnormalize.pkl")
    write_agent(folder / "best_model.zip")
    assert agent_file(str(folder)) == str(folder / "best_model.zip")
    assert normalisation_of(agent_file(str(folder))) == normalisation_of(path)
    with pytest.raises(Unsupported, match=r"vecnormalize.pkl beside it says how"):
        load_agent(str(folder))


def test_a_normalisation_that_is_missing_is_told(trap, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    path = agent_file(str(a_run(folder, normalised=False)))
    with pytest.warns(DidactWarning, match=r"its config.yml says that observations were normalis"):
        warn_of_settings(path, run_settings(path), None)
    (folder / "FrozenLake-v1" / "config.yml").write_text(CONFIG.replace("true", "false"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_settings(path, run_settings(path), None)


def test_what_was_put_around_an_environment_is_told_and_never_imported(trap, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    path = agent_file(str(a_run(folder, normalised=False)))
    config = CONFIG.replace("- true", "- false")
    config += "- - env_wrapper\n  - - evil_payload.Wrapper:\n        n: 4\n- - frame_stack\n  - 4\n"
    (folder / "FrozenLake-v1" / "config.yml").write_text(config)
    settings = run_settings(path)
    assert frames_of(settings) == 4
    assert frames_of({"frame_stack": "many"}) == frames_of({}) == 1
    with pytest.warns(
        DidactWarning, match=r"env_wrapper was evil_payload\.Wrapper; give a functio"
    ):
        warn_of_settings(path, settings, "FrozenLake-v1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_settings(path, settings, lambda: None)


def test_settings_are_read_as_pyyaml_writes_an_ordered_dict(tmp_path):
    (tmp_path / "config.yml").write_text(
        "!!python/object/apply:collections.OrderedDict\n"
        "- - - batch_size\n    - 256\n"
        "  - - env_wrapper\n    - - evil_payload.Wrapper\n"
        "  - - frame_stack\n    - 4\n"
        "  - - normalize\n    - true\n"
    )
    settings = run_settings(str(tmp_path / "agent.zip"))
    assert settings == {
        "batch_size": "256",
        "env_wrapper": "- evil_payload.Wrapper",
        "frame_stack": "4",
        "normalize": "true",
    }
    assert frames_of(settings) == 4


def test_frames_that_were_stacked_after_they_were_normalised_are_refused(tmp_path):
    path = tmp_path / "vecnormalize.pkl"
    path.write_bytes(pickle.dumps(SimpleNamespace(obs_rms=SimpleNamespace(mean=np.zeros(3)))))
    agent = SimpleNamespace(observation_space=SimpleNamespace(shape=(3,)))
    assert Normalised(agent, str(path)).is_normalised
    agent.observation_space.shape = (12,)
    with pytest.raises(Unsupported, match=r"frames were stacked afterwards\. Load the agent witho"):
        Normalised(agent, str(path))


def test_an_agent_of_several_frames_is_given_them(tmp_path):
    stable_baselines3 = pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecFrameStack

    import didact

    many = VecFrameStack(make_vec_env("CartPole-v1", 1), 3)
    model = stable_baselines3.PPO("MlpPolicy", many, n_steps=8, batch_size=8, device="cpu")
    model.save(tmp_path / "CartPole-v1.zip")
    inside = tmp_path / "CartPole-v1"
    inside.mkdir()
    (inside / "config.yml").write_text("- - frame_stack\n  - 3\n")
    agent = load_agent(str(tmp_path), "CartPole-v1")
    settings = {"horizon": 3, "restore": "copy"}
    call = dict(features="auto", discount=0.5, n_rollouts=1, length=3, tolerance=50.0)
    seen = didact.observe("CartPole-v1", agent, settings=settings, **call)
    assert seen.observations.shape[1] == 12
    same = didact.observe(many, model, settings=settings, **call)
    np.testing.assert_array_equal(seen.observations, same.observations)
    with pytest.raises(InvalidFile, match=r"3 frames at once: give VecFrameStack\(make_vec_env"):
        load_agent(str(tmp_path), gymnasium.make("CartPole-v1"))


def test_folders_without_one_agent_names_on_a_hub_and_memory_are_refused(trap, tmp_path):
    with pytest.raises(InvalidFile, match=r"must hold one agent's .zip, or best_model.zip; it h"):
        load_agent(str(tmp_path))
    with pytest.raises(Unsupported, match="run `hf download sb3/ppo-CartPole-v1 --local-dir ppo-"):
        load_agent("sb3/ppo-CartPole-v1")
    module = "sb3_contrib.common.recurrent.policies"
    kind = policy_class(module, "RecurrentActorCriticPolicy")
    write_agent(tmp_path / "agent.zip", agent_data(policy_class=kind))
    with pytest.raises(Unsupported, match="remembers earlier observations; only agents without m"):
        load_agent(str(tmp_path / "agent.zip"))


def test_names_of_gym_in_a_trusted_pickle_are_those_of_gymnasium(tmp_path, monkeypatch):
    from gymnasium.spaces import Box

    text = pickle.dumps(Box(-1, 1, (2,), np.float32), 2).replace(b"gymnasium.", b"gym.")
    (tmp_path / "space.pkl").write_bytes(text)
    monkeypatch.setitem(sys.modules, "gym", None)
    with open(tmp_path / "space.pkl", "rb") as file:
        assert isinstance(read_pickle(file), Box)


def test_the_return_of_an_evaluation_is_read_beside_the_agent(tmp_path):
    agent = str(write_agent(tmp_path / "FrozenLake-v1.zip"))
    assert recorded_return(agent) is None
    told = {'{"mean_reward": 500.0}': 500.0, "[": None, '{"mean_reward": "x"}': None, "[3]": None}
    told |= {f'{{"mean_reward": {n}}}': None for n in ("NaN", "1e999", "1" + "0" * 400)}
    for text, value in told.items():
        (tmp_path / "results.json").write_text(text)
        assert recorded_return(agent) == value
