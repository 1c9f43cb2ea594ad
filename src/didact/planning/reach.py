"""Reachability: which states and pairs can come up at all."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidParameter
from didact.inputs import plain_array, shown, whole_number
from didact.mdp import MDP, as_mdp

Mask = NDArray[np.bool_]


def reachable_states(mdp: MDP, allowed: Mask | None = None) -> Mask:
    """States (S,) reachable from the start distribution.

    mdp: the model.
    allowed: (S, A), the actions that may be taken, e.g. `plan.optimal`; None for any action.
    """
    mdp = as_mdp(mdp)
    starts = mdp.start.floats > 0
    return _closure(mdp, starts, None if allowed is None else _as_mask(mdp, allowed), None)


def reachable_pairs(
    mdp: MDP, allowed: Mask, *, horizon: int | None = None, starts: Mask | None = None
) -> Mask:
    """Pairs (S, A) that come up within `horizon` steps when only allowed actions are taken.

    mdp: the model.
    allowed: (S, A), the actions that may be taken.
    horizon: the pair shown at step t counts for t < horizon; None means any number of steps.
    starts: (S,), where walks begin; by default where the start distribution is positive.
    """
    mdp = as_mdp(mdp)
    allowed = _as_mask(mdp, allowed)
    if horizon is not None:
        whole_number(horizon, "horizon", 1)
    begin = mdp.start.floats > 0 if starts is None else _as_mask(mdp, starts, "starts")
    states = _closure(mdp, begin, allowed, None if horizon is None else horizon - 1)
    return np.asarray(allowed & states[:, None] & ~mdp.terminal[:, None])


def _as_mask(mdp: MDP, given: Any, place: str = "allowed") -> Mask:
    shape: tuple[int, ...] = (mdp.n_states, mdp.n_actions)
    example = "plan.optimal"
    if place == "starts":
        shape, example = (mdp.n_states,), "~mdp.terminal"
    mask = plain_array(given, place)
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != shape:
        raise InvalidParameter(
            f"{place} must be truth values {shape}, such as {example}; it is {shown(given)}"
        )
    return mask


def _closure(mdp: MDP, starts: Mask, allowed: Mask | None, n_steps: int | None) -> Mask:
    """States reached from `starts` in at most n_steps steps, breadth first."""
    offsets = mdp.transitions.offsets
    reached = starts.copy()
    frontier = np.flatnonzero(reached & ~mdp.terminal)
    while frontier.size and n_steps != 0 and not reached.all():
        rows = (frontier[:, None] * mdp.n_actions + np.arange(mdp.n_actions)).ravel()
        if allowed is not None:
            rows = rows[allowed[frontier].ravel()]
        targets = mdp.transitions.successors[all_ranges(offsets[rows], offsets[rows + 1])]
        fresh = np.unique(targets[~reached[targets]])
        reached[fresh] = True
        frontier = fresh[~mdp.terminal[fresh]].astype(np.int64)
        n_steps = None if n_steps is None else n_steps - 1
    return reached


def all_ranges(low: NDArray[Any], high: NDArray[Any]) -> NDArray[np.int64]:
    """The numbers of all ranges low[i]:high[i], one after another."""
    lengths = high - low
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    shift = np.repeat(low - (ends - lengths), lengths)
    return np.asarray(np.arange(total) + shift, dtype=np.int64)
