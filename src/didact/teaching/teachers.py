"""Teachers by name, and the check of what one returns.

A teacher is a function of a `Problem` and a generator that returns candidate numbers in the order
to show them, or `Picks` with its own bounds. Whatever it returns is checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from didact.errors import InvalidParameter
from didact.inputs import is_whole, shown
from didact.random import Seed, as_generator, require_seed
from didact.registry import Registry
from didact.teaching.covers.problem import Picks, Problem
from didact.teaching.methods.exact import exact_minimum
from didact.teaching.methods.sampled import random_demonstrations
from didact.teaching.methods.scot import scot
from didact.teaching.uvm import minimise_uncertainty

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

DRAW_NOTHING = ("scot", "scot-redundant", "exact")
"""Teachers for whom no generator is made, which takes as long as much of their work."""

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


def find_teacher(name: str, options: Mapping[str, Any]) -> Teacher:
    """The teacher of that name, who takes these options."""
    return _teachers.find(name, options)


def picked_by(teacher: str, problem: Problem, seed: Seed) -> Picks:
    """What the teacher of that name picks, checked; seed: of those that draw."""
    is_sure = teacher in DRAW_NOTHING
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
