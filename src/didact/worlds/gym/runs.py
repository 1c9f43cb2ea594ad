"""Folders of trained agents, as RL Baselines3 Zoo writes them, and what a trusted pickle adds.

A folder holds the agent's .zip, and beside it or in a subfolder of its name `config.yml` (settings
of the training), `args.yml` (its command line, with the environment) and `vecnormalize.pkl` (how
VecNormalize normalised observations). The two texts are read by lines: their YAML names Python
classes, which nothing here imports.

Pickles are read only when the user trusts them. Names of the package `gym`, which old files have
and nobody installs any more, become those of `gymnasium`, and empty classes where it has none.
"""

from __future__ import annotations

import json
import math
import os
import re
import warnings
import zipfile
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from didact.errors import DidactWarning, InvalidFile, Unsupported
from didact.files.reading import open_file, shown_path
from didact.inputs import FAILURES, as_float, is_number, reason_of

NORMALISATIONS = ("vecnormalize.pkl", "vec_normalize.pkl")
"""Files in which VecNormalize keeps how observations were normalised: the zoo's name, the hub's."""
ALGORITHMS = {
    "stable_baselines3": ("PPO", "A2C", "DQN", "SAC", "TD3", "DDPG"),
    "sb3_contrib": ("TRPO", "ARS", "QRDQN", "TQC", "CrossQ", "MaskablePPO"),
}


def agent_file(path: str) -> str:
    """The agent's .zip that a path names: itself, or that of a folder of a training run."""
    if not os.path.isdir(path):
        return path
    named = [name for name in sorted(os.listdir(path)) if name.endswith(".zip")]
    held = [name for name in named if _is_agent(os.path.join(path, name))]
    env = run_settings(os.path.join(path, "agent.zip")).get("env", "")
    for name in ("best_model.zip", f"{env}.zip"):
        if name in held:
            return os.path.join(path, name)
    if len(held) == 1:
        return os.path.join(path, held[0])
    raise InvalidFile(
        f"{shown_path(path)}: must hold one agent's .zip, or best_model.zip; it holds "
        f"{', '.join(held) or 'none'}"
    )


def names_agent(text: str) -> bool:
    """Whether a text names a file or a folder of a trained agent; refuses names on a hub."""
    refuse_hub_name(text)
    return text.endswith(".zip") or os.path.isdir(text)


def _is_agent(path: str) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return {"data", "policy.pth"} <= set(archive.namelist())
    except FAILURES:
        return False


def refuse_hub_name(text: str) -> None:
    """Refuse the name of a model on a hub, with the line that downloads it."""
    if re.fullmatch(r"[\w.-]+/[\w.-]+", text) and not text.endswith(".zip") and (
        not os.path.exists(text)
    ):  # fmt: skip
        folder = text.split("/")[1]
        raise Unsupported(
            f"{text}: nothing is downloaded here; run `hf download {text} --local-dir {folder}`, "
            f"then name the folder {folder}"
        )


def run_settings(path: str) -> dict[str, str]:
    """Settings of the training run that an agent's file belongs to, as texts; empty without."""
    found: dict[str, str] = {}
    for name in ("args.yml", "config.yml"):
        place = _beside(path, (name,))
        if place is not None:
            with open_file(place) as file:
                text = file.read(1_000_000).decode("utf-8", "replace")
            # PyYAML writes all pairs as one argument: the first begins "- - -", others "  - -"
            pair = r"^(?:- - - |  - - |- - )([\w.]+)\n\s+- (.*)$"
            pairs = re.findall(pair, text, re.MULTILINE)
            pairs += re.findall(r"^(\w+): (\S.*)$", text, re.MULTILINE)
            found |= {key: value.strip().strip("'\"") for key, value in pairs}
    return found


def recorded_return(path: str) -> float | None:
    """The mean return of an agent's evaluation, which `results.json` beside its file tells; None
    without."""
    place = _beside(agent_file(path), ("results.json",))
    if place is None:
        return None
    with open_file(place) as file:
        try:
            told = json.loads(file.read(1_000_000))
        except (ValueError, RecursionError):
            return None
    mean = told.get("mean_reward") if isinstance(told, dict) else None
    return as_float(mean) if is_number(mean) and math.isfinite(as_float(mean)) else None


def normalisation_of(path: str) -> str | None:
    """The file of VecNormalize that belongs to an agent's file; None without."""
    return _beside(path, NORMALISATIONS)


def _beside(path: str, names: tuple[str, ...]) -> str | None:
    """One of these files beside another one, or in the folder of its name or of its environment."""
    folder, stem = os.path.dirname(path), os.path.basename(path).removesuffix(".zip")
    inside = sorted(entry.path for entry in os.scandir(folder or ".") if entry.is_dir())
    own = [place for place in inside if os.path.basename(place) == stem]
    others = inside if len(inside) == 1 and _names_folder(folder, stem) else []
    for place in (folder, *own, *others):
        for name in names:
            if os.path.isfile(os.path.join(place, name)):
                return os.path.join(place, name)
    return None


