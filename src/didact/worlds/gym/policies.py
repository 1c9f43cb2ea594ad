"""Policies that speak of an environment's own state numbers, read for the task made from it.

`from_gymnasium` drops states that cannot be reached and may add terminal copies, so a task numbers
its states anew. A table indexed by the environment's states, a function of an observation, or a
trained agent with `predict` (Stable-Baselines3) is asked here in the environment's own numbers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from didact.errors import InvalidModel, InvalidParameter
from didact.inputs import plain_array
from didact.mdp import Task
from didact.worlds.gym.environments import describe, open_environment

_END = " (end)"


def environment_states(task: Task, env: Any, **make_kwargs: Any) -> tuple[int, ...]:
    """For each state of the task, its number in the environment that the task was made from.

    env: the environment or its id; make_kwargs as for `from_gymnasium`.
    """
    notes = describe(open_environment(env, make_kwargs))
    number = {name: state for state, name in enumerate(notes.state_names)}
    if len(number) < notes.n_states:
        raise InvalidModel("the environment must name its states differently; two share a name")
    found = []
    for state in range(task.mdp.n_states):
        name = task.mdp.state_name(state)
        if name.removesuffix(_END) not in number:
            raise InvalidParameter(
                f"the task must come from the environment {notes.name}; its state {name!r:.60} "
                "does not"
            )
        found.append(number[name.removesuffix(_END)])
    return tuple(found)


def policy_of_environment(
    task: Task, policy: Any, env: Any, **make_kwargs: Any
) -> Callable[[int], Any] | Any:
    """The policy in the task's states, from one in the environment's states.

    policy: actions (S,) or probabilities (S, A) by the environment's state numbers, a function of
    the number, or an object with `predict`.
    """
    opened = open_environment(env, make_kwargs)
    return in_numbers(policy, environment_states(task, opened), describe(opened).n_states)


def in_numbers(policy: Any, numbers: Sequence[int], n_states: int) -> Any:
    """A policy on other state numbers: state s of the task is numbers[s] of n_states there."""
    if hasattr(policy, "predict"):
        answer = greedy_answer(policy)
        return lambda state: answer(numbers[state])
    if callable(policy):
        return lambda state: policy(numbers[state])
    table = np.asarray(plain_array(policy, "a policy"))
    if table.ndim in (1, 2) and len(table) == n_states:
        return table[np.asarray(numbers)]
    return policy


def greedy_answer(agent: Any) -> Callable[[int], int]:
    """The agent's action in a state, without exploration where `predict` lets one choose."""
    takes = _parameters(agent.predict)
    greedy = {"deterministic": True} if "deterministic" in takes else {}

    def answer(state: int) -> int:
        given = agent.predict(state, **greedy)
        action = given[0] if isinstance(given, tuple) else given
        try:
            chosen = np.asarray(action).item()
        except ValueError:
            chosen = None
        if chosen is None or chosen != int(chosen):
            raise InvalidModel(
                f"predict({state}) must give one action, a whole number; it gave {given!r:.60}"
            )
        return int(chosen)

    return answer


def _parameters(function: Any) -> set[str]:
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return set()
