"""Demonstrations as datasets hold them: one observation more than actions, rewards, and the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidFile
from didact.mdp.demonstrations import Demonstration
from didact.mdp.model import MDP
from didact.mdp.observations import Watched
from didact.mdp.task import Task
from didact.numerics.exact import Floats


@dataclass(frozen=True, eq=False)
class Steps:
    """A demonstration as datasets want it: one state more than actions, rewards, the end.

    The last state is where the last action leads; where that is left to chance, its likeliest
    outcome. rewards: weights times features of each pair; the step that ends also gets what the
    terminal state pays, discounted, so that the discounted sum is the return.
    """

    states: NDArray[np.int64]
    actions: NDArray[np.int64]
    rewards: Floats
    ends: bool


def steps_of(task: Task, demonstration: Demonstration) -> Steps:
    """The steps of a demonstration of this task."""
    mdp = task.mdp
    states, actions = np.array(demonstration.pairs, dtype=np.int64).T
    last = _likeliest(mdp, int(states[-1]), int(actions[-1]))
    pays = mdp.features.floats @ task.weights
    rewards = pays[states, actions] if mdp.has_action_features else pays[states]
    ends = bool(mdp.terminal[last])
    if ends:
        rewards = rewards.copy()
        rewards[-1] += mdp.discount * np.atleast_1d(pays[last])[0]
    return Steps(np.append(states, last), actions, np.asarray(rewards, dtype=float), ends)


def _likeliest(mdp: MDP, state: int, action: int) -> int:
    moves, row = mdp.transitions, state * mdp.n_actions + action
    part = slice(int(moves.offsets[row]), int(moves.offsets[row + 1]))
    return int(moves.successors[part][np.argmax(moves.probabilities.floats[part])])


def pairs_of(
    observed: Any, actions: Any, place: str, *, numbers: bool = True
) -> Demonstration | Watched | None:
    """A demonstration from one observation more than actions; None where no action was taken.

    numbers: whether observations are whole numbers, and not lists, arrays or objects.
    """
    taken = _whole(actions, f"{place}: actions")
    states = _whole(observed, f"{place}: observations") if numbers else list(observed)
    if len(states) != len(taken) + 1:
        raise InvalidFile(
            f"{place}: must have one observation more than actions; it has {len(states)} and "
            f"{len(taken)}"
        )
    if not taken:
        return None
    pairs = list(zip(states[:-1], taken, strict=True))
    return Demonstration(pairs) if numbers and min(states) >= 0 else Watched.of(pairs)


def _whole(values: Any, place: str) -> list[int]:
    """Whole numbers from an array (T,) or (T, 1)."""
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.size == 0:
        return []
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InvalidFile(
            f"{place} must be numbers of states or actions from 0; they have the shape "
            f"{array.shape} and the type {array.dtype}"
        )
    listed: list[int] = array.tolist()
    return listed
