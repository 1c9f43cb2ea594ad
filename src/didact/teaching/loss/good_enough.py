"""The cheapest lesson that loses at most a bound: an implicit hitting set, and the bound as given.

The cheapest candidates that hit all cuts known so far are a lower bound. Where a reward fits them
and loses too much, its cut is added. Where the search finds none, the cells of C(D) are visited;
when all of them lose at most the bound, the lesson is the cheapest there is. Greedy picks find most
cuts, so that few of the cheapest have to be looked for.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from didact.bec.classes import EquivalenceClass, shown_pairs
from didact.errors import InvalidParameter
from didact.inputs import choice, shown
from didact.mdp import Demonstration
from didact.numerics.exact import read_number
from didact.random import stream
from didact.stages import counting
from didact.teaching.covers.problem import Problem
from didact.teaching.covers.set_cover import cheapest_cover, greedy_cover, hits_of
from didact.teaching.lesson import ENUMERATED, EXCEEDED, TESTED, Within, Witness
from didact.teaching.loss.cells import PolicyCells, affordable_cells
from didact.teaching.loss.region import Region, VisitedCells, region_of, worst_cell
from didact.teaching.loss.search import (
    Cuts,
    Plans,
    boundary_rounds,
    check_witness,
    largest,
    order_by_loss,
    planner_rounds,
    push,
    remaining_loss,
    violations,
)
from didact.teaching.loss.space import WeightSpace, weight_space
from didact.teaching.teachers import greedy_picks
from didact.teaching.trim import all_closed

LEARNERS = ("half-spaces", "planner")
Chosen = tuple[tuple[int, ...], Within]
"""Numbers of candidates, and what they promise of losses."""


SEARCHES = 3
"""Of planners that lose too much after demonstrations were cut."""
TIME_LIMIT = 60.0
"""Seconds for one lesson, where none are given."""


@dataclass
class SharedFindings:
    """What other bounds on the loss met, of the same candidates.

    witnesses: rewards that lose more than some of them. plans: those checked in exact numbers.
    most_cells: how many classes of policies are visited at most for one lesson. cells: all of
    them, where that is affordable and learners that plan are guarded. refuses: whether a bound
    that no candidates keep to is refused, or its lesson is 'exceeded'.
    """

    witnesses: tuple[Witness, ...] = ()
    plans: Plans = field(default_factory=dict)
    most_cells: float = math.inf
    cells: PolicyCells | None = None
    refuses: bool = True


class Goal(NamedTuple):
    """A loss, of return or as a share of the spread, and the learners that must keep to it.

    given: the loss as people say it. greedy: whether candidates are picked greedily instead of the
    cheapest. shared: what other bounds met.
    """

    given: Any
    amount: float
    is_share: bool
    learners: tuple[str, ...]
    greedy: bool
    shared: SharedFindings

    @property
    def learner_model(self) -> str:
        """Whose loss: 'half-spaces', 'planner' or 'both'."""
        return "both" if self.learners == LEARNERS else self.learners[0]

    def bound(self, space: WeightSpace) -> float:
        """The loss in the unit of a weight space's losses."""
        return self.amount * (space.spread if self.is_share else 1.0)


def as_goal(
    loss: Any, learner_model: str, teacher: str, shared: SharedFindings | None = None
) -> Goal:
    """The goal that was asked for, checked; shared: what other bounds met of its candidates."""
    if not isinstance(teacher, str) or teacher not in ("scot", "exact"):
        raise InvalidParameter(f"loss needs the teacher 'scot' or 'exact'; it is {shown(teacher)}")
    chosen = choice(learner_model, "learner_model", ("both", *LEARNERS))
    learners = LEARNERS if chosen == "both" else (chosen,)
    amount, is_share = read_loss(loss)
    return Goal(loss, amount, is_share, learners, teacher == "scot", shared or SharedFindings())


