"""A lower bound on demonstrations that holds for all of them, sampled or not.

A demonstration from a start shows nothing but pairs that optimal play can reach from there within
the horizon. Let one candidate for each start show all of those at once: no complete lesson has
fewer demonstrations than the smallest cover by such candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.bec.classes import Known, Part, most_actions
from didact.random import as_generator
from didact.teaching.covers.candidates import Candidates
from didact.teaching.covers.elements import cover_elements
from didact.teaching.covers.problem import Problem
from didact.teaching.methods.exact import exact_minimum

MOST_ENTRIES = 20_000_000
"""Starts times states; above it only the trivial bound is given."""


class Begins(NamedTuple):
    """Where demonstrations of a part begin, and how many steps they have at most."""

    starts: NDArray[np.int64]
    horizon: int


def fewest_demonstrations(known: Known, begins: Sequence[Begins], *, time_limit: float) -> int:
    """No complete lesson from these starts has fewer demonstrations of at most so many steps.

    begins: for each part of the class. 0 when nothing needs to be shown; at least 1 otherwise.
    """
    elements = cover_elements(known)
    if elements.n_elements == 0:
        return 0
    n_starts = sum(begin.starts.size for begin in begins)
    if n_starts * max(part.task.mdp.n_states for part in known.parts) > MOST_ENTRIES:
        return 1
    useful, n_actions = np.unique(elements.stating_pairs[0]), most_actions(known.parts)
    shown = [
        np.where(_pairs_within(part, begin, useful // n_actions), useful, -1)
        for part, begin in zip(known.parts, begins, strict=True)
    ]
    longest = max(begin.horizon for begin in begins)
    candidates = Candidates(np.vstack(shown), n_actions, longest, False)
    problem = Problem(elements, candidates, [1] * n_starts)
    picks = exact_minimum(problem, as_generator(0, "bound"), time_limit=time_limit)
    bound = Fraction(picks.lower_bound or 1)
    return max(1, -(-bound.numerator // bound.denominator))


def _pairs_within(part: Part, begin: Begins, states: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Shape (starts, states): which states of the common numbering each start can lead to."""
    at_home = states - part.first
    is_own = (at_home >= 0) & (at_home < part.task.mdp.n_states)
    reached = states_within(part, begin.starts, begin.horizon - 1)
    return np.asarray(reached[:, np.where(is_own, at_home, 0)] & is_own)


def states_within(part: Part, starts: NDArray[np.int64], n_steps: int) -> NDArray[np.bool_]:
    """Shape (starts, S): the states that optimal play may be in after at most so many steps."""
    moves = _optimal_moves(part)
    reached = np.zeros((starts.size, part.task.mdp.n_states), dtype=np.bool_)
    reached[np.arange(starts.size), starts] = True
    newest = reached
    for _ in range(n_steps):
        newest = ((newest.astype(np.float32) @ moves) > 0) & ~reached
        if not newest.any():
            break
        reached = reached | newest
    return reached


def _optimal_moves(part: Part) -> Any:
    """A sparse matrix (S, S): where one optimal step may lead."""
    from scipy import sparse

    mdp, moves = part.task.mdp, part.task.mdp.transitions
    rows = np.repeat(np.arange(mdp.n_states * mdp.n_actions), np.diff(moves.offsets))
    kept = part.plan.optimal.ravel()[rows]
    froms, to = rows[kept] // mdp.n_actions, moves.successors[kept].astype(np.int64)
    ones = np.ones(froms.size, dtype=np.float32)
    return sparse.csr_array((ones, (froms, to)), shape=(mdp.n_states, mdp.n_states))
