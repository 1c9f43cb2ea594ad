"""Teach a task: find the class, the candidates, let a teacher pick, and say what is known of it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, overload

import numpy as np

from didact.bec.families import FamilyClass, Known, equivalence_class, require_class
from didact.bec.observed import Observed
from didact.bec.rows import Scope
from didact.errors import InvalidParameter
from didact.inputs import flag, is_whole, plain, seconds, whole_number
from didact.mdp import Demonstration, Family, Task
from didact.mdp.files import write_number
from didact.numerics.exact import whole_if_whole
from didact.planning.solve import Arithmetic
from didact.random import Seed, as_generator
from didact.teaching.clips.lesson import ClipLesson, teach_observed
from didact.teaching.closure import close, is_closed
from didact.teaching.covers.charges import Charges
from didact.teaching.covers.costs import Cost, candidate_costs, member_costs, members_of
from didact.teaching.covers.coverage import Coverage
from didact.teaching.covers.elements import cover_elements
from didact.teaching.covers.offers import (
    Offer,
    Starts,
    all_starts,
    as_candidates,
    offered_candidates,
    offers_of,
    require_in_scope,
    starts_of,
)
from didact.teaching.covers.problem import Picks, Problem
from didact.teaching.evidence import Evidence
from didact.teaching.feedback.lesson import MixedLesson
from didact.teaching.feedback.mix import as_kinds, kind_costs, mixed_lesson
from didact.teaching.gaps import gaps_of_lesson
from didact.teaching.lesson import Lesson
from didact.teaching.loss.goal import Goal, as_goal, once_closed, teach_within
from didact.teaching.teachers import find_teacher, picked_by
from didact.teaching.within import Within
from didact.teaching.witness import judge, proof_of


@overload
def teach(task: Task | Family, *, feedback: None = None, **settings: Any) -> Lesson: ...


@overload
def teach(task: Task | Family, *, feedback: Sequence[str], **settings: Any) -> MixedLesson: ...


@overload
def teach(task: Observed, *, demonstrations: str = "clips") -> ClipLesson: ...


def teach(
    task: Task | Family | Observed,
    *,
    teacher: str = "scot",
    horizon: int | None = None,
    cost: Cost = "demonstrations",
    member_cost: Any = None,
    scope: Scope = "reachable",
    arithmetic: Arithmetic = "auto",
    rollouts: int | None = None,
    starts: Starts = None,
    budget: int | None = None,
    closed: bool = False,
    seed: Seed = 0,
    known: Known | None = None,
    feedback: Sequence[str] | None = None,
    loss: Any = None,
    learner: str = "both",
    loss_time: float | None = None,
    demonstrations: str | None = None,
    **options: Any,
) -> Lesson | MixedLesson | ClipLesson:
    """A lesson for the task: demonstrations that pin its behaviour down, or as much as can be.

    task: what is to be taught: a task; a family, whose demonstrations each know their member; or
        a policy seen in a simulator, from `observe`, which takes `demonstrations` alone.
    teacher: who picks: 'scot', 'exact', 'scot-redundant', 'uvm', 'random', or one of your own.
    horizon: steps of a demonstration; by default to the end of the episode where the task has
        terminal states, else 1 / (1 - discount).
    cost: what is to be small: 'demonstrations', 'pairs', a function of a demonstration, or a table
        {start: cost}, which a family does not take.
    member_cost: for a family, what walking over to a member costs, once however much is shown
        there: a table {member: cost}, or one cost for every member.
    scope: 'reachable', to teach what is best where the start can lead, or 'all' states.
    arithmetic: 'exact', with a proof; 'float'; or 'auto', exact while that is affordable.
    rollouts: sample so many trajectories from each start, instead of listing all there are.
    starts: the states where demonstrations may begin, or 'all' that count; by default those of the
        task. For a family {member: states}; members that are left out show nothing.
    budget: at most so many demonstrations.
    closed: extend the lesson so that learners who plan for themselves learn it too.
    seed: of sampling and of teachers that draw: None, a whole number, or a generator.
    known: the task's class, when it is at hand; it then decides scope and arithmetic.
    feedback: kinds of items that may be mixed: 'demonstrations', 'comparisons' of two actions and
        'preferences' between two trajectories; the cheapest mix, proved, as a MixedLesson. `cost`
        may then be a table {kind: cost}.
    loss: good enough: the cheapest lesson after which no learner loses more. A number of return, or
        a text such as '1%', of V* less V of the uniformly random policy. `scot` picks greedily.
    learner: whose loss: 'half-spaces', 'planner' (who makes demonstrations optimal under its own
        values), or 'both'.
    loss_time: seconds to look for a lesson that keeps to the loss, 60 by default; what is not
        visited then is only tested.
    demonstrations: of a policy in a simulator: 'clips', runs of steps without a mistake, which is
        the default, or 'rollouts', whole ones.
    options: of the teacher, as follows.

    Options of scot and scot-redundant: none.

    Options of exact, the proved smallest lesson:

    time_limit: seconds; after them the best lesson known, with a certified lower bound.

    Options of uvm, the older algorithm that counts random points:

    n_samples: how many points; 100000 by default.
    threshold: stop when the share of points that is left is not above it; 0 by default.
    region: where the points lie: 'box' (the default) or 'sphere'.

    Options of random, demonstrations by chance:

    n: how many are drawn, with replacement; 20 by default.
    """
    if isinstance(task, Observed):
        _require_for_clips(locals())
        return teach_observed(task, demonstrations=demonstrations or "clips")
    if demonstrations is not None:
        raise InvalidParameter("demonstrations is for policies in simulators; give `horizon` here")
    flag(closed, "closed")
    require_class(task, known)
    kinds = None if feedback is None else as_kinds(feedback)
    if kinds is not None:
        teacher = _require_mixable(task, teacher, {"closed": closed, "loss": loss is not None})
    prices = None if kinds is None else kind_costs(cost, kinds)
    find_teacher(teacher, options)
    goal = None if loss is None else as_goal(loss, learner, task, teacher, budget)
    limit = None if loss_time is None else seconds(loss_time, "loss_time")
    wish = _Wish(teacher, horizon, cost, rollouts, budget, closed, seed, options)
    begin, visits = starts_of(task, starts), _visits(task, member_cost)
    if known is None:
        known = equivalence_class(task, scope=scope, arithmetic=arithmetic)
    offers = offers_of(known, all_starts(known) if begin is None else begin, horizon)
    given = None if starts is None else require_in_scope(known, offers)
    problem = _problem(wish, known, offers, visits, "demonstrations" if kinds else cost)
    settings = _settings(wish, problem, given) | _of_family(task, visits)
    if kinds is not None and prices is not None:
        return mixed_lesson(problem, kinds, prices, {**settings, "feedback": list(kinds)})
    if goal is None:
        picks = picked_by(teacher, problem, as_generator(seed, teacher))
        return _lesson(wish, problem, picks, offers, settings)
    picks, within = _picks_within(problem, goal, limit, as_generator(seed, "loss"))
    settings |= {"loss": plain(loss), "learner": learner}
    lesson = _lesson(wish, problem, picks, offers, settings)
    return replace(lesson, within=once_closed(within, closed=lesson.closed))


def _require_for_clips(given: Mapping[str, Any]) -> None:
    """Refuse what a lesson of clips does not look at."""
    for name, parameter in inspect.signature(teach).parameters.items():
        own = parameter.default is parameter.empty or name == "demonstrations"
        if not own and given[name] is not parameter.default and given[name] != parameter.default:
            raise InvalidParameter(f"{name} is for tasks; a policy in a simulator is taught with "
                                   "demonstrations= alone")  # fmt: skip
    for name in given["options"]:
        raise InvalidParameter(f"there is no option {name!r} for a policy in a simulator; it is "
                               "taught with demonstrations= alone")  # fmt: skip


@dataclass(frozen=True)
class _Wish:
    """What `teach` was asked for besides the task; numbers are checked."""

    teacher: str
    horizon: int | None
    cost: Cost
    rollouts: int | None
    budget: int | None
    closed: bool
    seed: Seed
    options: Mapping[str, Any]

    def __post_init__(self) -> None:
        if self.budget is not None:
            whole_number(self.budget, "budget", 1)
        if self.horizon is not None:
            whole_number(self.horizon, "horizon", 1)


def _problem(
    wish: _Wish,
    known: Known,
    offers: Sequence[Offer],
    visits: Mapping[int, Fraction],
    cost: Cost,
) -> Problem:
    """The covering problem of a class, with what can be shown and what that costs."""
    elements = cover_elements(known, redundant=wish.teacher == "scot-redundant")
    candidates = offered_candidates(elements, offers, rollouts=wish.rollouts, seed=wish.seed)
    charges = Charges(members_of(candidates), visits) if visits else None
    costs = candidate_costs(candidates, cost)
    most = None if wish.budget is None else whole_number(wish.budget, "budget", 1)
    return Problem(elements, candidates, costs, most, wish.options, charges)


def _picks_within(
    problem: Problem, goal: Goal, limit: float | None, rng: np.random.Generator
) -> tuple[Picks, Within]:
    """What keeps to a bound on the loss, and what is promised of it."""
    numbers, within = teach_within(problem, goal, time_limit=limit, rng=rng)
    return Picks(numbers, lower_bound=within.lower_bound), within


def _require_mixable(task: Task | Family, teacher: str, asked: Mapping[str, bool]) -> str:
    """The teacher of a mix; refuses what only demonstrations have."""
    if isinstance(task, Family):
        raise InvalidParameter("feedback is for a task; teach a family by demonstrations")
    if teacher not in ("scot", "exact"):
        raise InvalidParameter(
            f"with feedback the cheapest mix is found exactly; leave teacher {teacher!r} out"
        )
    for name in (name for name, is_asked in asked.items() if is_asked):
        raise InvalidParameter(f"{name} is for demonstrations alone; leave it out, or feedback")
    return "exact"


def _visits(task: Task | Family, given: Any) -> dict[int, Fraction]:
    """What showing anything of a member costs, once."""
    if given is None:
        return {}
    if not isinstance(task, Family):
        raise InvalidParameter("member_cost is for families; leave it out for a task")
    return member_costs(task, given)


def _settings(wish: _Wish, problem: Problem, offers: Sequence[Offer] | None) -> dict[str, Any]:
    """What a lesson was asked for, as its file says it. offers: where starts were given."""
    known = problem.known
    return {
        "teacher": wish.teacher,
        "horizon": wish.horizon,
        "cost": wish.cost if isinstance(wish.cost, str) else "given",
        "scope": known.scope,
        "arithmetic": known.arithmetic,
        "rollouts": wish.rollouts,
        "starts": None if offers is None else _listed_starts(known, offers),
        "budget": problem.budget,
        "closed": wish.closed,
        "seed": int(wish.seed) if is_whole(wish.seed) else None,
        **{name: plain(value) for name, value in problem.options.items()},
    }


def _listed_starts(known: Known, offers: Sequence[Offer]) -> Any:
    """Starts as a file holds them: states, or for each member that shows anything its states."""
    if isinstance(known, FamilyClass):
        return [[offer.part.member, offer.starts.tolist()] for offer in offers]
    return offers[0].starts.tolist()


def _of_family(task: Task | Family, visits: Mapping[int, Fraction]) -> dict[str, Any]:
    """What the settings of a family's lesson say besides."""
    if not isinstance(task, Family):
        return {}
    charged = [[member, write_number(cost)] for member, cost in visits.items()]
    return {"members": list(task.names), "member_cost": charged or None}


