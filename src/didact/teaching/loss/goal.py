"""What may be lost, as people say it, and the lesson that keeps to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from didact.bec.classes import Known, shown_pairs
from didact.errors import InvalidParameter
from didact.inputs import choice, shown
from didact.mdp import Demonstration
from didact.numerics.exact import read_number
from didact.random import stream
from didact.teaching.covers.problem import Problem
from didact.teaching.loss.chart import Chart, chart_in_sight
from didact.teaching.loss.cuts import Plans
from didact.teaching.loss.fan import Fan, fan_of
from didact.teaching.loss.lessons import LEARNERS, good_enough
from didact.teaching.loss.ordering import order_by_loss
from didact.teaching.loss.remaining import remaining_loss
from didact.teaching.loss.search import largest, planner_rounds
from didact.teaching.within import ENUMERATED, EXCEEDED, TESTED, Within, Witness

SEARCHES = 3
"""Of planners that lose too much after demonstrations were cut."""
TIME_LIMIT = 60.0
"""Seconds for one lesson, where none are given."""


@dataclass
class Pool:
    """What other bounds on the loss met, of the same candidates.

    witnesses: rewards that lose more than some of them. plans: those checked in exact numbers.
    most_cells: how many classes of policies are visited at most for one lesson. chart: of all
    classes, where that is affordable and learners that plan are guarded. refuses: whether a bound
    that no candidates keep to is refused, or its lesson is 'exceeded'.
    """

    witnesses: tuple[Witness, ...] = ()
    plans: Plans = field(default_factory=dict)
    most_cells: float = math.inf
    chart: Chart | None = None
    refuses: bool = True


class Goal(NamedTuple):
    """A loss, of return or as a share of the spread, and the learners that must keep to it.

    given: the loss as people say it. greedy: whether candidates are picked greedily instead of the
    cheapest. pool: what other bounds met.
    """

    given: Any

    amount: float
    is_share: bool
    learners: tuple[str, ...]
    greedy: bool
    pool: Pool

    @property
    def learner(self) -> str:
        """Whose loss: 'half-spaces', 'planner' or 'both'."""
        return "both" if self.learners == LEARNERS else self.learners[0]


def as_goal(loss: Any, learner: str, teacher: str, pool: Pool | None = None) -> Goal:
    """The goal that was asked for, checked; pool: what other bounds of the same candidates met."""
    if teacher not in ("scot", "exact"):
        raise InvalidParameter(f"loss needs the teacher 'scot' or 'exact'; it is {shown(teacher)}")
    chosen = choice(learner, "learner", ("both", *LEARNERS))
    learners = LEARNERS if chosen == "both" else (chosen,)
    amount, is_share = read_loss(loss)
    return Goal(loss, amount, is_share, learners, teacher == "scot", pool or Pool())


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
) -> tuple[tuple[int, ...], Within]:
    """The candidates of the cheapest lesson that keeps to the goal, and what it promises."""
    fan = fan_of(problem.known, shares=goal.is_share)
    if "planner" in goal.learners and goal.pool.chart is None:
        goal.pool.chart = chart_in_sight(fan)
    found = good_enough(
        problem,
        fan,
        goal.amount * (fan.spread if goal.is_share else 1.0),
        learners=goal.learners,
        greedy=goal.greedy,
        time_limit=TIME_LIMIT if time_limit is None else time_limit,
        most_cells=goal.pool.most_cells,
        witnesses=goal.pool.witnesses,
        plans=goal.pool.plans,
        chart=goal.pool.chart,
        refuses=goal.pool.refuses,
        rng=rng,
    )
    within = Within(
        found.bound,
        fan.spread,
        found.worst,
        found.statuses,
        found.lower_bound,
        found.witnesses,
        found.n_cells,
    )
    if problem.budget is None or len(found.numbers) <= problem.budget:
        return found.numbers, within
    return _within_budget(problem, fan, found.numbers, within, rng)


def _within_budget(
    problem: Problem,
    fan: Fan,
    numbers: Sequence[int],
    within: Within,
    rng: np.random.Generator,
) -> tuple[tuple[int, ...], Within]:
    """As many candidates as may be shown, those that leave least to lose, and what they promise."""
    order = order_by_loss(problem.known, [problem.candidates[number] for number in numbers], rng)
    kept = tuple(numbers[place] for place in order[: problem.budget])
    found = remaining_loss(problem.known, [problem.candidates[n] for n in kept], fan=fan)
    statuses = {
        worst.learner: EXCEEDED if worst.loss > within.limit else worst.status
        for worst in found
        if worst.learner in within.statuses
    }
    most = max(worst.loss for worst in found if worst.learner in statuses)
    return kept, replace(within, statuses=statuses, worst=most, n_cells=0)


def planners_keep_to(
    within: Within, goal: Goal, known: Known, demonstrations: Sequence[Demonstration]
) -> bool:
    """Whether no learner that plans and fits the demonstrations loses more.

    Looked up in a chart that is finished, else as far as a search finds.
    """
    fan, chart = fan_of(known, shares=goal.is_share), goal.pool.chart
    shown = shown_pairs(known.parts, demonstrations)
    if chart is not None and chart.is_finished:
        return chart.worst(shown, within.limit).loss <= within.limit
    return all(
        largest(planner_rounds(fan, shown.ravel(), stream(0, "trim", number)))[0] <= within.limit
        for number in range(SEARCHES)
    )


def once_closed(within: Within, *, closed: bool) -> Within:
    """The promise of a lesson that is closed: whoever plans then stays among the half-spaces."""
    statuses = dict(within.statuses)
    if closed and statuses.get("half-spaces") == ENUMERATED and statuses.get("planner") == TESTED:
        statuses["planner"] = ENUMERATED
    return replace(within, statuses=statuses)
