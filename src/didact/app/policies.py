"""A policy from what a person names: a file of actions or probabilities, or module:name."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from didact.errors import DidactError, InvalidFile, InvalidModel, InvalidParameter
from didact.files.json import read_json, shown_path
from didact.inputs import reason_of
from didact.mdp import Task
from didact.numerics.exact import Floats
from didact.planning import as_policy
from didact.worlds import worlds
from didact.worlds.gym.environments import describe, open_environment
from didact.worlds.gym.policies import environment_states, in_numbers

TASK_OPTIONS = frozenset({"features", "weights", "discount", "start", "name", "id"})
"""Parameters of `from_gymnasium` that are not the environment's."""


def read_policy(
    text: str, task: Task, source: str, parameters: Mapping[str, Any] | None = None
) -> Floats:
    """Action probabilities (S, A) of the task's states, from a file or from module:name.

    Tables may be indexed by the task's states or, for a Gymnasium environment, by its own;
    functions and agents are asked in the environment's own numbers.
    """
    given = _load(text)
    numbers, n_states = _numbering(task, source, parameters or {})
    try:
        if callable(given) or hasattr(given, "predict"):
            return as_policy(task.mdp, in_numbers(given, numbers, n_states))
        return _from_table(task, in_numbers(_as_array(given), numbers, n_states), n_states)
    except DidactError as error:
        raise InvalidModel(f"{shown_path(text)}: {error}") from None
    except Exception as error:
        raise InvalidParameter(f"{shown_path(text)} failed: {reason_of(error)}") from error


def _as_array(given: Any) -> Any:
    try:
        return np.asarray(given).astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidModel("must hold actions (S,) or probabilities (S, A)") from None


def _from_table(task: Task, table: Any, n_states: int) -> Floats:
    """Probabilities from a table of actions or probabilities by the task's states."""
    mdp = task.mdp
    if table.ndim not in (1, 2) or len(table) != mdp.n_states:
        expected = " or ".join(map(str, sorted({mdp.n_states, n_states})))
        raise InvalidModel(
            f"must hold {expected} actions, or so many rows of {mdp.n_actions} probabilities; "
            f"the shape is {table.shape}"
        )
    return as_policy(mdp, table if table.ndim == 2 else lambda state: table[state])


def _load(text: str) -> Any:
    if text.endswith(".npy"):
        return _load_array(text)
    if text.endswith(".json"):
        return read_json(text)
    module, colon, name = text.partition(":")
    if not colon or not module or not name:
        raise InvalidParameter(
            f"--policy must be 'optimal', a .npy or .json file, or module:name; it is {text!r:.60}"
        )
    return _import(module, name)


def _load_array(path: str) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no array that NumPy saved"
        raise InvalidFile(f"{shown_path(path)}: cannot be read: {reason}") from None


def _import(module: str, name: str) -> Any:
    """The named thing; modules of the current folder count, as with `python -m`."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:
        raise InvalidParameter(
            f"--policy {module}:{name} cannot be loaded: {reason_of(error)}"
        ) from None
    return found


def _numbering(
    task: Task, source: str, parameters: Mapping[str, Any]
) -> tuple[tuple[int, ...], int]:
    """For each state of the task its number in the environment, and how many there are."""
    same = tuple(range(task.mdp.n_states)), task.mdp.n_states
    if source == "gymnasium":
        source = str(parameters.get("id", "FrozenLake-v1"))
    elif source in worlds() or source.endswith(".json") or os.path.exists(source):
        return same
    env = open_environment(source, {k: v for k, v in parameters.items() if k not in TASK_OPTIONS})
    if getattr(env, "P", None) is None:
        return same
    return environment_states(task, env), describe(env).n_states
