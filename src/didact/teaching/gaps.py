"""What a lesson leaves open, element by element, and why."""

from __future__ import annotations

from collections.abc import Callable

from didact.teaching.covers.aimed import aimed_demonstrations
from didact.teaching.covers.candidates import Indices
from didact.teaching.covers.elements import Elements
from didact.teaching.covers.problem import Problem
from didact.teaching.lesson import Missing
from didact.teaching.witness import row_in_words


def missing_elements(
    elements: Elements, covered: int, reason_of: Callable[[int], str]
) -> tuple[Missing, ...]:
    """The elements that are not covered: who would state each, in words, and why it is open."""
    known, found = elements.known, []
    for element in elements.within(elements.everything & ~covered):
        row = elements.row_of(element)
        statement = known.rows.statement_of(row)
        found.append(Missing(*statement, reason_of(element), row_in_words(known, row)))
    return tuple(found)


def gaps_of_lesson(problem: Problem, covered: int, starts: Indices) -> tuple[Missing, ...]:
    """What stays open, and why: left out, not sampled, or not reachable."""
    elements, known = problem.elements, problem.known
    offered = problem.covered_by(problem.masks)
    targets = elements.pairs_for(elements.everything & ~covered)
    _, unreachable = aimed_demonstrations(
        known.task.mdp, known.plan, targets, starts=starts, horizon=problem.candidates.horizon
    )
    beyond = set(unreachable)

    def reason_of(element: int) -> str:
        if offered >> element & 1:
            return "left out" if problem.budget is None else "budget"
        pairs = set(elements.pairs_for(1 << element))
        return "not reachable" if pairs <= beyond else "not sampled"

    return missing_elements(elements, covered, reason_of)
