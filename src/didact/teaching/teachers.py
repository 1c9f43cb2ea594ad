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

UVM, Uncertainty Volume Minimization (Algorithm 3; Cakmak and Lopes 2012): the older teacher.

G(D) is the share of n random weights, uniform in the box [-1, 1]^k or on the sphere, that satisfy
every half-space stated by the picked candidates D: an estimate of the volume of the class of D.
Each step picks the candidate that leaves the smallest G, and it stops when none lowers G.

A point w satisfies a row r when r.w >= 0, with the products added from the first coordinate to the
last in double precision, so that a row and its negative split the points exactly: picks that state
both leave nothing, and G = 0 says that all is known although a whole hyperplane of weights remains.
That false certainty is the algorithm's, and it is kept; whether the lesson is complete is decided
by the proof, not by the volume.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from didact.bec.directions import TOLERANCE
from didact.bec.linear import Inside, decide, dot
from didact.bec.nnls import nearest_in_cone
from didact.errors import InvalidParameter
from didact.inputs import as_float, choice, is_number, is_whole, seconds, shown, whole_number
from didact.numerics.exact import Floats
from didact.planning.batch import require_memory
from didact.random import Seed, as_generator, require_seed
from didact.registry import Registry
from didact.teaching.covers.problem import Picks, Problem
from didact.teaching.covers.set_cover import Uncoverable, cheapest_cover, greedy_cover


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
    bound = found.lower_bound if offered == problem.elements.everything else None
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


Region = Literal["box", "sphere"]


def minimise_uncertainty(
    problem: Problem,
    rng: np.random.Generator,
    n_samples: int = 100_000,
    threshold: float = 0.0,
    region: Region = "box",
) -> Picks:
    """The appendix's algorithm with n_samples points of the box [-1,1]^k or of the sphere."""
    if not is_number(threshold):
        raise InvalidParameter(f"threshold must be a number; it is {shown(threshold)}")
    return minimise_volume(
        problem.bec.rows.normals,
        problem.stated,
        n_samples=n_samples,
        rng=rng,
        region=region,
        threshold=threshold,
        budget=problem.budget,
    )


def minimise_volume(
    normals: ArrayLike,
    stated: Sequence[Sequence[int] | NDArray[np.int64]],
    *,
    n_samples: int,
    rng: np.random.Generator,
    region: Region = "box",
    threshold: float = 0.0,
    budget: int | None = None,
) -> Picks:
    """Pick candidates that leave the least volume, one at a time; ties go to the lowest number.

    normals: (m, k). stated: the rows of each candidate. Stops when no candidate lowers G, when
    G <= threshold, or after `budget` picks. The points are those of `default_rng(words)` for four
    64-bit words taken from `rng`, point by point.
    """
    choice(region, "region", get_args(Region))
    whole_number(n_samples, "n_samples", 1)
    if not 0.0 <= as_float(threshold) <= 1.0:
        raise InvalidParameter(f"threshold must lie between 0 and 1; it is {shown(threshold)}")
    words = rng.integers(0, 2**64, size=4, dtype=np.uint64).tolist()
    used, places = np.unique(np.concatenate([[], *stated]).astype(int), return_inverse=True)
    rows = np.asarray(normals, dtype=np.float64)[used]
    # Powers of two near the largest entry keep signs, and no product overflows or vanishes.
    exponents = np.frexp(np.abs(rows).max(axis=1, initial=0.0))[1]
    rows = np.ldexp(rows, -exponents[:, None])
    own = np.split(places, np.cumsum([len(found) for found in stated])[:-1])
    points = _points(words, n_samples, rows.shape[1], region)
    picks: list[int] = []
    volumes = [1.0]
    while len(used) and volumes[-1] > threshold and len(picks) != budget:
        outside = _outside(points, rows)
        # Unions of bits, eight points to a byte.
        without = [np.bitwise_or.reduce(outside[numbers]) for numbers in own]
        gains = [int(np.bitwise_count(bits).sum()) for bits in without]
        best = int(np.argmax(gains))
        if not gains[best]:
            break
        picks.append(best)
        volumes.append((round(volumes[-1] * n_samples) - gains[best]) / n_samples)
        points = points[:, np.unpackbits(without[best], count=points.shape[1]) == 0]
    return Picks(tuple(picks), volumes=tuple(volumes))


def _points(words: Sequence[int], n_samples: int, k: int, region: Region) -> Floats:
    """The points in order, (k, n)."""
    require_memory(n_samples * k, "points", n_samples)
    rng, shape = np.random.default_rng(words), (n_samples, k)
    drawn = rng.standard_normal(shape) if region == "sphere" else 2.0 * rng.random(shape) - 1.0
    return np.ascontiguousarray(drawn.T)


def _outside(points: Floats, rows: Floats) -> NDArray[np.uint8]:
    """Which points (k, n) violate which rows (m, k), as packed bits; zeros of a row change no sum.

    A row at a time: all products at once would take a number for each row and point.
    """
    found = []
    for row in rows:
        products = np.zeros(points.shape[1])
        for coordinate in np.flatnonzero(row):
            products += row[coordinate] * points[coordinate]
        found.append(np.packbits(products < 0.0))
    return np.array(found)


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