def read_loss(loss: Any) -> tuple[float, bool]:
    """A loss as people say it: an amount, and whether that is a share of the spread."""
    is_share = isinstance(loss, str) and loss.strip().endswith("%")
    text = loss.strip().removesuffix("%").strip() if isinstance(loss, str) else loss
    amount = float(read_number(text, "loss")) / (100.0 if is_share else 1.0)
    if amount < 0.0:
        raise InvalidParameter(f"loss must not be negative; it is {shown(loss)}")
    return amount, is_share


def cheapest_within(
    problem: Problem,
    goal: Goal,
    *,
    time_limit: float | None,
    rng: np.random.Generator,
) -> Chosen:
    """The candidates of the cheapest lesson that keeps to the goal, and what it promises.

    Witnesses of other bounds that lose more than this one are cuts from the start.
    """
    space = weight_space(problem.bec, shares=goal.is_share)
    if "planner" in goal.learners and goal.shared.cells is None:
        goal.shared.cells = affordable_cells(space)
    limit = TIME_LIMIT if time_limit is None else time_limit
    deadline = time.monotonic() + limit
    cuts = Cuts(problem, space, goal.bound(space), plans=goal.shared.plans)
    cuts.witnesses = [
        w for w in goal.shared.witnesses if w.loss > cuts.limit and w.learner in goal.learners
    ]
    numbers, within = _good_enough(cuts, goal, (deadline - 0.5 * limit, deadline), rng)
    if problem.budget is None or len(numbers) <= problem.budget:
        return numbers, within
    return _within_budget(cuts, numbers, within, rng)


def _good_enough(
    cuts: Cuts, goal: Goal, deadlines: tuple[float, float], rng: np.random.Generator
) -> Chosen:
    """Candidates after which no learner loses more than the bound, whatever the budget."""
    learners, is_last = goal.learners, goal.greedy
    while True:
        chosen = _hitting(cuts, greedy=goal.greedy or not is_last)
        region = region_of(cuts.space, cuts.rows_of(chosen))
        found = sum(violations(cuts, region, chosen, learner, rng) for learner in learners)
        if not found and not is_last:
            is_last = True
            continue
        statuses, outcome = dict.fromkeys(learners, EXCEEDED if found else TESTED), None
        if not found:
            found, outcome = _visited(cuts, region, chosen, statuses, goal, deadlines)
        is_stuck = _is_stuck(cuts, refuses=goal.shared.refuses)
        if not found or is_stuck or time.monotonic() > deadlines[1]:
            if EXCEEDED not in statuses.values():
                return _result(cuts, chosen, statuses, outcome)
            return _most_covering(cuts, learners, rng)
        is_last = goal.greedy


def _visited(
    cuts: Cuts,
    region: Region,
    chosen: tuple[int, ...],
    statuses: dict[str, str],
    goal: Goal,
    deadlines: tuple[float, float],
) -> tuple[int, VisitedCells | None]:
    """Visit the classes of policies that fit the chosen, where a search found nothing too bad.

    It writes into the statuses. Returns how many cuts were added, and what visiting C(D) found.
    deadlines: of enumerating all policy cells, and of the cells of C(D).
    """
    found, outcome, cells = 0, None, goal.shared.cells
    if "half-spaces" in goal.learners:
        tell = counting("bounds of loss: {} cells visited, {} open")
        limits = {"deadline": deadlines[1], "most_cells": goal.shared.most_cells}
        outcome = worst_cell(region, cuts.limit, progress=tell, **limits)
        if outcome.worst is not None and outcome.worst.loss > cuts.limit:
            statuses["half-spaces"] = EXCEEDED
            found = int(push(cuts, "half-spaces", outcome.worst.weights, chosen))
        elif outcome.is_proved:
            statuses["half-spaces"] = ENUMERATED
            if "planner" in goal.learners and _is_closed(cuts.problem, cuts.space, chosen):
                statuses["planner"] = ENUMERATED
    if not found and statuses.get("planner") == TESTED and cells and cells.finish(deadlines[0]):
        worst = cells.worst(cuts.pairs_of(chosen), cuts.limit)
        statuses["planner"] = EXCEEDED if worst.loss > cuts.limit else ENUMERATED
        found = int(worst.loss > cuts.limit and cuts.add_lost(worst))
    return found, outcome


