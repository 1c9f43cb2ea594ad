"""Folders of training runs: which agent is meant, and what its settings say of observations."""

import pickle
import sys
import warnings

import numpy as np
import pytest

from didact.errors import DidactWarning, InvalidFile, Unsupported
from didact.worlds.gym.runs import (
    agent_file,
    normalisation_of,
    read_pickle,
    require_plain_run,
    run_settings,
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
        require_plain_run(path, run_settings(path))
    (folder / "FrozenLake-v1" / "config.yml").write_text(CONFIG.replace("true", "false"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        require_plain_run(path, run_settings(path))


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
