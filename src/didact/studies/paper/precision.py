"""The published pipeline's precision: values iterated until nothing changes by 1e-6.

A program of the kind that the paper describes, in plain NumPy: sweep values and feature counts
until nothing changes by 1e-6, scale every difference of counts to length 1, merge what is alike,
drop a row when a linear program finds that the others imply it, cover the rest greedily. It knows
no other zero than 0.0. No number in it was fitted to anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from didact.mdp import Task
from didact.numerics.exact import Floats

STOP = 1e-6
"""A sweep that changes nothing by more is the last."""
EQUAL = 1e-4
"""Values this close are tied and unit normals this close are one: five times what STOP leaves."""
SLACK = 1e-6
"""A linear program may find a row violated by so much, and call it implied."""

Pair = tuple[int, int]


@dataclass(frozen=True)
class Noisy:
    """What the iterating program finds: unit normals, the rows of each pair, what it keeps."""

    normals: Floats
    stated: dict[Pair, list[int]]
    kept: list[int]
    lesson: list[Pair]

    def redundant_lesson(self) -> list[Pair]:
        """Pairs that state every row, implied by others or not."""
        return greedy_lesson(self.stated, list(range(len(self.normals))))


def published_way(task: Task, *, in_place: bool, merge: float = EQUAL) -> Noisy:
    """Rows, pruned rows and lesson of the program that iterates; merge: rows this close are one."""
    following, features, discount = tables(task)
    rewards = features @ task.weights
    values = swept(lambda v, s: rewards[s] + discount * v[following[s]].max(), rewards, in_place)
    worth = values[following]
    optimal = worth >= worth.max(axis=1, keepdims=True) - EQUAL / discount
    counts = swept(
        lambda mu, s: features[s] + discount * mu[following[s][optimal[s]]].mean(axis=0),
        features,
        in_place,
    )
    normals, stated = unit_differences(discount * counts[following], optimal, merge)
    kept = not_redundant(normals)
    return Noisy(normals, stated, kept, greedy_lesson(stated, kept))


def tables(task: Task) -> tuple[NDArray[np.int64], Floats, float]:
    """The next state of each pair (moves are certain), the features, the discount."""
    mdp = task.mdp
    following = np.asarray(mdp.transitions.successors, dtype=np.int64)
    following = following.reshape(mdp.n_states, mdp.n_actions)
    return following, np.asarray(mdp.features.floats), float(Fraction(mdp.exact_discount))


def swept(update: Callable[[Floats, int], Floats], first: Floats, in_place: bool) -> Floats:
    """Sweep over all states from zero until no entry changes by STOP."""
    old = np.zeros_like(first)
    while True:
        new = old.copy()
        for state in range(len(first)):
            new[state] = update(new if in_place else old, state)
        if abs(new - old).max() < STOP:
            return new
        old = new


def unit_differences(
    counts: Floats, optimal: NDArray[np.bool_], merge: float
) -> tuple[Floats, dict[Pair, list[int]]]:
    """Every difference of an optimal and any other action, unless it is 0.0, at length 1."""
    normals: list[Floats] = []
    stated: dict[Pair, list[int]] = {}
    for state, action in np.argwhere(optimal).tolist():
        stated[state, action] = []
        for other in range(counts.shape[1]):
            row = counts[state, action] - counts[state, other]
            if row.any():
                unit = row / np.linalg.norm(row)
                near = (i for i, seen in enumerate(normals) if abs(seen - unit).max() < merge)
                number = next(near, len(normals))
                if number == len(normals):
                    normals.append(unit)
                stated[state, action].append(number)
    return np.array(normals), stated


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
