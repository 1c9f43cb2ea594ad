"""Picks among recorded episodes: their segments of right steps are candidates of a set cover.

First the facets are covered; where some stay open, then whatever narrows the rest most. The exact
picks are the cheapest from which all that was recorded follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from didact.bec.classes import (
    EquivalenceClass,
    demonstration_class,
    demonstration_rows,
)
from didact.errors import InvalidParameter
from didact.random import as_generator
from didact.teaching.covers.candidates import MOST_PAIRS, Candidates
from didact.teaching.covers.elements import cover_elements
from didact.teaching.covers.greedy import greedy_cover
from didact.teaching.covers.problem import Problem
from didact.teaching.methods.exact import exact_minimum
from didact.teaching.methods.scot import greedy_picks
from didact.teaching.segments import Segment


def problem_of_segments(
    known: EquivalenceClass, segments: Sequence[Segment], cost: str, budget: int | None
) -> Problem:
    """The cover problem whose candidates are the segments, each pair of one counted once."""
    n_actions = known.task.mdp.n_actions
    lines = [sorted({s * n_actions + a for s, a in segment.shown}) for segment in segments]
    width = max(map(len, lines), default=1)
    if len(lines) * width > MOST_PAIRS:
        raise InvalidParameter(
            f"{len(lines)} episodes of up to {width} different pairs are more than {MOST_PAIRS} "
            "pairs; give fewer episodes"
        )
    costs = [1 if cost == "demonstrations" else len(segment.shown) for segment in segments]
    candidates = Candidates.of(lines, n_actions, width)
    return Problem(cover_elements(known), candidates, costs, budget)


def picked_segments(
    problem: Problem, segments: Sequence[Segment], method: str
) -> tuple[list[int], list[int]]:
    """The candidates to show, and those that would still add something.

    First a cover of the facets; where some stay open, then whatever narrows the rest most.
    """
    if method == "greedy":
        picked = list(greedy_picks(problem, problem.budget))
    else:
        picked = list(_cheapest(problem, segments))
    if problem.covered_by(picked) == problem.everything:
        return picked, []
    offsets, members = problem.stated
    says = [set(members[a:b].tolist()) for a, b in pairwise(offsets.tolist())]
    stated = set().union(*(says[number] for number in picked))
    open_rows = set().union(*says)
    while True:
        open_rows = _not_following(problem, stated, open_rows)
        adding = [number for number in range(len(says)) if says[number] & open_rows]
        if not adding or len(picked) == problem.budget:
            return picked, adding
        best = max(adding, key=lambda n: (len(says[n] & open_rows) / problem.costs[n], -n))
        picked.append(best)
        stated |= says[best]


def _cheapest(problem: Problem, segments: Sequence[Segment]) -> tuple[int, ...]:
    """The cheapest candidates that together imply all that was recorded, proved.

    Where the recorded do not pin the class down, that is a cover of the class of their own: its
    facets and equalities are all that they imply. Those that cover the task's facets come first.
    Beyond the budget it is what covers most of the task's.
    """
    if problem.covered_by(problem.masks) == problem.everything:
        return exact_minimum(problem, as_generator(0, "select")).numbers
    known, shown_ones = problem.known, tuple(segment.shown for segment in segments)
    own = replace(
        known,
        rows=demonstration_rows(known, shown_ones),
        cone=demonstration_class(known, shown_ones),
    )
    whole = replace(problem, elements=cover_elements(own), budget=None)
    chosen = exact_minimum(whole, as_generator(0, "select")).numbers
    if problem.budget is not None and len(chosen) > problem.budget:
        return exact_minimum(problem, as_generator(0, "select")).numbers
    masks = {number: problem.masks.get(number, 0) for number in chosen}
    prices = dict.fromkeys(masks, 1)
    first = greedy_cover(masks, prices, problem.n_elements, closure=problem.closure).picks
    return (*first, *(number for number in chosen if number not in first))


def _not_following(problem: Problem, stated: set[int], rows: set[int]) -> set[int]:
    """The rows that are no consequence of the stated ones."""
    given = sorted(stated)
    return {row for row in rows - stated if not problem.follows(given, row)}
