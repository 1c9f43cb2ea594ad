"""Whether what an environment observes can be listed at all, asked before a walk begins.

Observations that are floats may still be few: cells as decimals, one-hot vectors. A short walk at
random tells: where nearly every step shows numbers that were never seen before, and they are no
whole numbers, there is no end to them.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from didact.errors import Unsupported
from didact.inputs import FAILURES, shown

STEPS = 200
"""Of the walk at random."""
MOST_NEW = 0.9
"""A larger share of steps that show something new means that there is no end to it."""


def require_countable(env: Any, name: str, seed: int, first: int, n_actions: int) -> None:
    """Refuse an environment whose observations are continuous."""
    space = getattr(env, "observation_space", None)
    if not _has_floats(space):
        return
    seen = _looked_at(env, seed, first, n_actions)
    fractional = any(np.any(part != np.round(part)) for part in seen)
    if fractional and len({part.tobytes() for part in seen}) > MOST_NEW * len(seen):
        raise Unsupported(
            f"{name} observes continuous numbers, {shown(space)}, so its states cannot be listed; "
            "give key=, a function of the environment that puts them into bins, as "
            "key=lambda env: tuple(env.unwrapped.state.round()), or build an MDP by hand"
        )


def _has_floats(space: Any) -> bool:
    """Whether a space, or a part of it, holds floats."""
    parts = getattr(space, "spaces", None)
    if parts is not None:
        return any(map(_has_floats, parts.values() if hasattr(parts, "values") else parts))
    return getattr(getattr(space, "dtype", None), "kind", "") == "f"


def _looked_at(env: Any, seed: int, first: int, n_actions: int) -> list[np.ndarray]:
    """The numbers that a walk at random observes; none where the environment cannot be copied."""
    rng = np.random.default_rng(seed)
    seen: list[np.ndarray] = []
    try:
        walked = copy.deepcopy(env)
        observation, _ = walked.reset(seed=seed)
        for _ in range(STEPS):
            seen.append(np.concatenate([[0.0], *_numbers(observation)]))
            observation, _, ends, cut, _ = walked.step(first + int(rng.integers(n_actions)))
            if ends or cut:
                observation, _ = walked.reset()
    except FAILURES:
        return []  # the walk itself tells why
    return seen


def _numbers(observation: Any) -> list[np.ndarray]:
    if isinstance(observation, dict):
        return [part for name in sorted(observation) for part in _numbers(observation[name])]
    if isinstance(observation, tuple):
        return [part for entry in observation for part in _numbers(entry)]
    array = np.asarray(observation)
    return [array.ravel().astype(float)] if array.dtype.kind in "biuf" else []