def _is_stuck(cuts: Cuts, *, refuses: bool) -> bool:
    """Whether some witness fits every candidate; refused, where it holds in exact numbers.

    Where it does not hold, floats cannot tell it from weights that some candidate excludes.
    """
    open_ended = next((w for w in cuts.witnesses if not w.excluded_by), None)
    if open_ended is None:
        return False
    is_exact = cuts.problem.bec.rows.exact is not None
    holds = check_witness(cuts, open_ended) or not (is_exact or cuts.space.n_close)
    if holds and refuses:
        which, more = "demonstrations from these starts", "more starts"
        if cuts.problem.candidates.sampled:
            which, more = "demonstrations of those that were drawn", "more starts or rollouts"
        raise InvalidParameter(
            f"no {which} keep the loss at {cuts.bound:.4g}; a reward that fits all of them loses "
            f"{open_ended.loss:.4g}. Give {more}, or a larger loss"
        )
    cuts.witnesses.remove(open_ended)
    return True


def _most_covering(cuts: Cuts, learners: Sequence[str], rng: np.random.Generator) -> Chosen:
    """Where nothing cheaper is known to do: what covers most; a search says what planners lose.

    After a complete lesson half-space learners lose nothing, nor do planners where it is closed.
    All candidates, where planners lose too much after it and these are closed.
    """
    problem, statuses = cuts.problem, {}
    chosen, everything = greedy_picks(problem), tuple(range(len(problem.candidates)))
    # A known reward that fits these is no "found no larger loss": they must exclude it as well.
    missed = [w.excluded_by for w in cuts.witnesses if not w.excluded_by & set(chosen)]
    if missed and all(missed):
        more = greedy_cover(hits_of(missed), problem.costs, len(missed)).picks
        chosen = (*chosen, *more)
    chosen = tuple(sorted(chosen))
    is_complete = problem.covered_by(chosen) == problem.elements.everything
    is_complete &= not problem.bec.n_close_calls
    for learner in learners:
        if is_complete and (learner == "half-spaces" or _is_closed(problem, cuts.space, chosen)):
            statuses[learner] = ENUMERATED
        else:
            statuses[learner] = EXCEEDED if _loses_more(cuts, chosen, learner, rng) else TESTED
    is_worse = is_complete and statuses.get("planner") == EXCEEDED
    if is_worse and _is_closed(problem, cuts.space, everything):
        chosen, statuses["planner"] = everything, ENUMERATED
    outcome = VisitedCells(None, True, 0, 0) if is_complete else None
    return _result(cuts, chosen, statuses, outcome)


def _loses_more(cuts: Cuts, chosen: Sequence[int], learner: str, rng: np.random.Generator) -> bool:
    """Whether a search finds a reward that fits the chosen and loses too much.

    In exact numbers, where there are any: beside a discount of 1 - 1e-12 floats see losses that
    nobody has.
    """
    if learner == "planner":
        rounds = planner_rounds(cuts.space, cuts.pairs_of(chosen).ravel(), rng)
    else:
        rounds = boundary_rounds(region_of(cuts.space, cuts.rows_of(chosen)), rng)
    is_exact = cuts.problem.bec.rows.exact is not None
    for weights, lost in rounds:
        at = int(np.argmax(lost.losses))
        if lost.losses[at] > cuts.limit:
            found = (weights[at], float(lost.losses[at]), lost.optimal[at])
            if not is_exact or check_witness(cuts, cuts.witness_of(learner, *found, chosen)):
                return True
    return False


def _is_closed(problem: Problem, space: WeightSpace, chosen: Sequence[int]) -> bool:
    """Closed lessons have H(D) inside C(D)."""
    shown = [problem.candidates[number] for number in chosen]
    return all_closed(space.bec.members, shown)


