"""The smallest or cheapest lesson, proved: an implicit hitting set.

A set of demonstrations is complete when no reward fits it and is wrong. While some reward does, at
least one demonstration that contradicts that reward must be added: such cuts, solved as a set
cover, close in on the optimum from below, and the last bound is the proof.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from didact.bec.directions import TOLERANCE
from didact.bec.linear import Inside, Row, decide, matrix, products
from didact.bec.nnls import nearest_in_cone
from didact.errors import InvalidParameter
from didact.numerics.exact import shown
from didact.teaching.minimum import Uncoverable, cheapest_cover
from didact.teaching.problem import Problem
from didact.teaching.scot import Picks, greedy_cover


def exact_minimum(
    problem: Problem, rng: np.random.Generator, time_limit: float | None = None
) -> Picks:
    """The cheapest complete lesson among the candidates; greedy order within it.

    What no candidate covers is left out of the demand. With a budget, or after the time limit, it
    is the best lesson known, with a certified lower bound.
    """
    if time_limit is not None and not float(time_limit) > 0:
        raise InvalidParameter(f"time_limit must be positive seconds; it is {shown(time_limit)}")
    offered = problem.covered_by(problem.masks)
    start = greedy_cover(_without_budget(problem, offered))
    if problem.known.cone.equalities:
        cut = _cone_oracle(problem, offered)
    else:
        cut = None
    elements = [
        [number for number, mask in problem.masks.items() if mask >> facet & 1]
        for facet in range(problem.known.cone.n_facets)
        if offered >> facet & 1
    ]
    offsets, members = problem.stated
    stated = [members[a:b] for a, b in pairwise(offsets.tolist())]
    try:
        found = cheapest_cover(
            len(problem.candidates),
            stated,
            problem.costs,
            cut or _cover_oracle(elements),
            elements=elements,
            time_limit=time_limit,
            start=start.numbers,
        )
    except Uncoverable:
        return start
    chosen = _in_greedy_order(problem, found.chosen)
    whole = offered == problem.everything
    return Picks(
        chosen[: problem.budget],
        (),
        _as_exact(found.lower_bound) if whole else None,
    )


def _as_exact(bound: Any) -> int | Fraction:
    exact = Fraction(bound)
    return exact.numerator if exact.denominator == 1 else exact


def _without_budget(problem: Problem, offered: int) -> Problem:
    return Problem(
        problem.known, problem.candidates, problem.element_of_row, problem.n_elements, problem.costs
    )


def _cover_oracle(elements: list[list[int]]) -> Any:
    """Without equalities: the candidates of a facet that is not hit yet."""
    sets = [frozenset(element) for element in elements]

    def find_gap(chosen: Any) -> Any:
        picked = set(chosen)
        return next((set(element) for element in sets if not element & picked), None)

    return find_gap


def _cone_oracle(problem: Problem, offered: int) -> Any:
    """With equalities: a reward that fits the chosen and is wrong names who contradicts it."""
    rows, cone = problem.known.rows, problem.known.cone
    offsets, members = problem.stated
    targets = [
        row for bit, row in enumerate((*cone.facet_rows(), *cone.equalities)) if offered >> bit & 1
    ]
    exact = None if rows.exact is None else matrix(rows.exact)
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))

    def find_gap(chosen: Any) -> Any:
        generators = np.unique(
            np.concatenate([members[offsets[i] : offsets[i + 1]] for i in chosen] or [members[:0]])
        )
        for target in targets:
            witness = _outside(problem, generators.tolist(), target)
            if witness is not None:
                against = (
                    rows.normals @ np.array(witness) < -TOLERANCE
                    if exact is None
                    else np.array([p < 0 for p in products(exact, witness)])
                )
                return set(owner[against[members]].tolist())
        return None

    return find_gap


def _outside(problem: Problem, generators: list[int], target: int) -> Row | None:
    """Weights that satisfy the generators and break the target row; None when it follows."""
    rows = problem.known.rows
    if rows.exact is not None:
        verdict = decide([rows.exact[g] for g in generators], rows.exact[target])
        return None if isinstance(verdict, Inside) else verdict.witness
    nearest = nearest_in_cone(rows.normals[generators], rows.normals[target])
    if nearest.converged and nearest.distance <= TOLERANCE:
        return None
    return tuple((-nearest.residual / np.linalg.norm(nearest.residual)).tolist())


def _in_greedy_order(problem: Problem, chosen: Any) -> tuple[int, ...]:
    """The chosen candidates, those that cover most first."""
    covered, order, left = 0, [], sorted(chosen)
    while left:
        best = max(left, key=lambda n: (problem.masks.get(n, 0) & ~covered).bit_count())
        order.append(best)
        left.remove(best)
        covered = problem.closure(covered | problem.masks.get(best, 0))
    return tuple(order)
