"""What a loose stop does to half-spaces: the same twenty worlds in fractions and iterated to 1e-6.

Usage: python examples/rounding_noise.py [WORLDS]

The worlds are 9x9, 8 features, seeds 0 to 19; demonstrations are single steps. The second program
is of the kind that the paper describes, in plain NumPy: sweep values and feature counts until
nothing changes by 1e-6, scale every difference of counts to length 1, merge what is alike, drop a
row when a linear program finds that the others imply it, cover the rest greedily. It knows no other
zero than 0.0. No number in it was fitted to anything.
"""

import sys
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

import didact
from didact.random import stream
from didact.teaching.volume_greedy import minimise_volume

STOP = 1e-6
"""A sweep that changes nothing by more is the last."""
EQUAL = 1e-4
"""Values this close are tied and unit normals this close are one: five times what STOP leaves."""
SLACK = 1e-6
"""A linear program may find a row violated by so much, and call it implied."""
SAMPLES = (10_000, 100_000)


@dataclass(frozen=True)
class Noisy:
    """What the iterating program finds: unit normals, the rows of each pair, what it keeps."""

    normals: np.ndarray
    stated: dict[tuple[int, int], list[int]]
    kept: list[int]
    lesson: list[tuple[int, int]]


def main(n_worlds: int) -> None:
    exact, noisy = [], {True: [], False: []}
    for seed in range(n_worlds):
        task = didact.make("random-grid", size=9, n_features=8, seed=seed)
        known = didact.equivalence_class(task, arithmetic="exact")
        exact.append(in_fractions(task, known))
        for in_place, rows in noisy.items():
            rows.append(iterated(task, known, in_place=in_place))
    print(f"{n_worlds} worlds, 9x9, 8 features, single steps; means over worlds")
    print(f"{'':34}{'fractions':>10}{'in place':>10}{'at once':>10}")
    for name in exact[0]:
        cells = [[row.get(name) for row in rows] for rows in (exact, noisy[True], noisy[False])]
        print(f"{name:34}" + "".join(f"{shown(column):>10}" for column in cells))
    print(
        "in place, at once: a sweep uses its own new values, or those of the sweep before it only"
    )


def shown(column: list) -> str:
    """A count for truth values, a mean for numbers."""
    if column[0] is None:
        return "-"
    if isinstance(column[0], bool | np.bool):
        return f"{sum(column)} of {len(column)}"
    return f"{np.mean(column):.2f}"


def in_fractions(task: didact.Task, known: didact.EquivalenceClass) -> dict:
    """The class and its lessons in exact arithmetic, each lesson proved complete or partial."""

    def lesson(teacher: str, **options: int) -> didact.Lesson:
        return didact.teach(task, horizon=1, teacher=teacher, known=known, **options)

    greedy, least = lesson("scot"), lesson("exact")
    found = {
        "facets": known.cone.n_facets,
        "pairs, greedy": greedy.n_pairs,
        "pairs, proved minimum": least.n_pairs,
        "pairs, without removing redundant": lesson("scot-redundant").n_pairs,
        "worlds with a false tie": not known.plan.is_proved,
        "worlds that exclude true weights": known.cone.contains(task.true_weights) == "outside",
        "greedy lessons that teach": greedy.is_complete,
    }
    for n_samples in SAMPLES:
        by_volume = lesson("uvm", n_samples=n_samples)
        found[f"pairs, UVM, {n_samples:,} samples"] = by_volume.n_pairs
        found[f"UVM lessons that teach, {n_samples:,}"] = by_volume.is_complete
    return found


def iterated(task: didact.Task, known: didact.EquivalenceClass, *, in_place: bool) -> dict:
    """The same from values and counts that stop at STOP; lessons are judged in fractions."""
    noisy = published_way(task, in_place=in_place)
    slack = noisy.normals @ (task.weights / np.linalg.norm(task.weights))
    found = {
        "facets": len(noisy.kept),
        "pairs, greedy": len(noisy.lesson),
        "worlds with a false tie": len(noisy.stated) > known.plan.optimal.sum(),
        "worlds that exclude true weights": bool((slack < -EQUAL).any()),
        "greedy lessons that teach": teaches(task, known, noisy.lesson),
    }
    pairs = list(noisy.stated)
    offsets = np.cumsum([0, *(len(rows) for rows in noisy.stated.values())])
    members = [row for rows in noisy.stated.values() for row in rows]
    for n_samples in SAMPLES:
        rng = stream(0, "uvm")
        picked = minimise_volume(noisy.normals, offsets, members, n_samples=n_samples, rng=rng)
        lesson = [pairs[number] for number in picked.picks]
        found[f"pairs, UVM, {n_samples:,} samples"] = len(lesson)
        found[f"UVM lessons that teach, {n_samples:,}"] = teaches(task, known, lesson)
    return found


def teaches(task: didact.Task, known: didact.EquivalenceClass, pairs: list) -> bool:
    """Whether single steps pin the class down, decided in fractions."""
    return didact.check(task, [[pair] for pair in pairs], known=known).teaches


def published_way(task: didact.Task, *, in_place: bool) -> Noisy:
    """Rows, pruned rows and lesson of the program that iterates."""
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
    normals, stated = unit_differences(discount * counts[following], optimal)
    kept = not_redundant(normals)
    return Noisy(normals, stated, kept, greedy_lesson(stated, kept))


def tables(task: didact.Task) -> tuple[np.ndarray, np.ndarray, float]:
    """The next state of each pair (moves are certain), the features, the discount."""
    mdp = task.mdp
    following = np.asarray(mdp.transitions.successors).reshape(mdp.n_states, mdp.n_actions)
    return following, np.asarray(mdp.features.floats), float(Fraction(mdp.exact_discount))


def swept(update, first: np.ndarray, in_place: bool) -> np.ndarray:
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
    counts: np.ndarray, optimal: np.ndarray
) -> tuple[np.ndarray, dict[tuple[int, int], list[int]]]:
    """Every difference of an optimal and any other action, unless it is 0.0, at length 1."""
    normals: list[np.ndarray] = []
    stated: dict[tuple[int, int], list[int]] = {}
    for state, action in np.argwhere(optimal).tolist():
        stated[state, action] = []
        for other in range(counts.shape[1]):
            row = counts[state, action] - counts[state, other]
            if row.any():
                unit = row / np.linalg.norm(row)
                near = (i for i, seen in enumerate(normals) if abs(seen - unit).max() < EQUAL)
                number = next(near, len(normals))
                if number == len(normals):
                    normals.append(unit)
                stated[state, action].append(number)
    return np.array(normals), stated


def not_redundant(normals: np.ndarray) -> list[int]:
    """One pass: a row goes at once when no weights in the box break it and fit the rest."""
    kept = list(range(len(normals)))
    for row in range(len(normals)):
        others = [number for number in kept if number != row]
        answer = linprog(
            normals[row], A_ub=-normals[others], b_ub=np.zeros(len(others)), bounds=(-1, 1)
        )
        if answer.status == 0 and answer.fun >= -SLACK:
            kept = others
    return kept


def greedy_lesson(
    stated: dict[tuple[int, int], list[int]], kept: list[int]
) -> list[tuple[int, int]]:
    """Pairs that state all kept rows, each time the one that states most of what is left."""
    left, lesson = set(kept), []
    while left:
        best = max(stated, key=lambda pair: len(left.intersection(stated[pair])))
        left.difference_update(stated[best])
        lesson.append(best)
    return lesson


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
