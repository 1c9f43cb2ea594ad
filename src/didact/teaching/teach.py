"""Teach a task: find the class, the candidates, let a teacher pick, and say what is known of it.

A teacher is a function of a `Problem` and a generator that returns candidate numbers in the order
to show them, or `Picks` with its own bounds. Whatever it returns is checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from didact.bec.classes import EquivalenceClass
from didact.bec.families import FamilyClass, Known, equivalence_class
from didact.bec.rows import Scope
from didact.errors import InvalidParameter
from didact.inputs import flag, instance, is_whole, plain, shown, whole_number
from didact.mdp import Demonstration, Family, Task, as_task
from didact.mdp.files import write_number
from didact.planning.solve import Arithmetic
from didact.random import Seed, as_generator
from didact.registry import Registry
from didact.teaching.closure import close, is_closed
from didact.teaching.covers.candidates import Indices
from didact.teaching.covers.costs import Cost, candidate_costs, member_costs
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
from didact.teaching.gaps import gaps_of_lesson
from didact.teaching.lesson import Lesson
from didact.teaching.methods.exact import exact_minimum
from didact.teaching.methods.sampled import random_demonstrations
from didact.teaching.methods.scot import scot
from didact.teaching.methods.uvm import minimise_uncertainty
from didact.teaching.witness import judge

Teacher = Callable[..., Any]
Function = TypeVar("Function", bound=Teacher)

ENTRY_POINTS = "didact.teachers"
BUILT_IN: dict[str, Teacher] = {
    "scot": scot,
    "scot-redundant": scot,
    "exact": exact_minimum,
    "uvm": minimise_uncertainty,
    "random": random_demonstrations,
}

_teachers: Registry[Teacher] = Registry("teacher", ENTRY_POINTS, BUILT_IN)


def register_teacher(name: str) -> Callable[[Function], Function]:
    """Make the decorated function the teacher `name`; it stays an ordinary function.

    name: by which `teach` and the command line know it. The function takes a problem and a
        generator and returns candidate numbers; its further parameters become options of `teach`.
    """
    return _teachers.decorator(name)


def teachers() -> Mapping[str, Teacher]:
    """Every teacher by name: the built-in, the registered, the installed (entry points)."""
    return _teachers.everything()


def teach(
    task: Task | Family,
    *,
    teacher: str = "scot",
    horizon: int | None = None,
    cost: Cost = "demonstrations",
    member_cost: Mapping[Any, Any] | None = None,
    scope: Scope = "reachable",
    arithmetic: Arithmetic = "auto",
    rollouts: int | None = None,
    starts: Starts = None,
    budget: int | None = None,
    closed: bool = False,
    seed: Seed = 0,
    known: Known | None = None,
    **options: Any,
) -> Lesson:
    """A lesson for the task: demonstrations that pin its behaviour down, or as much as can be.

    task: what is to be taught: a task, or a family, whose demonstrations each know their member.
    teacher: who picks: 'scot', 'exact', 'scot-redundant', 'uvm', 'random', or one of your own.
    horizon: steps of a demonstration; by default to the end of the episode where the task has
        terminal states, else 1 / (1 - discount).
    cost: what is to be small: 'demonstrations', 'pairs', a function of a demonstration, or a table
        {start: cost}, which a family does not take.
    member_cost: for a family, what a demonstration of a member costs besides: {member: cost}.
    scope: 'reachable', to teach what is best where the start can lead, or 'all' states.
    arithmetic: 'exact', with a proof; 'float'; or 'auto', exact while that is affordable.
    rollouts: sample so many trajectories from each start, instead of listing all there are.
    starts: the states where demonstrations may begin, or 'all' that count; by default those of the
        task. For a family {member: states}; members that are left out show nothing.
    budget: at most so many demonstrations.
    closed: extend the lesson so that learners who plan for themselves learn it too.
    seed: of sampling and of teachers that draw: None, a whole number, or a generator.
    known: the task's class, when it is at hand; it then decides scope and arithmetic.
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
    family = task if isinstance(task, Family) else None
    flag(closed, "closed")
    _require_class(task, known)
    method = _teachers.find(teacher, options)
    most = None if budget is None else whole_number(budget, "budget", 1)
    if horizon is not None:
        whole_number(horizon, "horizon", 1)
    begin, surcharges = starts_of(task, starts), _surcharges(family, member_cost)
    if known is None:
        known = equivalence_class(task, scope=scope, arithmetic=arithmetic)
    begin = all_starts(known) if begin is None else begin
    offers = offers_of(known, begin, horizon)
    if starts is not None:
        require_in_scope(known, offers)
    elements = cover_elements(known, redundant=teacher == "scot-redundant")
    candidates = offered_candidates(elements, offers, rollouts=rollouts, seed=seed)
    costs = candidate_costs(candidates, cost, surcharges)
    problem = Problem(elements, candidates, costs, most, options)
    with _teachers.running(teacher):
        returned = method(problem, as_generator(seed, teacher), **options)
    picks = _as_picks(returned, problem, teacher)
    settings = {
        "teacher": teacher,
        "horizon": horizon,
        "cost": cost if isinstance(cost, str) else "given",
        "scope": known.scope,
        "arithmetic": known.arithmetic,
        "rollouts": rollouts,
        "starts": None if starts is None else _listed_starts(family, begin),
        "budget": most,
        "closed": closed,
        "seed": int(seed) if is_whole(seed) else None,
        **{name: plain(value) for name, value in options.items()},
        **({} if family is None else _of_family(family, surcharges)),
    }
    extra = _closing(problem, picks, offers) if closed else []
    added = candidate_costs(as_candidates(known, extra), cost, surcharges)
    return _lesson(problem, picks, extra, offers, settings, extra_cost=sum(added, 0))


