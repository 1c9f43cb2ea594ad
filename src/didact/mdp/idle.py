"""Idle states: numbers that an environment has and that nothing reaches.

The states of a task made from an environment with observations 0 to n - 1 are those observations.
Some of them never come up. They keep their numbers, so that no other is moved, but nothing is known
of them and nothing is taught: every action stays there and pays the same, and nothing leads there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from didact.mdp.model import MDP


def idle_states(mdp: MDP) -> NDArray[np.bool_]:
    """States (S,) where nothing starts, nothing leads from elsewhere, and no choice matters."""
    known = mdp._derived.get("idle")
    if known is None:
        known = mdp._derived["idle"] = _found(mdp)
        known.setflags(write=False)
    return np.asarray(known)


def deciding_states(mdp: MDP) -> NDArray[np.bool_]:
    """States (S,) where something is decided: neither terminal nor idle."""
    return np.asarray(~mdp.terminal & ~idle_states(mdp))


def _found(mdp: MDP) -> NDArray[np.bool_]:
    idle = np.asarray((mdp.start.floats == 0) & ~mdp.terminal)
    if not idle.any():
        return idle
    moves = mdp.transitions
    counts = np.diff(moves.offsets)
    origins = np.repeat(np.arange(counts.size) // mdp.n_actions, counts)
    leaves = moves.successors != origins
    idle[origins[leaves]] = False
    idle[moves.successors[leaves]] = False
    if mdp.has_action_features:
        phi = mdp.features.floats
        idle &= (phi == phi[:, :1]).all(axis=(1, 2))
    return idle