def _closing(problem: Problem, picks: Picks, offers: Sequence[Offer]) -> list[Demonstration]:
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


def _lesson(
    wish: _Wish,
    problem: Problem,
    picks: Picks,
    offers: Sequence[Offer],
    settings: Mapping[str, Any],
) -> Lesson:
    """What is known of the picked candidates, and of what closure adds to them."""
    extra = _closing(problem, picks, offers) if wish.closed else []
    added = candidate_costs(as_candidates(problem.known, extra), wish.cost)
    known = problem.known
    problem = _of_facets(problem)
    demonstrations = (*(problem.candidates[number] for number in picks.numbers), *extra)
    coverage = _coverage(problem, picks, extra)
    found = judge(problem.elements, demonstrations, coverage.covered)
    is_greedy = settings["teacher"] == "scot" and not extra and "loss" not in settings
    return Lesson(
        task_name=known.name,
        status=_status(found.pins_down, known.n_close_calls),
        demonstrations=demonstrations,
        gains=coverage.gains,
        cost=_total_cost(problem, picks, extra) + sum(added, 0),
        closed=all(
            is_closed(part.task.mdp, part.plan, part.own(demonstrations)) for part in known.parts
        ),
        n_facets=known.cone.n_facets,
        n_equalities=len(known.cone.equalities),
        uncovered=() if found.pins_down else gaps_of_lesson(problem, coverage.covered, offers),
        witness=found.witness,
        loss=found.loss,
        proof=proof_of(found.proof, later=isinstance(known, FamilyClass)),
        settings=settings,
        volumes=picks.volumes,
        n_close_calls=known.n_close_calls,
        _evidence=Evidence(problem, coverage, picks.lower_bound, is_greedy),
    )


