"""What float planners derive of a model: rewards, single successors, and the sizes of roundings.

What depends on the model alone is kept with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidNumber
from didact.mdp import MDP
from didact.numerics.exact import Floats

UNIT = 2.0**-53
LARGEST = 1e300
"""Values stay below it, so that no sum overflows."""


def reward_table(mdp: MDP, weights: Floats) -> tuple[Floats, float]:
    """R[s*A + a] = w.phi(s, a), and a bound on the sums of |w|.|phi|, which bound its rounding."""
    features = mdp.features.floats
    scale = float(reward_reach(mdp, weights))
    if not scale / (1.0 - mdp.discount) < LARGEST:
        raise InvalidNumber("weights * features / (1 - discount) must stay below 1e300; rescale")
    rewards = features @ weights
    if features.ndim == 2:
        return np.repeat(rewards, mdp.n_actions), scale
    return np.ascontiguousarray(rewards).reshape(-1), scale


def reward_reach(mdp: MDP, weights: Floats) -> Floats:
    """A bound on sum |w|.|phi| of every state and action, for weights (..., k): shape (...).

    The lesser of two: the longest row of features times the largest weight, and the largest entry
    of each feature times its weight, which no rescaling of features against weights changes.
    """
    absolute = np.abs(weights)
    with np.errstate(over="ignore"):
        by_row = _feature_sizes(mdp)[0] * absolute.max(axis=-1)
        return np.asarray(np.minimum(by_row, absolute @ feature_sizes(mdp)))


def feature_sizes(mdp: MDP) -> Floats:
    """The largest |phi_j| of each feature, shape (k,)."""
    return _feature_sizes(mdp)[1]


def _feature_sizes(mdp: MDP) -> tuple[Any, Floats]:
    """The longest row of features, sum |phi_j|, and the largest |phi_j| of each."""
    if "feature_sizes" not in mdp._derived:
        features = np.abs(mdp.features.floats.reshape(-1, mdp.n_features))
        mdp._derived["feature_sizes"] = features.sum(axis=1).max(), features.max(axis=0)
    found: tuple[Any, Floats] = mdp._derived["feature_sizes"]
    return found


def single_successors(mdp: MDP) -> NDArray[np.uint32]:
    """The one next state of each row of a deterministic model; its own where the row is empty."""
    if "successor" not in mdp._derived:
        moves = mdp.transitions
        own = np.repeat(np.arange(mdp.n_states, dtype=np.uint32), mdp.n_actions)
        own[np.diff(moves.offsets) > 0] = moves.successors
        own.setflags(write=False)
        mdp._derived["successor"] = own
    found: NDArray[np.uint32] = mdp._derived["successor"]
    return found


def longest_row(mdp: MDP) -> int:
    """The largest number of next states of one row."""
    if "longest_row" not in mdp._derived:
        mdp._derived["longest_row"] = int(np.diff(mdp.transitions.offsets).max(initial=1))
    return int(mdp._derived["longest_row"])


def rounding_of_backup(mdp: MDP, scale: Any, reach: Any, longest: int) -> Any:
    """How far a computed R + discount * sum(p V) can be from the one in exact numbers.

    Stored features, weights, discount and probabilities are within rounding of the exact ones
    (probabilities of rows with n entries within 2n + 8 units), and sums of n products add n more.
    """
    return (
        1.01 * UNIT * ((mdp.n_features + 6) * scale + (3 * longest + 16) * mdp.discount * reach)
        + 1e-300
    )


def contraction_gap(mdp: MDP) -> float:
    """1 - discount, rounded down."""
    if "gap" not in mdp._derived:
        mdp._derived["gap"] = float(1 - mdp.exact_discount) * (1 - 4 * UNIT)
    return float(mdp._derived["gap"])


def actions_by_state(taken: NDArray[np.bool_]) -> list[list[int]]:
    """For each state the actions that are marked (S, A), ascending, in one pass."""
    return [[a for a, is_taken in enumerate(row) if is_taken] for row in taken.tolist()]
