"""A policy from what a person names: a file of actions or probabilities, or module:name."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from didact.errors import DidactError, InvalidModel, InvalidParameter
from didact.files.arrays import read_array
from didact.files.json import read_json
from didact.files.reading import shown_path
from didact.inputs import FAILURES, plain_array, reason_of
from didact.mdp import Task
from didact.numerics.exact import Floats, Numbers
from didact.planning import as_policy
from didact.planning.policies import require_plain_numbers
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
        return _from_table(task, _as_array(given), numbers, n_states)
    except DidactError as error:
        raise InvalidModel(f"{shown_path(text)}: {error}") from None
    except FAILURES as error:
        raise InvalidParameter(f"{shown_path(text)} failed: {reason_of(error)}") from error


def _as_array(given: Any) -> Any:
    """A table of whole numbers or floats; JSON and lists are read as exactly as elsewhere."""
    array = plain_array(given, "policy")
    if not isinstance(array, np.ndarray):
        array = Numbers.read(given, "policy").floats
    return require_plain_numbers(array)


def _from_table(task: Task, table: Any, numbers: tuple[int, ...], n_states: int) -> Floats:
    """Probabilities from a table of actions or probabilities, by either numbering of states."""
    mdp = task.mdp
    fits = table.ndim in (1, 2) and len(table) in (mdp.n_states, n_states)
    if not fits or (table.ndim == 2 and table.shape[1] != mdp.n_actions):
        expected = " or ".join(map(str, sorted({mdp.n_states, n_states})))
        raise InvalidModel(
            f"must hold {expected} actions, or so many rows of {mdp.n_actions} probabilities; "
            f"the shape is {table.shape}"
        )
    own = in_numbers(table, numbers, n_states)
    return as_policy(mdp, own if own.ndim == 2 else lambda state: own[state])


def _load(text: str) -> Any:
    if text.endswith(".npy"):
        return read_array(text)
    if text.endswith(".json"):
        return read_json(text)
    module, colon, name = text.partition(":")
    if not colon or not module or not name:
        raise InvalidParameter(
            f"--policy must be 'optimal', a .npy or .json file, or module:name; it is {text!r:.60}"
        )
    return _import(module, name)


def _import(module: str, name: str) -> Any:
    """The named thing; modules of the current folder count, as with `python -m`."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except FAILURES as error:
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
