"""The smallest or cheapest lesson, proved: an implicit hitting set.

A set of demonstrations is complete when it hits every facet and its equality rows span all of
them. While some reward fits the equality rows shown and breaks another one, at least one
demonstration with an equality row that contradicts this reward must be added: such cuts, solved as
a set cover, close in on the optimum from below, and the last bound is the proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from didact.bec.directions import TOLERANCE
from didact.bec.farkas import Inside, decide
from didact.bec.linear import dot
from didact.bec.nnls import nearest_in_cone
from didact.inputs import seconds
from didact.numerics.exact import whole_if_whole
from didact.teaching.covers.greedy import greedy_cover
from didact.teaching.covers.minimum import cheapest_cover
from didact.teaching.covers.problem import Picks, Problem
from didact.teaching.covers.reductions import Uncoverable
from didact.teaching.methods.scot import greedy_picks


def exact_minimum(
    problem: Problem, rng: np.random.Generator | None, time_limit: float | None = None
) -> Picks:
    """The cheapest complete lesson among the candidates; greedy order within it.

    What no candidate covers is left out of the demand. With a budget, or after the time limit, it
    is the best lesson known, with a certified lower bound.
    """
    if time_limit is not None:
        time_limit = seconds(time_limit, "time_limit")
    masks, n = problem.masks, len(problem.candidates)
    offered = problem.covered_by(masks)
    try:
        found = cheapest_cover(
            n,
            [range(masks.get(number, 0).bit_count()) for number in range(n)],
            problem.costs,
            partial(_find_gap, problem, offered),
            elements=[
                _who_covers(problem, 1 << facet)
                for facet in range(problem.known.cone.n_facets)
                if offered >> facet & 1
            ],
            time_limit=time_limit,
            start=greedy_picks(problem),
            charges=problem.charges,
        )
    except Uncoverable:
        return Picks(greedy_picks(problem, problem.budget))
    chosen = _in_greedy_order(problem, found.chosen)
    bound = whole_if_whole(Fraction(found.lower_bound)) if offered == problem.everything else None
    return Picks(_within_budget(problem, chosen), lower_bound=bound)


def chosen_picks(problem: Problem, chosen: Sequence[int], certificate: Any) -> Picks:
    """The chosen candidates in greedy order, within the budget, and the certificate."""
    picks = _within_budget(problem, _in_greedy_order(problem, chosen))
    return Picks(picks, lower_bound=certificate.bound, certificate=certificate)


def _within_budget(problem: Problem, chosen: tuple[int, ...]) -> tuple[int, ...]:
    """The chosen where they fit; else their best part or the greedy picks, what covers more."""
    if problem.budget is None or len(chosen) <= problem.budget:
        return chosen
    either = (chosen[: problem.budget], greedy_picks(problem, problem.budget))
    return max(either, key=lambda picks: problem.covered_by(picks).bit_count())


def _who_covers(problem: Problem, elements: int) -> set[int]:
    """The candidates that state one of the elements."""
    return {number for number, mask in problem.masks.items() if mask & elements}


def _find_gap(problem: Problem, offered: int, chosen: Sequence[int]) -> set[int] | None:
    """Candidates of which one must be added: those that state a facet which is not hit yet, or
    those that contradict a reward which fits the chosen equality rows and breaks an open one."""
    left = offered & ~problem.covered_by(chosen)
    if not left:
        return None
    element = (left & -left).bit_length() - 1
    if element < problem.known.cone.n_facets:
        return _who_covers(problem, 1 << element)
    return _who_covers(problem, _contradicting(problem, chosen, element))


def _contradicting(problem: Problem, chosen: Sequence[int], element: int) -> int:
    """Equality rows, as bits, that are negative at weights which satisfy the chosen ones and
    break the row of the element, which does not follow from them."""
    stated = problem.stated_by(chosen)
    row_of = {int(problem.element_of_row[row]): row for row in problem.known.cone.equalities}
    rows, given = problem.known.rows, [row for bit, row in row_of.items() if stated >> bit & 1]
    if rows.exact is not None:
        verdict = decide([rows.exact[row] for row in given], rows.exact[row_of[element]])
        assert not isinstance(verdict, Inside)
        exact, witness = rows.exact, verdict.witness
        return sum(1 << bit for bit, row in row_of.items() if dot(exact[row], witness) < 0)
    away = -nearest_in_cone(rows.balanced[given], rows.balanced[row_of[element]]).residual
    slacks = rows.balanced @ (away / float(np.linalg.norm(away)))
    slacks[given] = 0.0  # of the chosen none is negative; rounding may say so
    return sum(1 << bit for bit, row in row_of.items() if slacks[row] < -TOLERANCE)


def _in_greedy_order(problem: Problem, chosen: Sequence[int]) -> tuple[int, ...]:
    """The chosen candidates, those that cover most first; what adds nothing comes last."""
    masks = {number: problem.masks.get(number, 0) for number in sorted(chosen)}
    prices = dict.fromkeys(masks, 1)
    found = greedy_cover(masks, prices, problem.n_elements, closure=problem.closure).picks
    return (*found, *(number for number in masks if number not in found))
