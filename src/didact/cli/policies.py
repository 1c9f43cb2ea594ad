"""A policy from what a person names: a file of actions or probabilities, or module:name."""

from __future__ import annotations

from typing import Any

import numpy as np

from didact.auditing.questions import SIDES
from didact.errors import DidactError, InvalidModel, InvalidParameter
from didact.files.archives import read_array
from didact.files.extras import named_object
from didact.files.json import read_json
from didact.files.reading import shown_path
from didact.inputs import FAILURES, is_whole, plain_array, reason_of, shown
from didact.learners import load_belief
from didact.mdp import Family, Task
from didact.numerics.exact import Floats, Numbers
from didact.planning import as_policy
from didact.planning.policies import require_plain_numbers
from didact.worlds.gym.runs import names_agent
from didact.worlds.gym.trained import load_agent, refuse_pickle


def read_policy(text: str, task: Task) -> Floats:
    """Action probabilities (S, A) of the task's states, from a file or from module:name.

    Tables are indexed by the task's states or by the environment's; functions and agents are asked
    what they do where the environment shows its own observations.
    """
    given = _load(text)
    numbers, n_states = _numbering(task)
    try:
        if callable(given) or hasattr(given, "predict"):
            return as_policy(task, given)
        return _from_table(task, _as_array(given), numbers, n_states)
    except DidactError as error:
        raise InvalidModel(f"{shown_path(text)}: {error}") from None
    except FAILURES as error:
        raise InvalidParameter(f"{shown_path(text)} failed: {reason_of(error)}") from error


def _as_array(given: Any) -> Any:
    """A table of whole numbers or floats; JSON and lists are read as exactly as elsewhere."""
    array = plain_array(given, "policy")
    if not isinstance(array, np.ndarray):
        numbers = Numbers.read(given, "policy")
        array = numbers.floats
        if array.ndim == 1 and numbers.given_exactly:
            _require_whole(numbers)
    return require_plain_numbers(array)


def _require_whole(actions: Numbers) -> None:
    """Refuse actions such as 1.000000000000000001, which a float would make whole."""
    for state, action in enumerate(actions.fractions()):
        if action.denominator != 1:
            raise InvalidModel(
                f"policy[{state}] must be an action, a whole number; it is {shown(action)}"
            )


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
    own = table[np.asarray(numbers)] if len(table) == n_states else table
    if own.ndim == 2:
        return as_policy(mdp, own)
    return as_policy(mdp, lambda state: own[state] - task.first_action)


def _load(text: str) -> Any:
    if text.endswith(".npy"):
        return read_array(text)
    if text.endswith(".json"):
        return read_json(text)
    if names_agent(text):
        return load_agent(text)
    module, colon, name = text.partition(":")
    if not colon or not module or not name:
        raise InvalidParameter(
            "--policy must be 'optimal', a .npy, .json or .zip file, or module:name; it is "
            f"{text!r:.60}"
        )
    return named_object(text, "--policy")


def _numbering(task: Task) -> tuple[tuple[int, ...], int]:
    """For each state of the task its number in the environment, and how many there are."""
    mdp = task.mdp
    seen = [task.observation(state) for state in range(mdp.n_states)]
    if task.observations is None or any(not is_whole(n) or n < 0 for n in seen if n is not None):
        return tuple(range(mdp.n_states)), mdp.n_states
    numbers = tuple(state if n is None else int(n) for state, n in enumerate(seen))
    return numbers, max(numbers) + 1


# Agents


def holds_answers(agent: str) -> bool:
    """Whether a JSON file holds answers about sides, and no numbers."""
    if not agent.endswith(".json"):
        return False
    document = read_json(agent)
    if isinstance(document, dict):
        return document.get("format") is None
    sides = isinstance(document, list) and any(isinstance(a, str) and a in SIDES for a in document)
    return sides or (isinstance(document, list) and None in document)


def read_agent(text: str, task: Task | Family, *, trust_pickle: bool = False) -> Any:
    """Weights, a policy, a belief or an agent with `predict` from what a person names."""
    mdp = task.members[0].mdp if isinstance(task, Family) else task.mdp
    if text.endswith((".json", ".npy")):
        given = read_json(text) if text.endswith(".json") else read_array(text).tolist()
        is_list = isinstance(given, list) and not any(isinstance(x, list) for x in given)
        if is_list and len(given) == mdp.n_features:
            if mdp.n_features == mdp.n_states:
                raise InvalidModel(
                    f"{shown_path(text)}: {len(given)} numbers can be actions or weights, because "
                    "there are as many states as features; give probabilities, or module:name"
                )
            return given
    if isinstance(task, Family):
        raise InvalidParameter(
            f"{shown_path(text)}: a family takes weights or answers; audit each member by itself"
        )
    if text.endswith(".npz"):
        return load_belief(text, task.mdp)
    if names_agent(text):
        return load_agent(text, trust_pickle=trust_pickle)
    if text.endswith((".json", ".npy")):
        return read_policy(text, task)
    refuse_pickle(text)
    return named_object(text, "--agent")
