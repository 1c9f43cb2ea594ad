"""Weights that make the shown actions win by the widest margin: cutting planes over policies.

Say how to go on where nothing was shown (a policy that takes shown actions where some were shown).
Then shown actions are worth mu(s, a).w with known mu, while every other action b is worth the best
of all policies, at least mu'(s, b).w for each policy. So each policy met gives rows
mu(s, a) - mu'(s, b), and the weights sought are those whose smallest row product is largest. Find
them for the rows so far, plan for them, add the rows that the plan shows to be too small, repeat:
there are finitely many policies. If the demonstrations are closed there is only one way to go on,
and weights are found whenever there are any; otherwise the way to go on is taken from the weights
found last, as in the convex-concave procedure, and all depends on the first ones.

Two shown actions of one state tie under w when (mu(s, a) - mu(s, b)).w = 0. Where the two mu are
equal, that is so for all weights; otherwise it is an equation that floats found by a search miss by
a rounding error, and an exact plan then calls one of the two actions worse. So `exactly_tied`
solves the equations in rational arithmetic: most weights are kept, rounded to few digits, and the
others follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from didact.bec.linear import point_on, primitive
from didact.bec.nnls import max_margin_point
from didact.learners.evidence import Evidence, ShownFeatures
from didact.numerics.exact import Floats
from didact.numerics.geometry import row_space
from didact.planning.kernels import reward_table
from didact.planning.solve import is_exact_affordable, plan_in_floats
from didact.planning.successor import exact_successor_features, float_successor_features

NO_ROW = 1e-9
"""Length of a row, against the largest successor feature, that counts as none: equal features."""
NO_GAIN = 1e-9
"""Share of the margin that a cutting plane must cost to be worth another round."""
MAX_ROUNDS = 200
"""Cutting planes; there are finitely many policies, but more than anybody waits for."""
MAX_CONTINUATIONS = 20
"""Ways to go on that are tried one after the other; they mostly repeat after two or three."""
DIGITS = (9, 6, 3)
"""How many decimals are kept, first to last try: fewer leave more room for what follows."""


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
    for _ in range(MAX_CONTINUATIONS):
        policy = continued_policy(evidence, first)
        if policy.tobytes() in known:
            break
        known.add(policy.tobytes())
        following = float_successor_features(evidence.mdp, policy).pairs[evidence.states]
        found = _widest_margin(evidence, following, planner)
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
    allowed = np.ones((mdp.n_states, mdp.n_actions), dtype=np.bool_)
    allowed[evidence.states] = evidence.counts > 0
    rewards, scale = reward_table(mdp, weights)
    actions = plan_in_floats(mdp, rewards, scale, allowed).policy
    policy = np.zeros(allowed.shape)
    policy[np.arange(mdp.n_states), actions] = 1.0
    policy[mdp.terminal] = 0.0
    return policy


def _widest_margin(evidence: Evidence, shown: Floats, planner: ShownFeatures) -> Floats | None:
    """The widest margin for one way to go on: rows are added until the plan agrees with them.

    shown: successor features (m, A, k) of the shown states' pairs when one goes on so.
    """
    given = evidence.counts > 0
    nil = NO_ROW * float(np.abs(shown).max(initial=1.0))
    own = shown[np.arange(len(shown)), given.argmax(axis=1)]
    gaps = (shown - own[:, None, :])[given]
    # Directions (t, k) that weights must avoid to keep shown ties.
    ties = row_space(gaps[np.abs(gaps).max(axis=1, initial=0.0) > nil], nil)
    rows = _rows(own, shown, given, ties, nil)
    places = np.searchsorted(planner.states, evidence.states)
    for _ in range(MAX_ROUNDS):
        weights = max_margin_point(rows)
        margin = float((rows @ weights).min()) if len(rows) else 0.0
        if not margin > 0.0:
            return None
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


def exactly_tied(evidence: Evidence, weights: Floats) -> Iterator[Floats]:
    """Weights (k,) near the given ones that keep every shown tie exactly, read as decimals.

    None where no tie was shown, where they have no short decimals, or where the model is too large
    for exact arithmetic. Ties that depend on how to go on are taken as the given weights go on.
    """
    if not (np.count_nonzero(evidence.counts, axis=1) > 1).any():
        return
    policy = continued_policy(evidence, weights)
    if not is_exact_affordable(evidence.mdp, policy > 0):
        return
    # The equations of the shown ties when the policy follows: rows that are to be 0.
    pairs = exact_successor_features(evidence.mdp, policy).pairs
    rows = []
    for state, counts in zip(evidence.states.tolist(), evidence.counts, strict=True):
        first, *others = np.flatnonzero(counts).tolist()
        rows += [primitive(list(pairs[state, first] - pairs[state, other])) for other in others]
    for digits in DIGITS:
        exact = point_on(rows, [Fraction(repr(w)) for w in np.round(weights, digits).tolist()])
        found = np.array([float(x) for x in exact])
        # A decimal that no float can mean is read as another number, and the tie is lost.
        if found.any() and exact == [Fraction(repr(x)) for x in found.tolist()]:
            yield found
