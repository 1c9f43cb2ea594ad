"""Policies as people have them: weights, actions, probabilities, callables, trained agents."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import DidactError, InvalidInput, InvalidModel
from didact.inputs import FAILURES, in_one_line, plain_array, reason_of, shown
from didact.mdp import MDP, Task, as_mdp
from didact.mdp.model import deciding_states, idle_states
from didact.mdp.naming import state_words
from didact.mdp.transitions import SUM_TOLERANCE
from didact.numerics.exact import Floats
from didact.planning.solve import Plan, solve


def as_policy(mdp: MDP | Task, given: Any) -> Floats:
    """Action probabilities (S, A), zero rows in terminal states, from any form of a policy.

    A Plan, weights (k,) or a belief, which is taken by its most likely weights: all optimal
    actions with equal probability. Ints (S,): the action of
    each state, as its environment numbers actions. Probabilities (S, A). A callable: called with
    each state's number, or with what a task's environment shows there. An object with
    `predict(observation)`: likewise, as Stable-Baselines3 does it, and without exploration where it
    takes `deterministic`.
    An array of S numbers is read as actions when its dtype is an integer one, else as weights.
    """
    where, mdp = mdp, as_mdp(mdp)
    if isinstance(given, Plan):
        return given.policy
    if hasattr(given, "map_weights"):
        return _from_table(where, np.asarray(given.map_weights))
    given = plain_array(given, "a policy")
    if isinstance(given, np.ndarray):
        return _from_table(where, given)
    if hasattr(given, "predict"):
        return _from_actions(where, _ask(where, asking(where, given)))
    if callable(given):
        return _from_answers(where, _ask(where, asking(where, given)))
    rows = [plain_array(row, "a policy") for row in given] if isinstance(given, list) else given
    try:
        array = np.asarray(rows)
    except FAILURES as error:
        raise InvalidModel(f"a policy must be a table: {reason_of(error)}") from None
    return _from_table(where, array, given)


def asking(where: MDP | Task, agent: Any) -> Callable[[int], Any]:
    """What asks a function or an object with `predict` for its answer in a state."""
    see = where.observation if isinstance(where, Task) else lambda state: state
    if hasattr(agent, "predict"):
        greedy = _without_exploration(agent.predict)
        return lambda state: agent.predict(_arrays(see(state)), **greedy)
    return lambda state: agent(see(state))


def answered_row(where: MDP | Task, state: int, answer: Any, *, is_action: bool = False) -> Floats:
    """The probabilities (A,) that an answer in a state gives: an action, or probabilities.

    is_action: it is an action for sure, as agents with `predict` answer.
    """
    mdp = as_mdp(where)
    row = np.zeros(0) if is_action else _as_row(answer)
    if is_action or row.shape != (mdp.n_actions,):
        return np.asarray(np.eye(mdp.n_actions)[_as_action(where, state, answer)])
    kind = row.dtype if row.dtype.kind == "f" else np.dtype(np.float64)
    everywhere = np.full((mdp.n_states, mdp.n_actions), 1 / mdp.n_actions, kind)
    everywhere[state] = row
    return np.asarray(_from_probabilities(mdp, everywhere)[state])


def _from_table(where: MDP | Task, array: NDArray[Any], given: Any = None) -> Floats:
    """Probabilities from a table; weights are read from what was given, which may be exact."""
    require_plain_numbers(array)
    mdp = as_mdp(where)
    if array.ndim == 1 and array.dtype.kind in "iu" and array.size == mdp.n_states:
        if mdp.n_states == mdp.n_features:
            raise InvalidModel(
                f"{mdp.n_states} whole numbers can be actions or weights, because there are as "
                "many states as features; give probabilities (S, A) or weights as floats"
            )
        return _from_actions(where, array.tolist())
    if array.ndim == 2:
        return _from_probabilities(mdp, array)
    if array.shape != (mdp.n_features,):
        raise InvalidModel(
            f"a policy must be weights ({mdp.n_features},), actions ({mdp.n_states},) as ints, "
            f"probabilities ({mdp.n_states}, {mdp.n_actions}), a callable or an object with "
            f"predict; the shape is {array.shape}"
        )
    return solve(mdp, array if given is None else given).policy


def _arrays(observation: Any) -> Any:
    """What an agent wants to see: arrays in place of tuples."""
    if isinstance(observation, dict):
        return {name: _arrays(part) for name, part in observation.items()}
    return np.asarray(observation) if isinstance(observation, tuple) else observation


def require_plain_numbers(table: NDArray[Any]) -> NDArray[Any]:
    """The table, unless it holds truth values, complex numbers, records or dates."""
    if table.dtype.kind in "bcVMm":
        raise InvalidModel(
            "a policy must hold plain numbers: actions (S,) or probabilities (S, A); it holds "
            f"{in_one_line(table.dtype):.60}"
        )
    return table


def _without_exploration(predict: Any) -> dict[str, Any]:
    """What tells an agent to act without exploration, where its `predict` knows of that."""
    try:
        known = inspect.signature(predict).parameters
    except (TypeError, ValueError):
        return {}
    return {"deterministic": True} if "deterministic" in known else {}


def _ask(where: MDP | Task, answer: Any) -> list[Any]:
    """The answer in every state where something is to be done; None elsewhere."""
    answers: list[Any] = []
    for state, decides in enumerate(deciding_states(as_mdp(where)).tolist()):
        try:
            answers.append(answer(state) if decides else None)
        except DidactError:
            raise
        except FAILURES as error:
            raise InvalidModel(
                f"the policy failed in {state_words(where, state)}: {reason_of(error)}"
            ) from error
    return answers


def _from_answers(where: MDP | Task, answers: list[Any]) -> Floats:
    mdp = as_mdp(where)
    wide = next((a for a in answers if a is not None), None)
    if _as_row(wide).shape == (mdp.n_actions,):
        return _from_probabilities(mdp, _stacked(mdp, answers))
    return _from_actions(where, answers)


def _as_row(answer: Any) -> NDArray[Any]:
    """An answer as an array; one that is none, as no numbers."""
    try:
        return np.asarray(plain_array(answer, "the policy's answer"))
    except DidactError:
        raise
    except ValueError:
        return np.zeros(0)


def _stacked(mdp: MDP, answers: list[Any]) -> NDArray[Any]:
    """Probabilities answered state by state as one table (S, A), in the numbers they came in."""
    unasked = ~deciding_states(mdp)
    rows = [_as_row(answer) for answer in answers]
    asked = [state for state in range(mdp.n_states) if not unasked[state]]
    for state in asked:
        if rows[state].shape != (mdp.n_actions,) or rows[state].dtype.kind not in "fiuO":
            raise InvalidModel(
                f"policy[{state}] must be {mdp.n_actions} probabilities; "
                f"it is {shown(answers[state])}"
            )
    types = {rows[state].dtype for state in asked}
    lone = types.pop() if len(types) == 1 else np.dtype(np.float64)
    any_action = np.full(mdp.n_actions, 1 / mdp.n_actions, lone if lone.kind == "f" else None)
    return np.array([any_action if unasked[state] else row for state, row in enumerate(rows)])


def _from_actions(where: MDP | Task, actions: list[Any]) -> Floats:
    mdp = as_mdp(where)
    policy = np.zeros((mdp.n_states, mdp.n_actions))
    for state, given in enumerate(actions):
        if mdp.terminal[state]:
            continue
        if given is None and idle_states(mdp)[state]:
            policy[state] = 1 / mdp.n_actions
            continue
        policy[state, _as_action(where, state, given)] = 1.0
    return policy


def _as_action(where: MDP | Task, state: int, given: Any) -> int:
    """An action as agents answer it, by the environment's number, alone or first in a tuple."""
    first, n_actions = where.first_action if isinstance(where, Task) else 0, as_mdp(where).n_actions
    action = given[0] if isinstance(given, tuple) else given
    try:
        chosen = int(np.asarray(action).item())
        if chosen != action:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise InvalidModel(
            f"policy[{state}] must be an action, a whole number; it is {shown(given)}"
        ) from None
    if not first <= chosen < first + n_actions:
        last = first + n_actions - 1
        raise InvalidModel(
            f"policy[{state}] must be an action from {first} to {last}; it is {chosen}"
        )
    return chosen - first


