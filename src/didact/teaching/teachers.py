"""Teachers by name: SCOT, the exact minimum, UVM, the random baseline; the check of their picks.

A teacher is a function of a `Problem` and a generator that returns candidate numbers in the order
to show them, or `Picks` with its own bounds. Whatever it returns is checked here.

SCOT, Set Cover Optimal Teaching (Algorithm 1), is the greedy cover of the facets: each step takes
the candidate that covers most per cost; among equals the one that covers more, then the cheaper,
then the earlier one (lower start, then lower action or earlier sample). It stops when everything is
covered or nothing gains: what no candidate covers is left, not looped over. It costs at most H(d)
times the cheapest lesson over the same candidates, d the most facets that one of them covers.

The exact minimum is an implicit hitting set. A set of demonstrations is complete when it hits every
facet and its equality rows span all of them. While some reward fits the equality rows shown and
breaks another one, at least one demonstration with an equality row that contradicts this reward
must be added: such cuts, solved as a set cover, close in on the optimum from below, and the last
bound is the proof.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import numpy as np

from didact.bec.directions import TOLERANCE
from didact.bec.linear import Inside, decide, dot
from didact.bec.nnls import nearest_in_cone
from didact.errors import InvalidParameter
from didact.inputs import is_whole, seconds, shown, whole_number
from didact.numerics.exact import whole_if_whole
from didact.random import Seed, as_generator, require_seed
from didact.registry import Registry
from didact.teaching.covers.problem import Picks, Problem
from didact.teaching.covers.set_cover import Uncoverable, cheapest_cover, greedy_cover
from didact.teaching.uvm import minimise_uncertainty


def scot(problem: Problem, rng: np.random.Generator | None) -> Picks:
    """Greedy cover of the facets (Algorithm 1)."""
    return Picks(greedy_picks(problem, problem.budget))


def greedy_picks(problem: Problem, most: int | None = None) -> tuple[int, ...]:
    """The candidates of the greedy cover in the order picked, at most so many."""
    return greedy_cover(
        problem.masks,
        problem.costs,
        problem.elements.n_elements,
        closure=problem.elements.closure,
        most=most,
        fixed_costs=problem.fixed_costs,
    ).picks


def exact_minimum(
    problem: Problem, rng: np.random.Generator | None, time_limit: float | None = None
) -> Picks:
    """The cheapest complete lesson among the candidates; greedy order within it.

    What no candidate covers is left out of the demand. With a budget, or after the time limit, it
    is the best lesson known, with a certified lower bound.
    """
    if time_limit is not None:
        time_limit = seconds(time_limit, "time_limit")
    masks, n = problem.masks, len(problem.candidates)
    offered = problem.covered_by(masks)
    try:
        found = cheapest_cover(
            [range(masks.get(number, 0).bit_count()) for number in range(n)],
            problem.costs,
            partial(_find_gap, problem, offered),
            elements=[
                _who_covers(problem, 1 << facet)
                for facet in range(problem.bec.cone.n_facets)
                if offered >> facet & 1
            ],
            time_limit=time_limit,
            start=greedy_picks(problem),
            fixed_costs=problem.fixed_costs,
        )
    except Uncoverable:
        return Picks(greedy_picks(problem, problem.budget))
    chosen = in_greedy_order(problem, found.chosen)
    bound = (
        whole_if_whole(Fraction(found.lower_bound))
        if offered == problem.elements.everything
        else None
    )
    return Picks(_within_budget(problem, chosen), lower_bound=bound)


def chosen_picks(problem: Problem, chosen: Sequence[int], certificate: Any) -> Picks:
    """The chosen candidates in greedy order, within the budget, and the certificate."""
    picks = _within_budget(problem, in_greedy_order(problem, chosen))
    return Picks(picks, lower_bound=certificate.bound, certificate=certificate)


def _within_budget(problem: Problem, chosen: tuple[int, ...]) -> tuple[int, ...]:
    """The chosen where they fit; else their best part or the greedy picks, what covers more."""
    if problem.budget is None or len(chosen) <= problem.budget:
        return chosen
    either = (chosen[: problem.budget], greedy_picks(problem, problem.budget))
    return max(either, key=lambda picks: problem.covered_by(picks).bit_count())


def _who_covers(problem: Problem, elements: int) -> set[int]:
    """The candidates that state one of the elements."""
    return {number for number, mask in problem.masks.items() if mask & elements}


def _find_gap(problem: Problem, offered: int, chosen: Sequence[int]) -> set[int] | None:
    """Candidates of which one must be added: those that state a facet which is not hit yet, or
    those that contradict a reward which fits the chosen equality rows and breaks an open one."""
    left = offered & ~problem.covered_by(chosen)
    if not left:
        return None
    element = (left & -left).bit_length() - 1
    if element < problem.bec.cone.n_facets:
        return _who_covers(problem, 1 << element)
    return _who_covers(problem, _contradicting(problem, chosen, element))


def _contradicting(problem: Problem, chosen: Sequence[int], element: int) -> int:
    """Equality rows, as bits, that are negative at weights which satisfy the chosen ones and
    break the row of the element, which does not follow from them."""
    stated = problem.stated_by(chosen)
    row_of = {int(problem.elements.element_of_row[row]): row for row in problem.bec.cone.equalities}
    rows, given = problem.bec.rows, [row for bit, row in row_of.items() if stated >> bit & 1]
    if rows.exact is not None:
        verdict = decide([rows.exact[row] for row in given], rows.exact[row_of[element]])
        assert not isinstance(verdict, Inside)
        exact, witness = rows.exact, verdict.witness
        return sum(1 << bit for bit, row in row_of.items() if dot(exact[row], witness) < 0)
    away = -nearest_in_cone(rows.balanced[given], rows.balanced[row_of[element]]).residual
    slacks = rows.balanced @ (away / float(np.linalg.norm(away)))
    slacks[given] = 0.0  # of the chosen none is negative; rounding may say so
    return sum(1 << bit for bit, row in row_of.items() if slacks[row] < -TOLERANCE)


def in_greedy_order(problem: Problem, chosen: Sequence[int]) -> tuple[int, ...]:
    """The chosen candidates, those that cover most first; what adds nothing comes last."""
    masks = {number: problem.masks.get(number, 0) for number in sorted(chosen)}
    prices = dict.fromkeys(masks, 1)
    found = greedy_cover(
        masks, prices, problem.elements.n_elements, closure=problem.elements.closure
    ).picks
    return (*found, *(number for number in masks if number not in found))


def random_demonstrations(problem: Problem, rng: np.random.Generator, n: int = 20) -> list[int]:
    """Draw n candidates with replacement, as the paper does; each drawn one is shown once."""
    drawn = rng.integers(len(problem.candidates), size=whole_number(n, "n", 1)).tolist()
    distinct = list(dict.fromkeys(drawn))
    return distinct if problem.budget is None else distinct[: problem.budget]


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

COVERING = ("scot", "scot-redundant", "exact")
"""Teachers that cover whatever can be covered. They draw nothing, so that no generator is made for
them, and their demonstrations are trimmed."""

SHARED = (
    *("horizon", "starts", "cost", "member_cost", "scope", "arithmetic", "budget", "closed"),
    *("seed", "rollouts", "min_probability", "deterministic", "preset", "trim", "order"),
)
"""Options of `teach` itself, for hints where a name is misspelt."""

_teachers: Registry[Teacher] = Registry("teacher", ENTRY_POINTS, BUILT_IN, shared=SHARED)


def teacher_name(name: str) -> str:
    """The name of a teacher as it is registered: 'SCOT' is 'scot'."""
    return _teachers.name_of(name)


def register_teacher(name: str) -> Callable[[Function], Function]:
    """Make the decorated function the teacher `name`; it stays an ordinary function.

    name: by which `teach` and the command line know it. The function takes a problem and a
        generator and returns candidate numbers; its further parameters become options of `teach`.
    """
    return _teachers.decorator(name)


def teachers() -> Mapping[str, Teacher]:
    """Every teacher by name: the built-in, the registered, the installed (entry points)."""
    return _teachers.everything()


def find_teacher(name: str, options: Mapping[str, Any]) -> Teacher:
    """The teacher of that name, who takes these options."""
    return _teachers.find(name, options)


def picked_by(teacher: str, problem: Problem, seed: Seed) -> Picks:
    """What the teacher of that name picks, checked; seed: of those that draw."""
    is_sure = teacher in COVERING
    if is_sure and seed is not None and not isinstance(seed, np.random.Generator):
        require_seed(seed)
    rng = None if is_sure else as_generator(seed, teacher)
    method = find_teacher(teacher, problem.options)
    with _teachers.running(teacher):
        returned = method(problem, rng, **problem.options)
    return _as_picks(returned, problem, teacher)


def _as_picks(returned: Any, problem: Problem, teacher: str) -> Picks:
    """What a teacher returned, checked: numbers of candidates, each once, within the budget."""
    numbers = returned.numbers if isinstance(returned, Picks) else returned
    if not isinstance(numbers, Sequence) or isinstance(numbers, str):
        raise InvalidParameter(
            f"teacher {teacher!r} must return candidate numbers; it returned {shown(returned)}"
        )
    n_candidates = len(problem.candidates)
    for i, number in enumerate(numbers):
        if not is_whole(number) or not 0 <= number < n_candidates:
            raise InvalidParameter(
                f"teacher {teacher!r} must return candidate numbers from 0 to "
                f"{n_candidates - 1}; pick {i} is {shown(number)}"
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
