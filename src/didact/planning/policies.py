"""Policies as people have them: weights, actions, probabilities, callables, trained agents."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import DidactError, InvalidInput, InvalidModel
from didact.inputs import FAILURES, in_one_line, reason_of
from didact.mdp import MDP, as_mdp
from didact.mdp.distributions import SUM_TOLERANCE
from didact.mdp.idle import idle_states
from didact.numerics.exact import Floats
from didact.planning.solve import Plan, solve


def as_policy(mdp: MDP, given: Any) -> Floats:
    """Action probabilities (S, A), zero rows in terminal states, from any form of a policy.

    A Plan or weights (k,): all optimal actions with equal probability. Ints (S,): the action of
    each state. Probabilities (S, A). A callable: called with each state's number. An object with
    `predict(observation)`: called with each state's number, as Stable-Baselines3 does it, and
    without exploration where it takes `deterministic`.
    An array of S numbers is read as actions when its dtype is an integer one, else as weights.
    """
    mdp = as_mdp(mdp)
    if isinstance(given, Plan):
        return given.policy
    if hasattr(given, "predict"):
        greedy = _without_exploration(given.predict)
        return _from_actions(mdp, _ask(mdp, lambda state: given.predict(state, **greedy)))
    if callable(given):
        return _from_answers(mdp, _ask(mdp, given))
    try:
        array = np.asarray(given)
    except FAILURES as error:
        raise InvalidModel(f"a policy must be a table: {reason_of(error)}") from None
    require_plain_numbers(array)
    if array.ndim == 1 and array.dtype.kind in "iu" and array.size == mdp.n_states:
        if mdp.n_states == mdp.n_features:
            raise InvalidModel(
                f"{mdp.n_states} whole numbers can be actions or weights, because there are as "
                "many states as features; give probabilities (S, A) or weights as floats"
            )
        return _from_actions(mdp, array.tolist())
    if array.ndim == 2:
        return _from_probabilities(mdp, array)
    if array.shape != (mdp.n_features,):
        raise InvalidModel(
            f"a policy must be weights ({mdp.n_features},), actions ({mdp.n_states},) as ints, "
            f"probabilities ({mdp.n_states}, {mdp.n_actions}), a callable or an object with "
            f"predict; the shape is {array.shape}"
        )
    return solve(mdp, given).policy


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


def _ask(mdp: MDP, answer: Any) -> list[Any]:
    """The answer in every state where something is to be done; None elsewhere."""
    answers: list[Any] = []
    for state, nothing in enumerate((mdp.terminal | idle_states(mdp)).tolist()):
        try:
            answers.append(None if nothing else answer(state))
        except DidactError:
            raise
        except FAILURES as error:
            raise InvalidModel(
                f"the policy failed in state {mdp.state_name(state)}: {reason_of(error)}"
            ) from error
    return answers


def _from_answers(mdp: MDP, answers: list[Any]) -> Floats:
    wide = next((a for a in answers if a is not None), None)
    if np.shape(np.asarray(wide)) == (mdp.n_actions,):
        any_action = np.full(mdp.n_actions, 1 / mdp.n_actions)
        return _from_probabilities(
            mdp, np.array([any_action if a is None else np.asarray(a, float) for a in answers])
        )
    return _from_actions(mdp, answers)


def _from_actions(mdp: MDP, actions: list[Any]) -> Floats:
    policy = np.zeros((mdp.n_states, mdp.n_actions))
    for state, given in enumerate(actions):
        if mdp.terminal[state]:
            continue
        if given is None and idle_states(mdp)[state]:
            policy[state] = 1 / mdp.n_actions
            continue
        action = given[0] if isinstance(given, tuple) else given
        try:
            chosen = int(np.asarray(action).item())
            if chosen != action:
                raise ValueError
        except (TypeError, ValueError):
            raise InvalidModel(
                f"policy[{state}] must be an action, a whole number; it is {given!r:.40}"
            ) from None
        if not 0 <= chosen < mdp.n_actions:
            raise InvalidModel(
                f"policy[{state}] must be an action from 0 to {mdp.n_actions - 1}; it is {chosen}"
            )
        policy[state, chosen] = 1.0
    return policy


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
    wrong_rows = wrong.any(axis=1) | (~mdp.terminal & ~(np.abs(totals - 1.0) <= SUM_TOLERANCE))
    if wrong_rows.any():
        state = int(np.flatnonzero(wrong_rows)[0])
        raise InvalidModel(
            f"policy[{state}] must be a distribution over actions; it is "
            f"{np.array2string(policy[state], precision=3, threshold=6)}"
        )
    return policy / np.where(mdp.terminal, 1.0, totals)[:, None]