def _hitting(cuts: Cuts, *, greedy: bool) -> tuple[int, ...]:
    """The cheapest candidates that hit all cuts, or the greedy ones."""
    problem, elements = cuts.problem, [sorted(w.excluded_by) for w in cuts.witnesses]
    if not elements:
        return ()
    if greedy:
        masks = hits_of([frozenset(cut) for cut in elements])
        return tuple(sorted(greedy_cover(masks, problem.costs, len(elements)).picks))
    chosen, cuts.lower = _cheapest(problem, elements, cuts.lower)
    return chosen


def _cheapest(
    problem: Problem,
    elements: Sequence[Sequence[int]],
    lower: int | Fraction = 0,
    start: Sequence[int] = (),
) -> tuple[tuple[int, ...], int | Fraction]:
    """The cheapest candidates with one of each element, and what they cost at least.

    lower: a bound known beforehand. start: candidates that may be the cheapest.
    """

    def find_gap(chosen: tuple[int, ...]) -> Sequence[int] | None:
        taken = set(chosen)
        return next((cut for cut in elements if not taken & set(cut)), None)

    known: dict[str, Any] = {"elements": elements, "lower": lower, "start": start}
    found = cheapest_cover(problem.stated, problem.costs, find_gap, **known)
    return found.chosen, found.lower_bound


def _result(
    cuts: Cuts, chosen: tuple[int, ...], statuses: Mapping[str, str], outcome: VisitedCells | None
) -> Chosen:
    """What is known, with a lower bound from the witnesses that hold in exact numbers."""
    held = tuple(
        witness
        for witness in cuts.witnesses
        if witness.excluded_by and check_witness(cuts, witness)
    )
    elements = [sorted(witness.excluded_by) for witness in held]
    all_held = len(held) == len(cuts.witnesses)
    begin = (cuts.lower, chosen) if all_held else ()
    lower = _cheapest(cuts.problem, elements, *begin)[1] if elements else 0
    worst = None
    if outcome is not None:
        worst = 0.0 if outcome.worst is None else outcome.worst.loss
    n_cells = 0 if outcome is None else outcome.n_cells
    spread = cuts.space.spread
    return chosen, Within(cuts.bound, spread, worst, statuses, lower, held, n_cells)


def _within_budget(
    cuts: Cuts, numbers: Sequence[int], within: Within, rng: np.random.Generator
) -> Chosen:
    """As many candidates as may be shown, those that leave least to lose, and what they promise."""
    problem, space = cuts.problem, cuts.space
    order = order_by_loss(problem.bec, [problem.candidates[number] for number in numbers], rng)
    kept = tuple(numbers[place] for place in order[: problem.budget])
    found = remaining_loss(problem.bec, [problem.candidates[n] for n in kept], space=space)
    statuses = {
        worst.learner: EXCEEDED if worst.loss > within.limit else worst.status
        for worst in found
        if worst.learner in within.statuses
    }
    most = max(worst.loss for worst in found if worst.learner in statuses)
    return kept, replace(within, statuses=statuses, worst=most, n_cells=0)


def planners_keep_to(
    within: Within, goal: Goal, bec: EquivalenceClass, demonstrations: Sequence[Demonstration]
) -> bool:
    """Whether no learner that plans and fits the demonstrations loses more.

    Looked up among all policy cells where they were enumerated, else as far as a search finds.
    """
    space, cells = weight_space(bec, shares=goal.is_share), goal.shared.cells
    shown = shown_pairs(bec.members, demonstrations)
    if cells is not None and cells.is_finished:
        return cells.worst(shown, within.limit).loss <= within.limit
    return all(
        largest(planner_rounds(space, shown.ravel(), stream(0, "trim", number)))[0] <= within.limit
        for number in range(SEARCHES)
    )


def once_closed(within: Within, *, closed: bool) -> Within:
    """The promise of a lesson that is closed: whoever plans then stays among the half-spaces."""
    statuses = dict(within.statuses)
    if closed and statuses.get("half-spaces") == ENUMERATED and statuses.get("planner") == TESTED:
        statuses["planner"] = ENUMERATED
    return replace(within, statuses=statuses)