def _from_probabilities(mdp: MDP, given: Any) -> Floats:
    if given.shape != (mdp.n_states, mdp.n_actions):
        raise InvalidModel(
            f"policy probabilities must have the shape ({mdp.n_states}, {mdp.n_actions}); "
            f"the shape is {given.shape}"
        )
    try:
        policy = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput("policy probabilities must be numbers") from None
    policy[mdp.terminal] = 0.0
    wrong = ~np.isfinite(policy) | (policy < 0)
    totals = policy.sum(axis=1)
    uneven = ~(np.abs(totals - 1.0) <= _sum_tolerance(given))
    wrong_rows = wrong.any(axis=1) | (~mdp.terminal & uneven)
    if wrong_rows.any():
        state = int(np.flatnonzero(wrong_rows)[0])
        raise InvalidModel(
            f"policy[{state}] must be a distribution over actions; it is "
            f"{np.array2string(policy[state], precision=3, threshold=6)}, which sums to "
            f"{totals[state]:.10g}"
        )
    return policy / np.where(mdp.terminal, 1.0, totals)[:, None]


def _sum_tolerance(table: NDArray[Any]) -> float:
    """How far from 1 a row may sum: networks answer in 32 bits, and round every probability."""
    if table.dtype.kind == "f" and table.dtype.itemsize < 8:
        return max(SUM_TOLERANCE, float(np.finfo(table.dtype).eps) * int(table.shape[1]))
    return SUM_TOLERANCE
