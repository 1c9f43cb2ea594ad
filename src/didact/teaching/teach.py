"""Teach a task: find the class, the candidates, let a teacher pick, and say what is known of it.

A teacher is a function of a `Problem` and a generator that returns candidate numbers in the order
to show them, or `Picks` with its own bounds. Whatever it returns is checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from didact.bec.classes import EquivalenceClass, equivalence_class
from didact.bec.rows import Scope, scope_states
from didact.errors import InvalidParameter
from didact.inputs import flag, instance, is_whole, plain, shown, whole_number
from didact.mdp import Demonstration, Task, as_task
from didact.planning.solve import Arithmetic
from didact.random import Seed, as_generator
from didact.registry import Registry
from didact.teaching.closure import close, is_closed
from didact.teaching.covers.aimed import with_aimed
from didact.teaching.covers.candidates import (
    Candidates,
    Indices,
    as_horizon,
    as_starts,
    candidate_demonstrations,
)
from didact.teaching.covers.costs import Cost, candidate_costs
from didact.teaching.covers.coverage import Coverage
from didact.teaching.covers.elements import cover_elements
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
    task: Task,
    *,
    teacher: str = "scot",
    horizon: int | None = None,
    cost: Cost = "demonstrations",
    scope: Scope = "reachable",
    arithmetic: Arithmetic = "auto",
    rollouts: int | None = None,
    starts: Iterable[int] | str | None = None,
    budget: int | None = None,
    closed: bool = False,
    seed: Seed = 0,
    known: EquivalenceClass | None = None,
    **options: Any,
) -> Lesson:
    """A lesson for the task: demonstrations that pin its behaviour down, or as much as can be.

    task: what is to be taught.
    teacher: who picks: 'scot', 'exact', 'scot-redundant', 'uvm', 'random', or one of your own.
    horizon: steps of a demonstration; by default to the end of the episode where the task has
        terminal states, else 1 / (1 - discount).
    cost: what is to be small: 'demonstrations', 'pairs', a function of a demonstration, or a table
        {start: cost}.
    scope: 'reachable', to teach what is best where the start can lead, or 'all' states.
    arithmetic: 'exact', with a proof; 'float'; or 'auto', exact while that is affordable.
    rollouts: sample so many trajectories from each start, instead of listing all there are.
    starts: the states where demonstrations may begin, or 'all' that count; by default those of the
        task.
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
    as_task(task)
    flag(closed, "closed")
    if known is not None:
        instance(known, EquivalenceClass, "known", "the result of equivalence_class")
    method = _teachers.find(teacher, options)
    most = None if budget is None else whole_number(budget, "budget", 1)
    steps = as_horizon(task.mdp, horizon)
    begin = None if starts == "all" else as_starts(task.mdp, starts)
    if known is None:
        known = equivalence_class(task, scope=scope, arithmetic=arithmetic)
    if begin is None:
        begin = np.flatnonzero(scope_states(task.mdp, known.scope))
    elif starts is not None:
        _require_in_scope(known, begin)
    elements = cover_elements(known, redundant=teacher == "scot-redundant")
    candidates = candidate_demonstrations(
        task.mdp, known.plan, starts=begin, horizon=steps, rollouts=rollouts, seed=seed
    )
    if candidates.sampled and rollouts is None:
        candidates = with_aimed(elements, candidates, begin)
    problem = Problem(elements, candidates, candidate_costs(candidates, cost), most, options)
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
        "starts": None if starts is None else begin.tolist(),
        "budget": most,
        "closed": closed,
        "seed": int(seed) if is_whole(seed) else None,
        **{name: plain(value) for name, value in options.items()},
    }
    extra = _closing(problem, picks, begin, steps) if closed else []
    return _lesson(
        problem, picks, extra, begin, settings, extra_cost=_cost_of(extra, cost, problem)
    )


def _require_in_scope(known: EquivalenceClass, starts: Any) -> None:
    outside = starts[~scope_states(known.task.mdp, known.scope)[starts]]
    if outside.size:
        reason = "cannot be reached from the task's own start. Use scope='all'"
        if known.scope == "all":
            reason = "never comes up, and no action matters there. Leave it out"
        raise InvalidParameter(
            f"starts must be in scope {known.scope!r}; state {outside[0]} {reason}"
        )


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


def _closing(problem: Problem, picks: Picks, starts: Indices, horizon: int) -> list[Demonstration]:
    """Demonstrations that extend the picks to closure, within the budget."""
    task, plan = problem.known.task, problem.known.plan
    picked = [problem.candidates[number] for number in picks.numbers]
    added = close(task.mdp, plan, picked, starts=starts, horizon=horizon)
    return added if problem.budget is None else added[: problem.budget - len(picked)]


def _cost_of(extra: Sequence[Demonstration], cost: Cost, problem: Problem) -> int | Fraction:
    """What demonstrations added for closure cost."""
    n_actions = problem.candidates.n_actions
    lines = [[s * n_actions + a for s, a in demonstration] for demonstration in extra]
    longest = max(map(len, lines), default=1)
    return sum(candidate_costs(Candidates.of(lines, n_actions, longest), cost), 0)


def _lesson(
    problem: Problem,
    picks: Picks,
    extra: Sequence[Demonstration],
    starts: Indices,
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
        task_name=known.task.name,
        status=_status(found.pins_down, known.n_close_calls),
        demonstrations=demonstrations,
        gains=coverage.gains,
        cost=sum((problem.costs[number] for number in picks.numbers), extra_cost),
        closed=is_closed(known.task.mdp, known.plan, demonstrations),
        n_facets=known.cone.n_facets,
        n_equalities=len(known.cone.equalities),
        uncovered=() if found.pins_down else gaps_of_lesson(problem, coverage.covered, starts),
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
