"""Weights under which the shown ties are ties exactly, not only up to rounding.

Two shown actions of one state tie under w when (mu(s, a) - mu(s, b)).w = 0. Where the two mu are
equal, that is so for all weights; otherwise it is an equation that floats found by a climb miss by
a rounding error, and an exact plan then calls one of the two actions worse. So the equations are
solved in rational arithmetic: most weights are kept, rounded to few digits, and the others follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from didact.learners.evidence import Evidence
from didact.learners.points.margin import continued_policy
from didact.numerics.exact import Floats
from didact.planning.solve import is_exact_affordable
from didact.planning.successor import exact_successor_features

DIGITS = (9, 6, 3)
"""How many decimals are kept, first to last try: fewer leave more room for what follows."""


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
    reduced, pivots = _equations(evidence, policy)
    for digits in DIGITS:
        found = _solved(reduced, pivots, np.round(weights, digits))
        if found is not None and found.any():
            yield found


def _equations(evidence: Evidence, policy: Floats) -> tuple[Any, list[int]]:
    """The equations of the shown ties in reduced echelon form, and the column of each pivot."""
    from flint import fmpq_mat

    pairs = exact_successor_features(evidence.mdp, policy).pairs
    rows = []
    for state, counts in zip(evidence.states.tolist(), evidence.counts, strict=True):
        first, *others = np.flatnonzero(counts).tolist()
        rows += [(pairs[state, first] - pairs[state, other]).tolist() for other in others]
    reduced, rank = fmpq_mat(rows).rref()
    k = evidence.mdp.n_features
    return reduced, [next(j for j in range(k) if reduced[i, j] != 0) for i in range(rank)]


def _solved(reduced: Any, pivots: list[int], weights: Floats) -> Floats | None:
    """The pivots' weights from all others; None where one is no decimal that a float can mean."""
    exact = [Fraction(repr(w)) for w in weights.tolist()]
    solved = weights.copy()
    for i, pivot in enumerate(pivots):
        total = Fraction(0)
        for j, weight in enumerate(exact):
            if j not in pivots and reduced[i, j] != 0:
                total -= Fraction(int(reduced[i, j].p), int(reduced[i, j].q)) * weight
        solved[pivot] = float(total)
        if Fraction(repr(float(total))) != total:
            return None
    return solved
