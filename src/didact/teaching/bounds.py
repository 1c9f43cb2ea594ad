"""A lower bound on demonstrations that holds for all of them, sampled or not.

A demonstration from a start shows nothing but pairs that optimal play can reach from there within
the horizon. Let one candidate for each start show all of those at once: no complete lesson has
fewer demonstrations than the smallest cover by such candidates.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.bec.classes import EquivalenceClass
from didact.random import as_generator
from didact.teaching.covers.candidates import Candidates
from didact.teaching.covers.elements import cover_elements
from didact.teaching.covers.problem import Problem
from didact.teaching.methods.exact import exact_minimum

MOST_ENTRIES = 20_000_000
"""Starts times states; above it only the trivial bound is given."""


def fewest_demonstrations(
    known: EquivalenceClass, *, starts: NDArray[np.int64], horizon: int, time_limit: float
) -> int:
    """No complete lesson from these starts has fewer demonstrations of at most `horizon` steps.

    0 when nothing needs to be shown; at least 1 otherwise.
    """
    elements = cover_elements(known)
    if elements.n_elements == 0:
        return 0
    mdp = known.task.mdp
    if starts.size * mdp.n_states > MOST_ENTRIES:
        return 1
    useful = np.unique(elements.stating_pairs[0])
    reached = states_within(known, starts, horizon - 1)[:, useful // mdp.n_actions]
    candidates = Candidates(np.where(reached, useful, -1), mdp.n_actions, horizon, False)
    problem = Problem(elements, candidates, [1] * starts.size)
    picks = exact_minimum(problem, as_generator(0, "bound"), time_limit=time_limit)
    bound = Fraction(picks.lower_bound or 1)
    return max(1, -(-bound.numerator // bound.denominator))


def states_within(
    known: EquivalenceClass, starts: NDArray[np.int64], n_steps: int
) -> NDArray[np.bool_]:
    """Shape (starts, S): the states that optimal play may be in after at most so many steps."""
    moves = _optimal_moves(known)
    reached = np.zeros((starts.size, known.task.mdp.n_states), dtype=np.bool_)
    reached[np.arange(starts.size), starts] = True
    newest = reached
    for _ in range(n_steps):
        newest = ((newest.astype(np.float32) @ moves) > 0) & ~reached
        if not newest.any():
            break
        reached = reached | newest
    return reached


def _optimal_moves(known: EquivalenceClass) -> Any:
    """A sparse matrix (S, S): where one optimal step may lead."""
    from scipy import sparse

    mdp, moves = known.task.mdp, known.task.mdp.transitions
    rows = np.repeat(np.arange(mdp.n_states * mdp.n_actions), np.diff(moves.offsets))
    kept = known.plan.optimal.ravel()[rows]
    froms, to = rows[kept] // mdp.n_actions, moves.successors[kept].astype(np.int64)
    ones = np.ones(froms.size, dtype=np.float32)
    return sparse.csr_array((ones, (froms, to)), shape=(mdp.n_states, mdp.n_states))
