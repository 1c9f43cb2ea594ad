"""What a lesson can be asked beyond what it holds: bounds, and who covers what in which words.

It is found when it is asked for the first time, and kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from didact.bec.families import Known
from didact.mdp import Demonstration
from didact.numerics.exact import whole_if_whole
from didact.numerics.texts import number_texts
from didact.teaching.covers.coverage import Coverage
from didact.teaching.covers.greedy import harmonic
from didact.teaching.covers.problem import Problem
from didact.teaching.covers.relaxation import lp_bound
from didact.teaching.margins import hardest_step


@dataclass(frozen=True, eq=False)
class Evidence:
    """The problem that a lesson answers, what its demonstrations are, and what they cover.

    teachers_bound: the teacher's own lower bound. is_greedy: whether the lesson is a greedy cover.
    """

    problem: Problem
    shown: tuple[Demonstration, ...]
    coverage: Coverage
    teachers_bound: int | Fraction | None
    is_greedy: bool

    @property
    def known(self) -> Known:
        """The class of the task or family."""
        return self.problem.known

    @cached_property
    def lower_bound(self) -> int | Fraction | None:
        """The teacher's own bound, else that of the linear relaxation over the facets."""
        if self.teachers_bound is not None:
            return self.teachers_bound
        masks = self.problem.masks
        elements = [
            [number for number, mask in masks.items() if mask >> facet & 1]
            for facet in range(self.known.cone.n_facets)
        ]
        if not all(elements):
            return None
        return whole_if_whole(lp_bound(elements, self.problem.costs))

    @cached_property
    def guarantee(self) -> Fraction | None:
        """H(d), d the most facets that one candidate covers; for greedy covers of facets only."""
        masks = self.problem.masks
        if not self.is_greedy or self.problem.charges or self.known.cone.equalities or not masks:
            return None
        return harmonic(max(mask.bit_count() for mask in masks.values()))

    @cached_property
    def hardest(self) -> Fraction | float | None:
        """The smallest difference in return that a step shown rests on."""
        return hardest_step(self.known.parts, self.shown)

    @cached_property
    def facets(self) -> tuple[Mapping[str, Any], ...]:
        """Every facet and equality, with the first demonstration that covers it."""
        return tuple(self._facet(element) for element in range(self.coverage.elements.n_elements))

    def _facet(self, element: int) -> Mapping[str, Any]:
        rows, row = self.known.rows, self.coverage.elements.row_of(element)
        exact = rows.exact
        return {
            "normal": rows.normals[row].tolist() if exact is None else number_texts(exact[row]),
            "equality": row in self.known.cone.equalities,
            "statement": list(self.known.statement_of(row)),
            "words": self.known.words_of(row),
            "covered_by": self.coverage.first_to_cover(element),
        }
