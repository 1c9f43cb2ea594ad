"""What is known about a lesson: bounds on its cost, who covers what, what is open, what is hard.

Lower bounds hold over all allowed demonstrations where a certificate says so (see
`covers.fewest`); the linear relaxation bounds only covers of the facets by the candidates. What
costs a search is found when it is first asked for, and kept.

The hardest step of a lesson is the smallest Q-value gap that it relies on: whoever is shown an
action must be able to believe that every worse one is worse. At each step shown the least bad of
them counts; optimal ones are worth the same and ask nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np

from didact.bec.classes import EquivalenceClass, Part, exact_gap
from didact.mdp import Demonstration
from didact.numerics.exact import whole_if_whole
from didact.numerics.texts import number_texts
from didact.teaching.covers.candidates import Starts
from didact.teaching.covers.elements import Coverage, Elements
from didact.teaching.covers.fewest import CoverCertificate, cheapest_lesson
from didact.teaching.covers.greedy import harmonic
from didact.teaching.covers.problem import Problem
from didact.teaching.covers.reductions import lp_bound
from didact.teaching.covers.walks import Allowed, probability_in
from didact.teaching.lesson import Missing

MAX_STATES = 20_000
"""Above it the bound of a teacher who does not need one is not searched for: seconds and more."""


@dataclass(frozen=True, eq=False)
class LessonEvidence:
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
    found: CoverCertificate | None = None

    @cached_property
    def certificate(self) -> CoverCertificate | None:
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
    def known(self) -> EquivalenceClass:
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

    def fields(self) -> dict[str, Any]:
        """The fields of a lesson that are found when they are asked for, as functions."""
        names = ("lower_bound", "candidates", "probabilities", "guarantee", "hardest", "facets")
        return {name: partial(getattr, self, name) for name in names}

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
        if (
            not self.is_greedy
            or self.problem.fixed_costs
            or self.known.cone.equalities
            or not masks
        ):
            return None
        return harmonic(max(mask.bit_count() for mask in masks.values()))

    @cached_property
    def hardest(self) -> Fraction | float | None:
        """The smallest difference in return that a step shown rests on."""
        return hardest_step(self.known.parts, self.shown)

    @cached_property
    def facets(self) -> tuple[Mapping[str, Any], ...]:
        """Every facet and equality, with the first demonstration that covers it."""
        return facet_records(self.coverage)


def facet_records(coverage: Coverage) -> tuple[Mapping[str, Any], ...]:
    """Every facet and equality: normal, statement, words, and the first item that covers it."""
    known, elements = coverage.elements.known, coverage.elements
    exact, records = known.rows.exact, []
    for element in range(elements.n_elements):
        row = elements.row_of(element)
        normal = known.rows.normals[row].tolist() if exact is None else number_texts(exact[row])
        record = {
            "normal": normal,
            "equality": row in known.cone.equalities,
            "statement": list(known.statement_of(row)),
            "words": known.words_of(row),
            "covered_by": coverage.first_to_cover(element),
        }
        records.append(record)
    return tuple(records)


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


def gaps_of_lesson(problem: Problem, covered: int, offers: Sequence[Starts]) -> tuple[Missing, ...]:
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


def hardest_step(parts: Sequence[Part], shown: Sequence[Demonstration]) -> Fraction | float | None:
    """What the least bad other action costs at any step shown; None where all are worth the same.

    A fraction where the class is exact.
    """
    margins = (_hardest_of(part, part.own(shown)) for part in parts)
    return min((margin for margin in margins if margin is not None), default=None)


def _hardest_of(part: Part, shown: Iterable[Demonstration]) -> Fraction | float | None:
    plan = part.plan
    steps = {state: action for way in shown for state, action in way}
    states, actions = (np.array(list(x), dtype=np.int64) for x in (steps, steps.values()))
    values = plan.action_values[states]
    gaps = np.where(plan.optimal[states], np.inf, plan.values[states, None] - values)
    if not np.isfinite(gaps).any():
        return None
    if part.counts is None:
        return float(gaps.min())
    error = plan.error_bound + np.spacing(np.abs(values).max())
    near = np.argwhere(gaps <= gaps.min() + 4.0 * error).tolist()  # floats cannot order these
    found = [exact_gap(part, int(states[i]), other, int(actions[i])) for i, other in near]
    return min(gap for gap in found if gap is not None)