def _require_class(task: Task | Family, known: Any) -> None:
    """The task or family, and its class where that is given."""
    if not isinstance(task, Family):
        as_task(task)
    if known is not None:
        kind = FamilyClass if isinstance(task, Family) else EquivalenceClass
        instance(known, kind, "known", "the result of equivalence_class")


def _surcharges(family: Family | None, given: Any) -> dict[int, Fraction]:
    """What demonstrations of members cost besides."""
    if given is None:
        return {}
    if family is None:
        raise InvalidParameter("member_cost is for families; leave it out for a task")
    return member_costs(family, given)


def _listed_starts(family: Family | None, begin: Mapping[int, Indices]) -> Any:
    """Starts as a file holds them: states, or for each member that shows anything its states."""
    if family is None:
        return begin[0].tolist()
    return [[member, states.tolist()] for member, states in begin.items()]


def _of_family(family: Family, surcharges: Mapping[int, Fraction]) -> dict[str, Any]:
    """What the settings of a family's lesson say besides."""
    charged = [[member, write_number(cost)] for member, cost in surcharges.items()]
    return {"members": list(family.names), "member_cost": charged or None}


def _as_picks(returned: Any, problem: Problem, teacher: str) -> Picks:
    """What a teacher returned, checked: numbers of candidates, each once, within the budget."""
    numbers = returned.numbers if isinstance(returned, Picks) else returned
    if not isinstance(numbers, Sequence) or isinstance(numbers, str):
        raise InvalidParameter(
            f"teacher {teacher!r} must return candidate numbers; it returned {shown(returned)}"
        )
    for i, number in enumerate(numbers):
        if not is_whole(number) or not 0 <= number < len(problem.candidates):
            raise InvalidParameter(
                f"teacher {teacher!r} must return candidate numbers from 0 to "
                f"{len(problem.candidates) - 1}; pick {i} is {shown(number)}"
            )
    if len(set(numbers)) != len(numbers):
        raise InvalidParameter(f"teacher {teacher!r} must pick each candidate once; it did not")
    if problem.budget is not None and len(numbers) > problem.budget:
        raise InvalidParameter(
            f"teacher {teacher!r} must keep to the budget of {problem.budget}; "
            f"it picked {len(numbers)}"
        )
    extra = returned if isinstance(returned, Picks) else Picks(())
    return replace(extra, numbers=tuple(int(n) for n in numbers), gains=())


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
    problem: Problem,
    picks: Picks,
    extra: Sequence[Demonstration],
    offers: Sequence[Offer],
    settings: Mapping[str, Any],
    *,
    extra_cost: int | Fraction,
) -> Lesson:
    """What is known of the picked candidates and of what closure added."""
    known = problem.known
    problem = _of_facets(problem)
    demonstrations = (*(problem.candidates[number] for number in picks.numbers), *extra)
    coverage = _coverage(problem, picks, extra)
    found = judge(problem.elements, demonstrations, coverage.covered)
    is_greedy = settings["teacher"] == "scot" and not extra
    return Lesson(
        task_name=known.name,
        status=_status(found.pins_down, known.n_close_calls),
        demonstrations=demonstrations,
        gains=coverage.gains,
        cost=sum((problem.costs[number] for number in picks.numbers), extra_cost),
        closed=all(
            is_closed(part.task.mdp, part.plan, part.own(demonstrations)) for part in known.parts
        ),
        n_facets=known.cone.n_facets,
        n_equalities=len(known.cone.equalities),
        uncovered=() if found.pins_down else gaps_of_lesson(problem, coverage.covered, offers),
        witness=found.witness,
        loss=found.loss,
        proof=None if found.proof is None else found.proof.document,
        settings=settings,
        volumes=picks.volumes,
        n_close_calls=known.n_close_calls,
        _evidence=Evidence(problem, coverage, picks.lower_bound, is_greedy),
    )


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
