"""What a lesson leaves open, element by element, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from didact.teaching.covers.elements import Elements
from didact.teaching.covers.offers import Offer
from didact.teaching.covers.problem import Problem
from didact.teaching.lesson import Missing


def missing_elements(
    elements: Elements, covered: int, reason_of: Callable[[int], str]
) -> tuple[Missing, ...]:
    """The elements that are not covered: who would state each, in words, and why it is open."""
    known, found = elements.known, []
    for element in elements.within(elements.everything & ~covered):
        row = elements.row_of(element)
        *member, state, action, other = known.statement_of(row)
        reason, words = reason_of(element), known.words_of(row)
        found.append(Missing(state, action, other, reason, words, *member))
    return tuple(found)


def gaps_of_lesson(problem: Problem, covered: int, offers: Sequence[Offer]) -> tuple[Missing, ...]:
    """What stays open, and why: left out, not sampled, or not reachable."""
    elements, width = problem.elements, problem.candidates.n_actions
    offered = problem.covered_by(problem.masks)
    targets = elements.pairs_for(elements.everything & ~covered)
    within: set[int] = set()
    for offer in offers:
        n_actions, first = offer.part.task.mdp.n_actions, offer.part.first
        at_home = offer.home_pairs(targets, width)
        for pair in set(at_home).difference(offer.aimed_at(at_home)[1]):
            state, action = divmod(pair, n_actions)
            within.add((first + state) * width + action)

    def reason_of(element: int) -> str:
        if offered >> element & 1:
            return "left out" if problem.budget is None else "budget"
        pairs = elements.pairs_for(1 << element)
        return "not reachable" if within.isdisjoint(pairs) else "not sampled"

    return missing_elements(elements, covered, reason_of)
