"""Weights that make the shown actions win by the widest margin: cutting planes over policies.

Say how to go on where nothing was shown (a policy that takes shown actions where some were shown).
Then shown actions are worth mu(s, a).w with known mu, while every other action b is worth the best
of all policies, at least mu'(s, b).w for each policy. So each policy met gives rows
mu(s, a) - mu'(s, b), and the weights sought are those whose smallest row product is largest. Find
them for the rows so far, plan for them, add the rows that the plan shows to be too small, repeat:
there are finitely many policies. If the demonstrations are closed there is only one way to go on,
and weights are found whenever there are any; otherwise the way to go on is taken from the weights
found last, as in the convex-concave procedure, and all depends on the first ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from didact.learners.evidence import Evidence
from didact.learners.gradients import ShownFeatures
from didact.learners.points.bfgs import shortest_combination
from didact.numerics.exact import Floats
from didact.numerics.geometry import row_space
from didact.planning.kernels import reward_table
from didact.planning.solve import plan_in_floats
from didact.planning.successor import float_successor_features

NO_ROW = 1e-9
"""Length of a row, against the largest successor feature, that counts as none: equal features."""
NO_GAIN = 1e-9
"""Share of the margin that a cutting plane must cost to be worth another round."""
MOST_ROUNDS = 200
MOST_CONTINUATIONS = 20


def margin_weights(
    evidence: Evidence, first: Floats, features: ShownFeatures | None = None
) -> Floats | None:
    """Unit weights (k,) under which the shown actions beat all others by the widest margin.

    None where no such weights were found. Ties that are shown are kept up to rounding. first:
    weights that say how to go on where nothing was shown.
    """
    planner = ShownFeatures(evidence) if features is None else features
    weights: Floats | None = None
    known: set[bytes] = set()
    for _ in range(MOST_CONTINUATIONS):
        policy = continued_policy(evidence, first)
        if policy.tobytes() in known:
            break
        known.add(policy.tobytes())
        found = _widest(evidence, _continued(evidence, policy), planner)
        if found is None:
            break
        weights = first = found
    return weights


def is_closed(evidence: Evidence) -> bool:
    """Whether every state that can follow a shown pair is shown as well, or terminal."""
    moves, known = evidence.mdp.transitions, evidence.mdp.terminal.copy()
    known[evidence.states] = True
    places, actions = np.nonzero(evidence.counts)
    rows = evidence.states[places] * evidence.mdp.n_actions + actions
    return all(
        bool(known[moves.successors[moves.offsets[row] : moves.offsets[row + 1]]].all())
        for row in rows.tolist()
    )


def continued_policy(evidence: Evidence, weights: Floats) -> Floats:
    """A policy (S, A) of one action each: shown ones where some were shown, else the best ones.

    It is the best of its kind for the weights; terminal states have none.
    """
    mdp = evidence.mdp
    allowed = np.ones((mdp.n_states, mdp.n_actions), dtype=np.uint8)
    allowed[evidence.states] = evidence.counts > 0
    rewards, scale = reward_table(mdp, weights)
    actions = plan_in_floats(mdp, rewards, scale, allowed.ravel()).policy
    policy = np.zeros(allowed.shape)
    policy[np.arange(mdp.n_states), actions] = 1.0
    policy[mdp.terminal] = 0.0
    return policy


def _continued(evidence: Evidence, policy: Floats) -> Floats:
    """Successor features (m, A, k) of the shown states' pairs when the policy follows."""
    return float_successor_features(evidence.mdp, policy).pairs[evidence.states]


def _widest(evidence: Evidence, shown: Floats, planner: ShownFeatures) -> Floats | None:
    """The widest margin for one way to go on: rows are added until the plan agrees with them."""
    given = evidence.counts > 0
    nil = NO_ROW * float(np.abs(shown).max(initial=1.0))
    ties = _tied_directions(shown, given, nil)
    own = shown[np.arange(len(shown)), given.argmax(axis=1)]
    rows = _rows(own, shown, given, ties, nil)
    places = np.searchsorted(planner.states, evidence.states)
    for _ in range(MOST_ROUNDS):
        weights = _best_direction(rows)
        if weights is None:
            return None
        margin = float((rows @ weights).min())
        cuts = _rows(own, planner(weights)[places], given, ties, nil)
        cuts = cuts[cuts @ weights < margin * (1.0 - NO_GAIN)]
        if not len(cuts):
            return weights
        rows = np.vstack((rows, cuts))
    return None


def _rows(
    own: Floats, others: Floats, given: NDArray[np.bool_], ties: Floats, nil: float
) -> Floats:
    """mu(s, shown) - mu(s, b) for every b not shown, less its part along the ties; none is 0."""
    rows = (own[:, None, :] - others)[~given]
    rows = rows - (rows @ ties.T) @ ties
    return np.asarray(rows[np.abs(rows).max(axis=1, initial=0.0) > nil])


def _tied_directions(shown: Floats, given: NDArray[np.bool_], nil: float) -> Floats:
    """An orthonormal basis (t, k) of the directions that weights must avoid to keep shown ties."""
    first = shown[np.arange(len(shown)), given.argmax(axis=1)]
    gaps = (shown - first[:, None, :])[given]
    gaps = gaps[np.abs(gaps).max(axis=1, initial=0.0) > nil]
    return row_space(gaps, nil)


def _best_direction(rows: Floats) -> Floats | None:
    """The unit w with the largest smallest product of rows (n, k) with w; None unless positive.

    It is the direction of the shortest convex combination of the rows.
    """
    if not len(rows):
        return None
    shortest = shortest_combination(rows)
    length = float(np.linalg.norm(shortest))
    if not length > 0.0:
        return None
    weights = np.asarray(shortest / length)
    return weights if float((rows @ weights).min()) > 0.0 else None
