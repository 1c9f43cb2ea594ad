"""Policies and features that are asked for many states at once, where they can be.

A function that was written for one state is called for one after the other; whether it takes many
is tried on the first ones, and must give the same. No function is made inside another one, so that
a result that holds them can be pickled wherever the given function can.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidModel, InvalidParameter, Unsupported
from didact.inputs import FAILURES, own_code, reason_of, shown

Floats = NDArray[np.float64]
Policy = Callable[[Any], Any]
Features = Callable[[Any, Any, Any, Any], Floats]


EXACTLY, ROUGHLY = 1e-6, 1e-3
"""Shares by which answers to one question may differ."""


def batch_policy(policy: Any, action_space: Any, some: Any) -> Policy:
    """The actions of a policy in many states; `some` observations are tried.

    policy: an object with `predict`, as Stable-Baselines3 has it, or a function of an observation
    or of many. It must answer the same when it is asked again.
    """
    answer = _predictor(policy) if hasattr(policy, "predict") else policy
    if not callable(answer):
        raise InvalidParameter(
            f"policy must be a function of observations or have predict; it is {shown(policy)}"
        )
    shape = tuple(getattr(action_space, "shape", ()) or ())
    if not _takes_many(answer, (some,)):
        answer = _each(answer)
    if not _equal(_actions(answer, shape, some), _actions(answer, shape, some)):
        raise Unsupported(
            "the policy must act the same whenever it sees the same; it does not. Give its "
            "deterministic version"
        )
    return partial(_actions, answer, shape)


def _predictor(agent: Any) -> Callable[[Any], Any]:
    try:
        known = set(inspect.signature(agent.predict).parameters)
    except (TypeError, ValueError):
        known = set()
    greedy = {"deterministic": True} if "deterministic" in known else {}

    return partial(_predicted, agent, greedy)


def _predicted(agent: Any, greedy: dict[str, bool], observations: Any) -> Any:
    given = agent.predict(observations, **greedy)
    if isinstance(given, tuple):
        if len(given) > 1 and given[1] is not None:
            raise Unsupported("the policy remembers earlier states; only those without memory "
                              "can be observed")  # fmt: skip
        return given[0]
    return given


def _each(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function asked for one after the other."""
    return partial(_one_by_one, function)


def _one_by_one(function: Callable[..., Any], *many: Any) -> Any:
    return np.stack([np.asarray(function(*one)).squeeze() for one in zip(*many, strict=True)])


def _actions(answer: Callable[[Any], Any], shape: tuple[int, ...], observations: Any) -> Any:
    with own_code("the policy"):
        given = np.asarray(answer(observations))
    wanted = (len(observations), *shape)
    if given.size == int(np.prod(wanted)) and given.shape != wanted:
        given = given.reshape(wanted)
    if given.shape != wanted or given.dtype.kind not in "biuf" or not np.isfinite(given).all():
        raise InvalidModel(
            f"the policy must give actions of shape {wanted}, finite numbers; it gave "
            f"{shown(given)}"
        )
    return given


def batch_features(features: Any, names: Any, some: tuple[Any, Any, Any, Any]) -> Features:
    """phi of many steps, (n, k), from a function of one step or of many; `some` steps are tried."""
    if not callable(features):
        raise InvalidParameter(
            "features must be a function (observation, action, next_observation, terminated) -> "
            f"k numbers; it is {shown(features)}"
        )
    chosen = features if _takes_many(features, some) else _rows(_each(features))
    _require_either(features, chosen, some)
    k = _numbers(chosen, some, None).shape[1]
    if names is not None and len(names) != k:
        raise InvalidParameter(f"feature_names must be {k}, one for each; there are {len(names)}")
    return partial(_numbers_of, chosen, k)


def _require_either(of_many: Callable[..., Any], of_one: Callable[..., Any], some: Any) -> None:
    """Refuse features that fail on many steps and on one, with both reasons."""
    reasons = []
    for what, function in (("many steps", of_many), ("one step", of_one)):
        try:
            function(*some)
            return
        except FAILURES as error:
            reasons.append(f"on {what} {reason_of(error, 120)}")
    raise InvalidParameter(f"the features failed: {'; '.join(reasons)}")


def _rows(function: Callable[..., Any]) -> Callable[..., Any]:
    """One number for each step is one feature."""
    return partial(_reshaped, function)


def _reshaped(function: Callable[..., Any], *many: Any) -> Any:
    return np.asarray(function(*many)).reshape(len(many[0]), -1)


def _numbers_of(function: Any, k: int, *steps: Any) -> Floats:
    return _numbers(function, steps, k)


def _numbers(function: Any, steps: Any, k: int | None) -> Floats:
    with own_code("the features"):
        given = np.asarray(function(*steps), dtype=np.float64)
    if given.ndim != 2 or len(given) != len(steps[0]) or (k is not None and given.shape[1] != k):
        raise InvalidModel(
            f"features must give {k or 'k'} numbers for each of {len(steps[0])} steps; the shape "
            f"is {given.shape}"
        )
    if not np.isfinite(given).all():
        at, j = np.argwhere(~np.isfinite(given))[0]
        raise InvalidModel(f"features must be finite; feature {j} is {given[at, j]}")
    return given


def _takes_many(function: Callable[..., Any], many: tuple[Any, ...]) -> bool:
    """Whether asking for all at once gives what asking for each gives, alone or as one of one."""
    n = len(many[0])
    try:
        together = np.asarray(function(*many))
        alone = [np.asarray(function(*(part[i : i + 1] for part in many))) for i in range(n)]
        apart = np.concatenate(alone)
    except FAILURES:
        return False
    try:
        single = _each(function)(*many)
    except FAILURES:  # made for many only; in single precision sums may depend on how many
        return _equal(together, apart, ROUGHLY)
    if not _equal(together, apart):
        return False
    return single.size != together.size or _equal(together.ravel(), single.ravel())


def _equal(one: Any, other: Any, share: float = EXACTLY) -> bool:
    if np.shape(one) != np.shape(other):
        return False
    size = float(np.abs(one).max(initial=0.0)) if np.isfinite(one).all() else 1.0
    small = share * 1e-3 * max(size, 1e-6)
    return bool(np.allclose(one, other, rtol=share, atol=small, equal_nan=True))
