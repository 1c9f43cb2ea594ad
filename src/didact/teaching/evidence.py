"""What a lesson can be asked beyond what it holds: bounds, and who covers what in which words.

It is found when it is asked for the first time, and kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from didact.bec.families import Known, whole_of
from didact.mdp import Demonstration, Family, Task
from didact.mdp.family_files import family_document
from didact.mdp.files import task_document
from didact.numerics.exact import whole_if_whole
from didact.numerics.texts import number_texts
from didact.proofcheck import ProofError, check_proof
from didact.teaching.covers.coverage import Coverage
from didact.teaching.covers.fewest import Allowed, Certificate, cheapest_lesson, probability_in
from didact.teaching.covers.greedy import harmonic
from didact.teaching.covers.problem import Problem
from didact.teaching.covers.relaxation import lp_bound
from didact.teaching.margins import hardest_step

MAX_STATES = 20_000
"""Above it the bound of a teacher who does not need one is not searched for: seconds and more."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The problem that a lesson answers, what its demonstrations are, and what they cover.

    teachers_bound: the teacher's own lower bound. is_greedy: whether the lesson is a greedy cover.
    allowed: which demonstrations count for the bound; None where no certificate is made.
    found: the teacher's certificate of its bound.
    """

    problem: Problem
    shown: tuple[Demonstration, ...]
    coverage: Coverage
    teachers_bound: int | Fraction | None
    is_greedy: bool
    allowed: Allowed | None = None
    found: Certificate | None = None

    @cached_property
    def certificate(self) -> Certificate | None:
        """Wrong rewards with weights that bound the cost of every lesson; None where none is."""
        if self.found is not None or self.allowed is None or not self.coverage.is_complete:
            return self.found
        n_states = sum(part.task.mdp.n_states for part in self.known.parts)
        if self.known.rows.exact is None or n_states > MAX_STATES:
            return None
        candidates = self.problem.candidates
        found = cheapest_lesson(self.allowed, None if candidates.sampled else candidates)
        return None if found is None else found.certificate

    @property
    def known(self) -> Known:
        """The class of the task or family."""
        return self.problem.known

    @cached_property
    def lower_bound(self) -> int | Fraction | None:
        """The certified bound over all allowed demonstrations, or the teacher's own; else, where
        the candidates are all there are, that of the linear relaxation over the facets."""
        if self.teachers_bound is not None:
            return self.teachers_bound
        if self.certificate is not None:
            return self.certificate.bound
        if self.problem.candidates.sampled:
            return None
        masks = self.problem.masks
        elements = [
            [number for number, mask in masks.items() if mask >> facet & 1]
            for facet in range(self.known.cone.n_facets)
        ]
        if not all(elements):
            return None
        return whole_if_whole(lp_bound(elements, self.problem.costs))

    def is_fewest(self, lesson: Any) -> bool:
        """Whether the certificate meets the cost, and the independent checker accepts the proof."""
        if self.certificate is None or self.certificate.bound != lesson.cost:
            return False
        return checked_as_fewest(self.known, lesson.document())

    @property
    def candidates(self) -> str:
        """'all' where the bound is over all allowed demonstrations, else how many were sampled."""
        own = self.problem.candidates
        if self.found is not None or not own.sampled:
            return "all"
        return f"sampled, {len(own)}"

    @cached_property
    def probabilities(self) -> tuple[Fraction, ...]:
        """Of each demonstration's moves, given its start and its actions."""
        return tuple(probability_in(self.known, demonstration) for demonstration in self.shown)

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


def checked_line(known: Known, document: Mapping[str, Any]) -> str:
    """What the independent checker says of a lesson or an exam; empty where it refuses it."""
    try:
        return check_document(whole_of(known), document)
    except ProofError:
        return ""


def check_document(whole: Task | Family, document: Mapping[str, Any]) -> str:
    """The line of the independent checker on a proof, a lesson or an exam; raises ProofError."""
    task = family_document(whole) if isinstance(whole, Family) else task_document(whole)
    return check_proof(as_read(task), as_read(document))


def checked_as_fewest(known: Known, document: Mapping[str, Any]) -> bool:
    """Whether the independent checker calls a lesson or an exam the fewest."""
    return FEWEST in checked_line(known, document)


def checked_bound(lesson: Any) -> int | Fraction | None:
    """The bound on every allowed lesson, where the independent checker accepts its certificate."""
    proof = lesson.proof
    if lesson.known is None or proof is None or "fewest" not in proof:
        return None
    return lesson.lower_bound if checked_line(lesson.known, lesson.document()) else None


FEWEST = "proved fewest"
"""How the checker begins what it says of the fewest demonstrations."""


def as_read(document: Mapping[str, Any]) -> Any:
    """The object as it comes out of a file, decimals as text."""
    return json.loads(json.dumps(dict(document), default=str), parse_float=str)
