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
from didact.bec.proofs import prove
from didact.bec.rows import Scope, scope_states
from didact.errors import InvalidParameter
from didact.inputs import is_whole, plain, shown, whole_number
from didact.mdp import Demonstration, Task
from didact.numerics.exact import whole_if_whole
from didact.planning import evaluate
from didact.planning.solve import Arithmetic
from didact.random import Seed, as_generator
from didact.registry import Registry
from didact.teaching.closure import close, is_closed
from didact.teaching.covers.candidates import (
    Candidates,
    aimed_demonstrations,
    as_horizon,
    as_starts,
    candidate_demonstrations,
)
from didact.teaching.covers.costs import Cost, candidate_costs
from didact.teaching.covers.greedy import harmonic
from didact.teaching.covers.problem import Picks, Problem, cover_elements
from didact.teaching.covers.relaxation import lp_bound
from didact.teaching.lesson import Lesson, Missing
from didact.teaching.methods.exact import exact_minimum
from didact.teaching.methods.sampled import random_demonstrations
from didact.teaching.methods.scot import scot
from didact.teaching.methods.uvm import minimise_uncertainty
from didact.teaching.witness import row_in_words, witness_of

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
    starts: Iterable[int] | None = None,
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
    starts: the states where demonstrations may begin; by default those of the task.
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
    method = _teachers.find(teacher, options)
    most = None if budget is None else whole_number(budget, "budget", 1)
    steps, begin = as_horizon(task.mdp, horizon), as_starts(task.mdp, starts)
    if known is None:
        known = equivalence_class(task, scope=scope, arithmetic=arithmetic)
    if starts is not None:
        _require_in_scope(known, begin)
    candidates = candidate_demonstrations(
        task.mdp, known.plan, starts=begin, horizon=steps, rollouts=rollouts, seed=seed
    )
    elements = cover_elements(known, redundant=teacher == "scot-redundant")
    if candidates.sampled and rollouts is None:
        candidates = _with_aimed(known, candidates, elements, begin)
    costs = candidate_costs(candidates, cost)
    problem = Problem(known, candidates, *elements, costs, most, options)
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
    added: list[Demonstration] = []
    shown_first = [problem.candidates[number] for number in picks.numbers]
    if closed:
        added = close(task.mdp, known.plan, shown_first, starts=begin, horizon=steps)
        added = added if most is None else added[: most - len(shown_first)]
    return _lesson(problem, picks, [*shown_first, *added], begin, settings, cost)


def _require_in_scope(known: EquivalenceClass, starts: Any) -> None:
    outside = starts[~scope_states(known.task.mdp, known.scope)[starts]]
    if outside.size:
        raise InvalidParameter(
            f"starts must be in scope {known.scope!r}; state {outside[0]} cannot be reached from "
            "the task's own start. Use scope='all'"
        )


def _with_aimed(
    known: EquivalenceClass, candidates: Candidates, elements: tuple[Any, int], starts: Any
) -> Candidates:
    """The candidates and trajectories aimed at what could be shown and no sample shows."""
    problem = Problem(known, candidates, *elements, ())
    targets = _pairs_for(problem, problem.everything & ~problem.stated_by(problem.masks))
    if not targets:
        return candidates
    aimed, _ = aimed_demonstrations(
        known.task.mdp, known.plan, targets, starts=starts, horizon=candidates.horizon
    )
    return candidates.joined(aimed) if len(aimed) else candidates


def _pairs_for(problem: Problem, elements: int) -> list[int]:
    """All pairs that state one of the elements, as s*A + a, ascending."""
    stating, element = problem.stating_pairs
    wanted = [i for i in range(problem.n_elements) if elements >> i & 1]
    pairs: list[int] = np.unique(stating[np.isin(element, wanted)]).tolist()
    return pairs


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


def _gains(problem: Problem, stated: Iterable[int]) -> tuple[tuple[int, ...], int]:
    """How many elements each demonstration newly covers, and what all of them cover."""
    covered, gains = 0, []
    for elements in stated:
        after = problem.closure(covered | elements)
        gains.append((after & ~covered).bit_count())
        covered = after
    return tuple(gains), covered


