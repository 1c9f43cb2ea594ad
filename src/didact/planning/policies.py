"""Policies as people have them: weights, actions, probabilities, callables, trained agents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import DidactError, InvalidInput, InvalidModel
from didact.inputs import (
    FAILURES,
    in_one_line,
    plain_array,
    reason_of,
    shown,
    without_exploration,
)
from didact.mdp import MDP, Task, as_mdp
from didact.mdp.model import deciding_states
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
    if hasattr(given, "predict") or callable(given):
        return _from_answers(where, given)
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
        greedy = without_exploration(agent.predict)
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
    return np.asarray(_from_probabilities(mdp, require_plain_numbers(row)[None], state)[0])


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
        if array.shape != (mdp.n_states, mdp.n_actions):
            raise InvalidModel(
                f"policy probabilities must have the shape ({mdp.n_states}, {mdp.n_actions}); "
                f"the shape is {array.shape}"
            )
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


def _from_answers(where: MDP | Task, agent: Any) -> Floats:
    """What a function or an agent answers in every state where something is to be done."""
    mdp, ask = as_mdp(where), asking(where, agent)
    policy = np.where(mdp.terminal[:, None], 0.0, np.full((1, mdp.n_actions), 1 / mdp.n_actions))
    for state in np.flatnonzero(deciding_states(mdp)).tolist():
        try:
            answer = ask(state)
        except DidactError:
            raise
        except FAILURES as error:
            raise InvalidModel(
                f"the policy failed in {state_words(where, state)}: {reason_of(error)}"
            ) from error
        policy[state] = answered_row(where, state, answer, is_action=hasattr(agent, "predict"))
    return policy


def _as_row(answer: Any) -> NDArray[Any]:
    """An answer as an array; one that is none, as no numbers."""
    try:
        return np.asarray(plain_array(answer, "the policy's answer"))
    except DidactError:
        raise
    except ValueError:
        return np.zeros(0)


def _from_actions(where: MDP | Task, actions: list[Any]) -> Floats:
    mdp = as_mdp(where)
    policy = np.zeros((mdp.n_states, mdp.n_actions))
    for state in np.flatnonzero(~mdp.terminal).tolist():
        policy[state, _as_action(where, state, actions[state])] = 1.0
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


def _from_probabilities(mdp: MDP, given: NDArray[Any], first: int = 0) -> Floats:
    """Rows of probabilities that sum to 1, of all states, or of those from `first` on."""
    try:
        policy = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput("policy probabilities must be numbers") from None
    ended = mdp.terminal[first : first + len(policy)]
    policy[ended] = 0.0
    wrong = ~np.isfinite(policy) | (policy < 0)
    totals = policy.sum(axis=1)
    far = SUM_TOLERANCE
    if given.dtype.kind == "f" and given.dtype.itemsize < 8:
        # networks answer in 32 bits, and round every probability
        far = max(far, float(np.finfo(given.dtype).eps) * int(given.shape[1]))
    uneven = ~(np.abs(totals - 1.0) <= far)
    wrong_rows = wrong.any(axis=1) | (~ended & uneven)
    if wrong_rows.any():
        row = int(np.flatnonzero(wrong_rows)[0])
        raise InvalidModel(
            f"policy[{first + row}] must be a distribution over actions; it is "
            f"{np.array2string(policy[row], precision=3, threshold=6)}, which sums to "
            f"{totals[row]:.10g}"
        )
    return policy / np.where(ended, 1.0, totals)[:, None]
