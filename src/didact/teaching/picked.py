"""A lesson from what a teacher picked: closed, trimmed, put in order, and what is known of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from didact.bec.proofs import Proof
from didact.inputs import is_whole
from didact.mdp import Demonstration
from didact.numerics.exact import whole_if_whole
from didact.random import as_generator
from didact.teaching.covers.candidates import Starts, as_candidates, lines_of
from didact.teaching.covers.elements import Coverage, cover_elements
from didact.teaching.covers.problem import Picks, Problem, candidate_costs
from didact.teaching.covers.walks import Allowed, probability_in
from didact.teaching.evidence import LessonEvidence, gaps_of_lesson
from didact.teaching.lesson import Lesson
from didact.teaching.loss.remaining import order_by_loss
from didact.teaching.settings import TeachSettings
from didact.teaching.trim import all_closed, close, needs_of, trimmed
from didact.teaching.witness import judge

Keeps = Callable[[Sequence[Demonstration]], bool]
"""Whether learners that plan keep to their bound after demonstrations, as far as that is known."""


def lesson_of_picks(
    settings: TeachSettings,
    problem: Problem,
    picks: Picks,
    offers: Sequence[Starts],
    document: Mapping[str, Any],
    *,
    keeps: Keeps | None = None,
) -> Lesson:
    """What is known of the picked candidates, and of what closure adds to them.

    document: the settings as the lesson's file names them. keeps: where a loss is bounded.
    """
    extra = _closing(problem, picks, offers) if settings.closed else []
    chance = partial(probability_in, problem.known)
    added = (
        candidate_costs(as_candidates(problem.known, extra), settings.cost, chance) if extra else []
    )
    known = problem.known
    demonstrations = _shown(settings, problem, picks, extra, offers, keeps)
    if settings.is_by_loss:
        rng = as_generator(settings.seed if is_whole(settings.seed) else 0, "order")
        numbers = order_by_loss(known, demonstrations, rng)
        demonstrations = tuple(demonstrations[number] for number in numbers)
    problem = _of_facets(problem) if settings.teacher == "scot-redundant" else problem
    coverage = _coverage(problem, demonstrations)
    found = judge(problem.elements, demonstrations, coverage.covered)
    n_close_calls = known.n_close_calls + found.n_close
    is_greedy = settings.teacher == "scot" and not extra and not settings.learners
    allowed = None
    if not settings.learners and not callable(settings.cost):
        prices = {} if problem.fixed_costs is None else problem.fixed_costs.prices
        visits = {member: Fraction(price) for member, price in prices.items()}
        least = settings.min_probability or Fraction(0)
        allowed = Allowed(known, offers, settings.cost, least, visits)
    # A bound over sampled candidates holds for no other ones: only a certificate does.
    is_sampled = problem.candidates.sampled and picks.certificate is None
    bound = None if is_sampled and not settings.learners else picks.lower_bound
    evidence = LessonEvidence(
        *(problem, demonstrations, coverage, bound, is_greedy),
        *(allowed, picks.certificate),
    )
    return Lesson(
        task_name=known.name,
        status=_status(found.pins_down, n_close_calls),
        items=demonstrations,
        gains=coverage.gains,
        cost=_total_cost(problem, picks, extra) + sum(added, 0),
        closed=partial(all_closed, known.parts, demonstrations),  # type: ignore[arg-type]
        n_facets=known.cone.n_facets,
        n_equalities=len(known.cone.equalities),
        uncovered=() if found.pins_down else gaps_of_lesson(problem, coverage.covered, offers),
        witness=found.witness,
        loss=found.loss,
        loss_error=found.loss_error,
        proof=None if found.proof is None else partial(_proof_with_bound, found.proof, evidence),  # type: ignore[arg-type]
        settings=document,
        volumes=picks.volumes,
        n_close_calls=n_close_calls,
        known=known,
        **evidence.fields(),
    )


def _proof_with_bound(proof: Proof, evidence: LessonEvidence) -> dict[str, Any]:
    """The proof that demonstrations teach or not, and the certificate of the bound on the cost."""
    certificate = evidence.certificate if proof.teaches else None
    part = {} if certificate is None else {"fewest": certificate.document()}
    return {**proof.document, **part}


def _closing(problem: Problem, picks: Picks, offers: Sequence[Starts]) -> list[Demonstration]:
    """Demonstrations that extend the picks to closure, within the budget."""
    picked = [problem.candidates[number] for number in picks.numbers]
    added = [
        Demonstration(demonstration, offer.part.member)
        for offer in offers
        for demonstration in close(
            offer.part.task.mdp,
            offer.plan,
            offer.part.own(picked),
            starts=offer.starts,
            horizon=offer.horizon,
        )
    ]
    return added if problem.budget is None else added[: problem.budget - len(picked)]


def _total_cost(problem: Problem, picks: Picks, extra: Sequence[Demonstration]) -> int | Fraction:
    """What picks cost, and the members that only closure visits; not its demonstrations."""
    fixed_costs, total = problem.fixed_costs, problem.cost_of(picks.numbers)
    if fixed_costs is None:
        return total
    visited = {fixed_costs.group_of[number] for number in picks.numbers}
    later = {demonstration.member for demonstration in extra} - visited
    return whole_if_whole(Fraction(total + sum(fixed_costs.prices.get(m or 0, 0) for m in later)))


def _status(pins_down: bool, n_close_calls: int) -> str:
    """'complete', 'partial', or 'undecided' where floats could not make some decisions."""
    if n_close_calls:
        return "undecided"
    return "complete" if pins_down else "partial"


def _of_facets(problem: Problem) -> Problem:
    """The problem of covering facets and equalities, whatever the teacher covered."""
    elements = cover_elements(problem.known)
    if np.array_equal(elements.element_of_row, problem.elements.element_of_row):
        return problem
    return replace(problem, elements=elements, given_masks=None)


def _shown(
    settings: TeachSettings,
    problem: Problem,
    picks: Picks,
    extra: Sequence[Demonstration],
    offers: Sequence[Starts],
    keeps: Keeps | None,
) -> tuple[Demonstration, ...]:
    """The picked candidates, and what closure added to them: trimmed, or as they are."""
    if not settings.cuts:
        return (*(problem.candidates[number] for number in picks.numbers), *extra)

    def cut(*, planners_lose: bool) -> tuple[Demonstration, ...]:
        return trimmed(
            *(problem, picks.numbers, extra, offers),
            cuts_beginnings=isinstance(settings.cost, str),
            planners_lose=planners_lose,
        )

    short = cut(planners_lose=False)
    if "planner" in settings.learners and keeps is not None and not keeps(short):
        return cut(planners_lose=True)
    return short


def _coverage(problem: Problem, demonstrations: Sequence[Demonstration]) -> Coverage:
    """What demonstrations cover one after the other."""
    needs = needs_of(problem.elements)
    lines = lines_of(problem.known, demonstrations)
    return Coverage.of(problem.elements, [needs.coverage_of(line) for line in lines])