def _total_cost(problem: Problem, picks: Picks, extra: Sequence[Demonstration]) -> int | Fraction:
    """What picks cost, and the members that only closure visits; not its demonstrations."""
    charges, total = problem.charges, problem.cost_of(picks.numbers)
    if charges is None:
        return total
    visited = {charges.group_of[number] for number in picks.numbers}
    later = {demonstration.member for demonstration in extra} - visited
    return whole_if_whole(Fraction(total + sum(charges.prices.get(m or 0, 0) for m in later)))


def _status(pins_down: bool, n_close_calls: int) -> str:
    """'complete', 'partial', or 'undecided' where floats could not make some decisions."""
    if not pins_down:
        return "partial"
    return "undecided" if n_close_calls else "complete"


def _of_facets(problem: Problem) -> Problem:
    """The problem of covering facets and equalities, whatever the teacher covered."""
    elements = cover_elements(problem.known)
    if np.array_equal(elements.element_of_row, problem.element_of_row):
        return problem
    return replace(problem, elements=elements)


def _coverage(problem: Problem, picks: Picks, extra: Sequence[Demonstration]) -> Coverage:
    """What the picks cover one after the other, and then what closure added."""
    picked = [problem.masks.get(number, 0) for number in picks.numbers]
    added = [problem.stated_elements([demonstration]) for demonstration in extra]
    return Coverage.of(problem.elements, [*picked, *added])
