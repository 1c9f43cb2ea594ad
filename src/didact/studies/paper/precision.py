"""Programs that iterate: what stops, tolerances and skipped rows do to half-spaces and lessons.

A program of the kind that the paper describes, in plain NumPy: sweep values and feature counts
until nothing changes by much, scale every difference of counts to length 1, merge what is alike,
drop a row when a linear program finds that the others imply it, cover the rest greedily. Each
tolerance is a parameter with its source; none was fitted to anything. The published program is not
here: its source says what it compares, and one change at a time showed what each comparison does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from didact.mdp import Task
from didact.numerics.exact import Floats
from didact.studies.study import setting
from didact.teaching.teachers import minimise_volume

SLACK = 1e-6
"""A linear program may find a row violated by so much, and call it implied."""


@dataclass(frozen=True)
class Precision:
    """Where sweeps stop, and what counts as equal."""

    values: float = setting(1e-6, source="a sweep of values that changes nothing by more is last")
    counts: float = setting(1e-6, source="the same for feature counts")
    tie: float = setting(1e-4, source="five times what a stop at 1e-6 leaves of values")
    merge: float = setting(1e-4, source="unit normals this close are one; as ties are")
    skip: float = setting(0.0, source="shorter differences say nothing; only 0.0 does by default")


ITERATED = Precision()
"""Everything to 1e-6, and no other zero than 0.0."""
COUNTS_TO_4 = Precision(counts=1e-4, merge=1e-5)
"""The published program's counts, swept in place to 1e-4, and its merging of unit rows at 1e-5."""
SKIPPED_BELOW_6 = Precision(skip=1e-6)
"""The published program's rule that a difference shorter than 1e-6 is none."""

Pair = tuple[int, int]


@dataclass(frozen=True)
class Noisy:
    """What the iterating program finds: unit normals, the rows of each pair, what it keeps."""

    normals: Floats
    stated: dict[Pair, list[int]]
    kept: list[int]
    lesson: list[Pair]


def noisy_rows(
    task: Task, precision: Precision = ITERATED, *, in_place: bool = True
) -> tuple[Floats, dict[Pair, list[int]]]:
    """Unit normals, and the rows of each pair, that the program finds which iterates."""
    following, features, discount = tables(task)
    rewards = features @ task.weights
    sweep = partial(swept, in_place=in_place)
    ways = following.tolist()
    values = sweep(
        lambda v, s: rewards[s] + discount * max(map(v.item, ways[s])),
        rewards,
        stop=precision.values,
    )
    worth = values[following]
    optimal = worth >= worth.max(axis=1, keepdims=True) - precision.tie / discount
    taken = [after[best].tolist() for after, best in zip(following, optimal, strict=True)]
    counts = sweep(
        lambda mu, s: features[s] + discount * _mean_of(mu, taken[s]),
        features,
        stop=precision.counts,
    )
    return unit_differences(discount * counts[following], optimal, precision)


def _mean_of(counts: Floats, states: list[int]) -> Floats:
    """The mean of some rows, added up in their order."""
    total: Floats = counts[states[0]]
    for state in states[1:]:
        total = total + counts[state]
    return total / len(states) if len(states) > 1 else total


def published_way(task: Task, precision: Precision = ITERATED, *, in_place: bool = True) -> Noisy:
    """Rows, pruned rows and lesson of the program that iterates."""
    normals, stated = noisy_rows(task, precision, in_place=in_place)
    kept = not_redundant(normals)
    return Noisy(normals, stated, kept, greedy_lesson(stated, kept))


def redundant_lesson(normals: Floats, stated: dict[Pair, list[int]]) -> list[Pair]:
    """Pairs that state every row, implied by others or not."""
    return greedy_lesson(stated, list(range(len(normals))))


def volume_lesson(
    normals: Floats, stated: dict[Pair, list[int]], *, n_samples: int, rng: np.random.Generator
) -> list[Pair]:
    """UVM's picks on such rows."""
    pairs, rows = list(stated), list(stated.values())
    picked = minimise_volume(normals, rows, n_samples=n_samples, rng=rng)
    return [pairs[number] for number in picked.numbers]


def tables(task: Task) -> tuple[NDArray[np.int64], Floats, float]:
    """The next state of each pair (moves are certain), the features, the discount."""
    mdp = task.mdp
    following = np.asarray(mdp.transitions.successors, dtype=np.int64)
    following = following.reshape(mdp.n_states, mdp.n_actions)
    return following, np.asarray(mdp.features.floats), float(Fraction(mdp.exact_discount))


def swept(
    update: Callable[[Floats, int], Floats], first: Floats, *, stop: float, in_place: bool
) -> Floats:
    """Sweep over all states from zero until no entry changes by `stop`."""
    old = np.zeros_like(first)
    while True:
        new = old.copy()
        for state in range(len(first)):
            new[state] = update(new if in_place else old, state)
        if abs(new - old).max() < stop:
            return new
        old = new


def unit_differences(
    counts: Floats, optimal: NDArray[np.bool_], precision: Precision
) -> tuple[Floats, dict[Pair, list[int]]]:
    """Every difference of an optimal and any other action at length 1, unless it is skipped."""
    pairs, n_found = np.argwhere(optimal).tolist(), 0
    normals = np.empty((len(pairs) * counts.shape[1], counts.shape[2]))
    stated: dict[Pair, list[int]] = {}
    for state, action in pairs:
        stated[state, action] = []
        for other in range(counts.shape[1]):
            row = counts[state, action] - counts[state, other]
            length = float(np.linalg.norm(row))
            if length > precision.skip:
                normals[n_found] = row / length
                apart = abs(normals[:n_found] - normals[n_found]).max(axis=1)
                near = np.flatnonzero(apart < precision.merge)
                number = int(near[0]) if near.size else n_found
                n_found = max(n_found, number + 1)
                stated[state, action].append(number)
    return normals[:n_found], stated


def not_redundant(normals: Floats) -> list[int]:
    """One pass: a row goes at once when no weights in the box break it and fit the rest."""
    from scipy.optimize import linprog

    kept = list(range(len(normals)))
    for row in range(len(normals)):
        others = [number for number in kept if number != row]
        answer = linprog(
            normals[row], A_ub=-normals[others], b_ub=np.zeros(len(others)), bounds=(-1, 1)
        )
        if answer.status == 0 and answer.fun >= -SLACK:
            kept = others
    return kept


def greedy_lesson(stated: dict[Pair, list[int]], kept: list[int]) -> list[Pair]:
    """Pairs that state all kept rows, each time the one that states most of what is left."""
    left, lesson = set(kept), []
    while left:
        best = max(stated, key=lambda pair: len(left.intersection(stated[pair])))
        left.difference_update(stated[best])
        lesson.append(best)
    return lesson