def _lesson(
    problem: Problem,
    picks: Picks,
    demonstrations: list[Demonstration],
    starts: Any,
    settings: Mapping[str, Any],
    cost: Cost,
) -> Lesson:
    known, task = problem.known, problem.known.task
    problem = _plain(problem)
    extra = demonstrations[len(picks.numbers) :]
    stated = [problem.masks.get(number, 0) for number in picks.numbers]
    gains, covered = _gains(problem, [*stated, *(problem.stated_elements([d]) for d in extra)])
    proof = prove(known, demonstrations) if known.rows.exact is not None else None
    complete = covered == problem.everything if proof is None else proof.teaches
    witness = None if complete else witness_of(problem, demonstrations, covered, proof)
    loss = None if witness is None else evaluate(task, list(witness), plan=known.plan)
    is_greedy = settings["teacher"] == "scot" and not extra
    total = sum((problem.costs[n] for n in picks.numbers), 0) + _cost_of(extra, cost, problem)
    return Lesson(
        task_name=task.name,
        status="partial" if not complete else "undecided" if known.n_close_calls else "complete",
        demonstrations=tuple(demonstrations),
        gains=gains,
        cost=total,
        closed=is_closed(task.mdp, known.plan, demonstrations),
        n_facets=known.cone.n_facets,
        n_equalities=len(known.cone.equalities),
        uncovered=_uncovered(problem, covered, starts) if not complete else (),
        witness=witness,
        loss=None if loss is None else loss.worst_policy_loss,
        proof=None if proof is None else proof.document,
        settings=settings,
        volumes=picks.volumes,
        n_close_calls=known.n_close_calls,
        _later={
            "known": known,
            "lower_bound": lambda: _lower_bound(problem, picks),
            "guarantee": lambda: _guarantee(problem) if is_greedy else None,
            "facets": lambda: _facets(problem, demonstrations),
        },
    )


def _plain(problem: Problem) -> Problem:
    """The problem of covering facets and equalities, whatever the teacher covered."""
    element, n_elements = cover_elements(problem.known)
    if np.array_equal(element, problem.element_of_row):
        return problem
    rest = (problem.costs, problem.budget, problem.options)
    return Problem(problem.known, problem.candidates, element, n_elements, *rest)


def _cost_of(extra: Sequence[Demonstration], cost: Cost, problem: Problem) -> int | Fraction:
    """What demonstrations added for closure cost."""
    if not extra:
        return 0
    n_actions = problem.candidates.n_actions
    width = max(len(d) for d in extra)
    pairs = np.full((len(extra), width), -1, dtype=np.int64)
    for i, demonstration in enumerate(extra):
        pairs[i, : len(demonstration)] = [s * n_actions + a for s, a in demonstration]
    return sum(candidate_costs(Candidates(pairs, n_actions, width, False), cost), 0)


def _uncovered(problem: Problem, covered: int, starts: Any) -> tuple[Missing, ...]:
    """What stays open, and why: left out, not sampled, or not reachable."""
    known = problem.known
    mdp = known.task.mdp
    open_elements = problem.everything & ~covered
    offered = problem.covered_by(problem.masks)
    targets = _pairs_for(problem, open_elements)
    _, unreachable = aimed_demonstrations(
        mdp, known.plan, targets, starts=starts, horizon=problem.candidates.horizon
    )
    beyond = set(unreachable)
    missing = []
    for number in range(problem.n_elements):
        if not open_elements >> number & 1:
            continue
        row = int(np.argmax(problem.element_of_row == number))
        pairs = set(_pairs_for(problem, 1 << number))
        if offered >> number & 1:
            reason = "left out" if problem.budget is None else "budget"
        else:
            reason = "not reachable" if pairs <= beyond else "not sampled"
        missing.append(Missing(*known.rows.statement_of(row), reason, row_in_words(known, row)))
    return tuple(missing)


def _lower_bound(problem: Problem, picks: Picks) -> int | Fraction | None:
    """The teacher's own bound, else that of the linear relaxation over the facets."""
    if picks.lower_bound is not None:
        return picks.lower_bound
    n_facets = problem.known.cone.n_facets
    elements = [
        [number for number, mask in problem.masks.items() if mask >> facet & 1]
        for facet in range(n_facets)
    ]
    if not all(elements):
        return None
    return whole_if_whole(lp_bound(elements, problem.costs))


def _guarantee(problem: Problem) -> Fraction | None:
    """H(d), d the most facets that one candidate covers; it holds without equalities."""
    if problem.known.cone.equalities or not problem.masks:
        return None
    return harmonic(max(mask.bit_count() for mask in problem.masks.values()))


def _facets(
    problem: Problem, demonstrations: Sequence[Demonstration]
) -> tuple[Mapping[str, Any], ...]:
    """Every facet and equality, with the first demonstration that covers it."""
    known = problem.known
    first: dict[int, int] = {}
    covered = 0
    for number, demonstration in enumerate(demonstrations):
        covered = problem.closure(covered | problem.stated_elements([demonstration]))
        for bit in range(problem.n_elements):
            if covered >> bit & 1:
                first.setdefault(bit, number)
    described = []
    for bit in range(problem.n_elements):
        row = int(np.argmax(problem.element_of_row == bit))
        exact = known.rows.exact
        normal = known.rows.normals[row].tolist() if exact is None else list(map(str, exact[row]))
        described.append(
            {
                "normal": normal,
                "equality": row in known.cone.equalities,
                "statement": list(known.rows.statement_of(row)),
                "words": row_in_words(known, row),
                "covered_by": first.get(bit),
            }
        )
    return tuple(described)
