"""The cheapest mix of demonstrations and other feedback, with a certificate of its bound.

Every candidate's rows lie in the class, so a complete lesson states a row of each facet and rows
that span the equalities, as lessons of demonstrations do: the same implicit hitting set finds it.
More kinds are more candidates, so adding one never makes a lesson cost more.

In a family every candidate is of one member, and members may cost something to visit.

Over-teaching also tries preferences that say more than the class (see `over_teaching`), and takes
them where they cost less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, cast

import numpy as np

from didact.bec.classes import EquivalenceClass
from didact.errors import InvalidParameter, Unsupported
from didact.inputs import choice, entries, flag, shown
from didact.mdp import Comparison, Demonstration, Preference
from didact.mdp.items import Item
from didact.numerics.exact import changed, read_number, whole_if_whole
from didact.numerics.texts import number_text
from didact.teaching.covers.fewest import CoverCertificate, mix_certificate
from didact.teaching.covers.problem import Coverage, Problem, cover_elements
from didact.teaching.covers.set_cover import FixedCosts
from didact.teaching.covers.walks import Allowed, OfferedItem, probability_in
from didact.teaching.feedback.candidates import KINDS, Offered, offered_items
from didact.teaching.feedback.halfspaces import (
    direction,
    item_differences,
    item_words,
    judge_items,
    mixed_proof,
)
from didact.teaching.feedback.over_teaching import fewest_halfspaces, near_ties
from didact.teaching.lesson import Lesson
from didact.teaching.teachers import exact_minimum
from didact.teaching.trim import all_closed
from didact.teaching.witness import facet_records, missing_elements


def as_kinds(given: Any) -> tuple[str, ...]:
    """The kinds of feedback that may be used, each once."""
    named = [given] if isinstance(given, str) else entries(given, "feedback", "kinds")
    kinds = tuple(dict.fromkeys(choice(kind, "feedback", KINDS) for kind in named))
    if not kinds:
        raise InvalidParameter("feedback must name at least one kind; it names none")
    return kinds


def kind_costs(given: Any, kinds: Sequence[str]) -> dict[str, int | Fraction]:
    """What an item of each kind costs: 1, or what a table {kind: cost} says."""
    if isinstance(given, str) and given == "demonstrations":
        return dict.fromkeys(kinds, 1)
    if not isinstance(given, Mapping):
        raise InvalidParameter(
            f"cost with feedback must be a table {{kind: cost}}; it is {shown(given)}"
        )
    for kind in given:
        choice(kind, "cost: kind", kinds)
    costs: dict[str, int | Fraction] = dict.fromkeys(kinds, 1)
    for kind, cost in given.items():
        exact = read_number(cost, f"cost of {kind}")
        if exact <= 0:
            raise InvalidParameter(f"cost of {kind} must be positive; it is {shown(cost)}")
        costs[kind] = whole_if_whole(exact)
    return costs


def item_costs(given: Any, items: Sequence[Item]) -> list[int | Fraction]:
    """What recorded items cost: 1 each, or what a table {kind: cost} says of their kinds."""
    costs = kind_costs(given, (*KINDS, "stops"))
    return [costs[_kind_of(item)] for item in items]


def _kind_of(item: Item) -> str:
    """The name of its kind, as tables of costs have it."""
    if isinstance(item, Preference) and item.correction:
        return "corrections"
    return f"{type(item).__name__.lower()}s"


def as_margin(over_teach: Any, margin: Any, kinds: Sequence[str] | None) -> Fraction | None:
    """The least difference that over-teaching may ask to be seen; None where it is not wanted."""
    if not flag(over_teach, "over_teach"):
        if margin is not None:
            raise InvalidParameter("margin is for over_teach=True; leave it out, or say that")
        return None
    if kinds is None or "preferences" not in kinds:
        raise InvalidParameter("over_teach needs 'preferences' among feedback; add it")
    least = Fraction(0) if margin is None else read_number(margin, "margin")
    if least < 0:
        raise InvalidParameter(f"margin must not be negative; it is {shown(margin)}")
    return least


def mixed_lesson(
    problem: Problem,
    kinds: Sequence[str],
    costs: Mapping[str, int | Fraction],
    settings: Mapping[str, Any],
    allowed: Allowed,
    least: Fraction | None = None,
) -> Lesson:
    """The cheapest lesson of these kinds; problem: that of the demonstrations alone.

    allowed: which demonstrations count for the bound.
    least: try preferences that say more than the class, with at least this difference in return.
    """
    bec = problem.bec
    if bec.rows.exact is None:
        raise Unsupported(
            "other feedback than demonstrations needs exact arithmetic; use arithmetic='exact'"
        )
    offered = list(offered_items(bec, problem, kinds, costs))
    mixed = _problem_of(problem, offered)
    picks = exact_minimum(mixed, np.random.default_rng(0), **problem.options)
    chosen = [offered[number] for number in picks.numbers]
    coverage = Coverage.of(mixed.elements, [offer.mask for offer in chosen])
    cost = mixed.cost_of(picks.numbers)
    items = tuple(offer.item for offer in chosen)
    lesson = _lesson_of_items(coverage, items, cost, settings, _reasons(mixed))
    if least is not None:
        # Preferences that say more than the class are not among what a certificate allows.
        any_halfspaces = fewest_halfspaces(bec) * min(costs.values())
        bound = None if "demonstrations" in kinds else whole_if_whole(Fraction(any_halfspaces))
        usual = changed(lesson, lower_bound=bound)
        return _over_taught(problem, usual, costs["preferences"], least)
    certificate = _certificate(problem, kinds, costs, offered, allowed)
    if certificate is None:
        is_sampled = "demonstrations" in kinds and problem.candidates.sampled
        return changed(lesson, candidates=f"sampled, {len(offered)}") if is_sampled else lesson
    if not lesson.is_complete:
        return changed(lesson, lower_bound=certificate.bound)
    proof = partial(_proof_with_bound, bec, lesson.items, certificate)
    return changed(lesson, lower_bound=certificate.bound, proof=proof)


def _certificate(
    problem: Problem,
    kinds: Sequence[str],
    costs: Mapping[str, int | Fraction],
    offered: Sequence[Offered],
    allowed: Allowed,
) -> CoverCertificate | None:
    """The bound on every mix of allowed demonstrations, of all comparisons and of the rest."""
    bec = problem.bec
    others = [
        OfferedItem(
            each.item,
            tuple(direction(difference) for difference in item_differences(bec, each.item)),
            Fraction(each.cost),
            each.item.member or 0,
        )
        for each in offered
        if not isinstance(each.item, Demonstration | Comparison)
    ]
    shows = "demonstrations" in kinds
    allowed = replace(
        allowed,
        offers=allowed.offers if shows else (),
        prices={kind: Fraction(costs[kind]) for kind in kinds},
        offered=others,
    )
    is_listed = shows and not problem.candidates.sampled
    return mix_certificate(allowed, problem.candidates if is_listed else None)


def _proof_with_bound(
    bec: EquivalenceClass, items: Sequence[Item], certificate: CoverCertificate
) -> dict[str, Any]:
    return {**mixed_proof(bec, items, None), "fewest": certificate.document()}


def _problem_of(problem: Problem, offered: Sequence[Offered]) -> Problem:
    """The cover problem of what is offered."""
    fixed_costs = problem.fixed_costs
    if fixed_costs is not None:
        fixed_costs = FixedCosts([offer.item.member or 0 for offer in offered], fixed_costs.prices)
    return Problem(
        problem.elements,
        cast(Any, [offer.item for offer in offered]),
        [offer.cost for offer in offered],
        problem.budget,
        fixed_costs=fixed_costs,
        given_masks={i: offer.mask for i, offer in enumerate(offered) if offer.mask},
    )


def _over_taught(problem: Problem, usual: Lesson, price: int | Fraction, least: Fraction) -> Lesson:
    """Near-tie preferences, where they teach for less than the usual lesson, or at all."""
    bec = problem.bec
    items = near_ties(bec, least, np.random.default_rng(0))
    if items is None or (problem.budget is not None and len(items) > problem.budget):
        return _with_margin(usual, least)
    prices = {} if problem.fixed_costs is None else problem.fixed_costs.prices
    visits = sum(prices.get(member, 0) for member in {item.member or 0 for item in items})
    cost = whole_if_whole(Fraction(len(items) * price + visits))
    if usual.is_complete and cost >= usual.cost and (usual.hardest or least) >= least:
        return usual
    # No single item states a facet: one is covered by the first item after which it follows.
    elements = cover_elements(bec)
    element_of = {elements.row_of(e): e for e in range(elements.n_elements)}
    after = []
    for n in range(len(items) + 1):
        left = judge_items(bec, items[:n], []).open_rows
        after.append(elements.everything & ~sum(1 << element_of[row] for row in left))
    lesson = _lesson_of_items(Coverage(elements, tuple(after)), items, cost, usual.settings)
    return changed(lesson, lower_bound=usual.lower_bound)


def _with_margin(usual: Lesson, least: Fraction) -> Lesson:
    """The usual lesson, where the differences that it rests on are large enough to be seen."""
    if usual.hardest is not None and usual.hardest < least:
        raise Unsupported(
            "no lesson was found whose items all differ in return by at least the margin "
            f"{number_text(least)}; the usual one rests on a difference of "
            f"{float(usual.hardest):.3g}. Give a margin of at most that, or leave it out"
        )
    return usual


def _reasons(mixed: Problem) -> Callable[[int], str]:
    """Why an element is open: the budget, or no item of these kinds states it."""
    offered = mixed.covered_by(mixed.masks)
    return lambda element: "budget" if offered >> element & 1 else "not offered"


def _lesson_of_items(
    coverage: Coverage,
    items: tuple[Item, ...],
    cost: int | Fraction,
    settings: Mapping[str, Any],
    reason_of: Callable[[int], str] = lambda element: "not offered",
) -> Lesson:
    """What is known of the chosen items, judged again by all their half-spaces; no bound yet."""
    elements = coverage.elements
    bec = elements.bec
    shown = [item for item in items if isinstance(item, Demonstration)]
    found = judge_items(bec, items, shown)
    if found.wrong:
        raise AssertionError("candidates must be true of their task")
    left = {*found.open_rows}
    still = sum(1 << e for e in range(elements.n_elements) if elements.row_of(e) in left)
    is_closed = partial(all_closed, bec.members, shown) if len(shown) == len(items) else False
    return Lesson(
        task_name=bec.name,
        status="partial" if left else "complete",
        items=items,
        gains=coverage.gains,
        cost=cost,
        closed=cast(Any, is_closed),  # other items assume the teacher's policy afterwards
        n_facets=bec.cone.n_facets,
        n_equalities=len(bec.cone.equalities),
        uncovered=missing_elements(elements, elements.everything & ~still, reason_of),
        witness=found.witness,
        loss=found.loss,
        proof=cast(Any, partial(mixed_proof, bec, items, found.witness)),
        settings=settings,
        lower_bound=None,
        candidates="all",
        probabilities=tuple(probability_in(bec, way) for way in shown),
        guarantee=None,
        hardest=found.hardest,
        facets=facet_records(coverage),
        words=tuple(item_words(bec.source, item) for item in items),
        bec=bec,
    )
