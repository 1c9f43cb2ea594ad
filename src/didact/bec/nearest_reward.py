"""The nearest reward to a policy that no reward explains.

For weights w let gain(w) be what the policy earns more than acting at random, and loss(w) what it
earns less than the best, both summed over the states in scope. The nearest weights have the least
loss for gain 1: the policy then keeps 1 / (1 + loss) of what there is to gain. That is one linear
program over weights and values: minimise sum V(s) - w.mu(s) with V(s) >= w.phi(s, a) +
discount * E[V(next)] for every action. A policy that a reward explains keeps everything.

Such weights lie where behaviours meet, so the policy's own actions are taken where they are among
the best there, and what is returned are weights well inside the class of that nearest behaviour.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.bec.rationalise import rationalise
from didact.bec.rows import Scope, scope_states
from didact.errors import Unsupported
from didact.mdp import MDP
from didact.numerics.exact import Floats
from didact.numerics.texts import number_text, short_repr
from didact.planning import as_policy, float_successor_features, solve
from didact.planning.solve import Arithmetic

TIE = 1e-7
"""Actions whose values differ by less than this share of the largest value are both best."""


@dataclass(frozen=True, eq=False)
class NearestReward:
    """Weights under which a policy loses least.

    kept: the share of what there is to gain over acting at random that the policy keeps under
    these weights. differs: states in scope where it takes an action that is not optimal for them.
    n_states: how many states are in scope.
    """

    weights: tuple[Fraction, ...]
    kept: float
    differs: tuple[int, ...]
    n_states: int

    __repr__ = short_repr

    def document(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "weights": [number_text(w) for w in self.weights],
            "kept": self.kept,
            "differs": list(self.differs),
            "n_states": self.n_states,
        }


def nearest_reward(
    mdp: MDP, policy: Any, *, scope: Scope = "reachable", arithmetic: Arithmetic = "auto"
) -> NearestReward:
    """The weights under which the policy keeps the largest share of what there is to gain."""
    probabilities = as_policy(mdp, policy)
    inside = scope_states(mdp, scope)
    meeting = _least_loss(mdp, probabilities, inside)
    near = rationalise(
        mdp, _closest_behaviour(mdp, probabilities, meeting), scope=scope, arithmetic=arithmetic
    )
    largest = np.abs(meeting).max()
    weights = near.weights or tuple(Fraction(repr(float(w))) for w in meeting / largest)
    optimal = solve(mdp, list(weights)).optimal
    wrong = ((probabilities > 0) & ~optimal).any(axis=1) & inside
    return NearestReward(
        weights=weights,
        kept=_kept(mdp, probabilities, inside, [float(w) for w in weights]),
        differs=tuple(np.flatnonzero(wrong).tolist()),
        n_states=int(inside.sum()),
    )


def _least_loss(mdp: MDP, policy: Floats, inside: NDArray[np.bool_]) -> Floats:
    """Weights of least loss for a gain of 1 over acting at random."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix, hstack, vstack

    n, m, k = mdp.n_states, mdp.n_actions, mdp.n_features
    own = float_successor_features(mdp, policy).states[inside].sum(axis=0)
    chance = float_successor_features(mdp, _at_random(mdp)).states[inside].sum(axis=0)
    gain = own - chance
    if np.abs(gain).max() <= 1e-9 * max(float(np.abs(own).max()), 1.0):
        raise Unsupported(
            "the policy collects the same features as acting at random, so no reward is nearest "
            "to it; teach another policy, or give features that tell them apart"
        )
    features = mdp.features.floats
    paid = features if features.ndim == 3 else np.repeat(features[:, None, :], m, axis=1)
    stays = csr_matrix((np.ones(n * m), (np.arange(n * m), np.repeat(np.arange(n), m))))
    ahead = mdp.discount * mdp.transitions.matrix() - stays
    going = np.repeat(~mdp.terminal, m)
    backups = hstack([csr_matrix(paid.reshape(n * m, k)[going]), ahead[going]])
    ends = np.flatnonzero(mdp.terminal)
    at_end = hstack([csr_matrix(-paid[ends, 0]), stays[ends * m]])
    found = linprog(
        np.concatenate([-own, inside.astype(float)]),
        A_ub=backups.tocsr(),
        b_ub=np.zeros(int(going.sum())),
        A_eq=vstack([csr_matrix(np.append(gain, np.zeros(n))), at_end]).tocsr(),
        b_eq=np.append(1.0, np.zeros(ends.size)),
        bounds=[(None, None)] * (k + n),
    )
    if found.status != 0:
        raise Unsupported(f"no nearest reward was found: {found.message}")
    return np.asarray(found.x[:k])


def _at_random(mdp: MDP) -> Floats:
    return np.where(mdp.terminal[:, None], 0.0, np.full((1, mdp.n_actions), 1 / mdp.n_actions))


def _closest_behaviour(mdp: MDP, policy: Floats, weights: Floats) -> Floats:
    """The policy's own actions where some are best for the weights, else the first best action."""
    values = solve(mdp, weights, arithmetic="float").action_values
    best = values >= values.max(axis=1, keepdims=True) - TIE * max(np.abs(values).max(), 1e-300)
    kept = np.where(best, policy, 0.0)
    kept[np.arange(mdp.n_states), values.argmax(axis=1)] += kept.sum(axis=1) == 0
    kept[mdp.terminal] = 0.0
    return np.asarray(kept / np.where(mdp.terminal, 1.0, kept.sum(axis=1))[:, None])


def _kept(mdp: MDP, policy: Floats, inside: NDArray[np.bool_], weights: list[float]) -> float:
    """(policy - random) / (best - random), summed over the states in scope."""
    earned = [
        float((float_successor_features(mdp, p).states[inside] @ np.array(weights)).sum())
        for p in (policy, _at_random(mdp), solve(mdp, weights).policy)
    ]
    own, chance, best = earned
    return (own - chance) / (best - chance) if best > chance else 1.0