def _names_folder(folder: str, stem: str) -> bool:
    """Whether this is the best agent of a run, whose settings stand in a folder of another name."""
    return stem in ("best_model", "agent") and bool(folder)


NOTHING = ("", "null", "None", "{}", "[]", "false", "False")
"""How a setting says that there is none."""


def frames_of(settings: Mapping[str, str]) -> int:
    """How many observations the agent saw at once."""
    told = settings.get("frame_stack", "")
    return int(told) if told.isdecimal() and 0 < len(told) < 3 and int(told) else 1


def warn_of_settings(path: str, settings: Mapping[str, str], env: Any) -> None:
    """Warn of settings without which an agent may act at random: its normalisation where that is
    missing, and what was put around its environment where that is only named by an id."""
    told = []
    normalised = settings.get("normalize", "")
    if normalised not in NOTHING and (
        normalisation_of(path) is None and "'norm_obs': False" not in normalised
    ):
        told.append("observations were normalised, and there is no vecnormalize.pkl beside it")
    if env is None or isinstance(env, str):
        for name in ("env_wrapper", "env_kwargs"):
            value = settings.get(name, "").lstrip("- ").rstrip(": ")
            if value not in NOTHING:
                told.append(f"{name} was {value[:80]}; give a function that makes it so as env")
    for what in told:
        warnings.warn(
            f"{shown_path(path)}: its config.yml says that {what}: the agent may act at random",
            DidactWarning,
            stacklevel=4,
        )


def unpickled(path: str, package: Any, spaces: Any) -> Any:
    """The agent by the first algorithm that reads the file; it must be trusted.

    spaces: the environment, whose spaces take the place of those in the file, if given.
    """
    open_file(path).close()
    reasons, custom = [], {"learning_rate": 0.0, "lr_schedule": _no_steps, "clip_range": _no_steps}
    custom["exploration_schedule"] = _no_steps
    if spaces is not None:
        custom |= {name: getattr(spaces, name) for name in ("observation_space", "action_space")}
    for module, names in ALGORITHMS.items():
        try:
            holder = package if module == "stable_baselines3" else import_module("sb3_contrib")
        except ImportError:
            continue
        for name in names:
            algorithm = getattr(holder, name, None)
            if algorithm is None:
                continue
            try:
                return algorithm.load(path, device="cpu", custom_objects=custom)
            except FAILURES as error:  # another algorithm's file, or none at all
                reasons.append(reason_of(error))
    raise InvalidFile(
        f"{shown_path(path)}: no algorithm of Stable-Baselines3 reads it: {reasons[0]}"
    )


def _no_steps(_: float) -> float:
    """A learning rate for what does not learn."""
    return 0.0


class Normalised:
    """An agent that sees observations as VecNormalize normalised them; from a trusted pickle."""

    is_normalised = True
    frame_stack = 1

    def __init__(self, agent: Any, path: str):
        try:
            with open_file(path) as file:
                self._normalisation = read_pickle(file)
        except FAILURES as error:
            raise InvalidFile(
                f"{shown_path(path)}: cannot be unpickled: {reason_of(error)}"
            ) from None
        self._agent = agent
        mean: Any = getattr(getattr(self._normalisation, "obs_rms", None), "mean", None)
        shapes = [
            np.shape(mean),
            getattr(getattr(agent, "observation_space", None), "shape", None),
        ]
        if all(shapes) and shapes[0] != shapes[1]:
            raise Unsupported(
                f"{shown_path(path)}: normalised observations of the shape {shapes[0]}, and the "
                f"agent sees {shapes[1]}: frames were stacked afterwards. Load the agent without "
                "it, and give VecFrameStack(VecNormalize.load(...), n) as env"
            )

    def predict(self, observation: Any, deterministic: bool = False, **masks: Any) -> Any:
        """What the agent does where this is observed; masks: `action_masks`, if it acts by them."""
        return self._agent.predict(
            self._normalisation.normalize_obs(observation), deterministic=deterministic, **masks
        )


def read_pickle(file: Any) -> Any:
    """What a trusted pickle holds, also one from the time of `gym`."""
    import pickle

    class Reader(pickle.Unpickler):
        """Names of `gym` are looked up in `gymnasium`."""

        def find_class(self, module: str, name: str) -> Any:
            if module.split(".")[0] != "gym":
                return super().find_class(module, name)
            try:
                return super().find_class(module.replace("gym", "gymnasium", 1), name)
            except (ImportError, AttributeError):
                return type(name, (), {})

    return Reader(file).load()
