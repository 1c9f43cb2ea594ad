"""SCOT, Set Cover Optimal Teaching (Algorithm 1): a greedy cover of the facets.

Each step takes the candidate that covers most per cost; among equals the one that covers more, then
the cheaper, then the earlier one (lower start, then lower action or earlier sample). It stops when
everything is covered or nothing gains: what no candidate covers is left, not looped over.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from didact.teaching.covers.problem import Problem


@dataclass(frozen=True)
class Picks:
    """Candidate numbers in the order picked, and how many elements each newly covered.

    lower_bound: no complete lesson costs less, where the teacher knows. volumes: UVM's estimates,
    before the first pick and after each.
    """

    numbers: tuple[int, ...]
    gains: tuple[int, ...]
    lower_bound: int | Fraction | None = None
    volumes: tuple[float, ...] | None = None


def greedy_cover(problem: Problem) -> Picks:
    """The greedy cover of a problem, at most `budget` picks long."""
    remaining = _distinct(problem)
    covered = 0
    numbers: list[int] = []
    gains: list[int] = []
    while covered != problem.everything and len(numbers) != problem.budget:
        best: tuple[int, int | Fraction, int] | None = None
        open_elements = problem.everything & ~covered
        useful = {}
        for mask, number in remaining.items():
            gain = (mask & open_elements).bit_count()
            if gain:
                useful[mask] = number
                if best is None or _is_better((gain, problem.costs[number], number), best):
                    best = (gain, problem.costs[number], number)
        if best is None:
            break
        remaining = useful
        after = problem.closure(covered | problem.masks[best[2]])
        numbers.append(best[2])
        gains.append((after & ~covered).bit_count())
        covered = after
    return Picks(tuple(numbers), tuple(gains))


def _distinct(problem: Problem) -> dict[int, int]:
    """For each set of elements the best candidate that covers just it: cheapest, then first."""
    best: dict[int, int] = {}
    for number in sorted(problem.masks):
        mask = problem.masks[number]
        if mask not in best or problem.costs[number] < problem.costs[best[mask]]:
            best[mask] = number
    return best


def _is_better(
    one: tuple[int, int | Fraction, int], other: tuple[int, int | Fraction, int]
) -> bool:
    """Whether (gain, cost, number) goes before another: gain per cost, gain, cost, number."""
    left, right = one[0] * other[1], other[0] * one[1]
    if left != right:
        return left > right
    return (-one[0], one[1], one[2]) < (-other[0], other[1], other[2])
