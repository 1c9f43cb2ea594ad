"""SCOT, Set Cover Optimal Teaching (Algorithm 1): a greedy cover of the facets.

Each step takes the candidate that covers most per cost; among equals the one that covers more, then
the cheaper, then the earlier one (lower start, then lower action or earlier sample). It stops when
everything is covered or nothing gains: what no candidate covers is left, not looped over.
"""

from __future__ import annotations

import numpy as np

from didact.teaching.covers.charges import charged_greedy
from didact.teaching.covers.greedy import greedy_cover
from didact.teaching.covers.problem import Picks, Problem


def scot(problem: Problem, rng: np.random.Generator | None) -> Picks:
    """Greedy cover of the facets (Algorithm 1)."""
    return Picks(greedy_picks(problem, problem.budget))


def greedy_picks(problem: Problem, most: int | None = None) -> tuple[int, ...]:
    """The candidates of the greedy cover in the order picked, at most so many."""
    if problem.charges is not None:
        return charged_greedy(
            problem.masks, problem.costs, problem.charges, closure=problem.closure, most=most
        )
    found = greedy_cover(
        problem.masks, problem.costs, problem.n_elements, closure=problem.closure, most=most
    )
    return found.picks
