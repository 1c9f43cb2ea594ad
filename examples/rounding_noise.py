"""What a loose stop does to half-spaces: the same twenty worlds in fractions and iterated to 1e-6.

Usage: python examples/rounding_noise.py [WORLDS]

The worlds are 9x9, 8 features, seeds 0 to 19; demonstrations are single steps. The second program
is of the kind that the paper describes, in plain NumPy: `didact.studies.paper.precision`.
"""

import sys
from functools import partial

import numpy as np

import didact
from didact.random import stream
from didact.studies.paper.precision import (
    COUNTS_TO_4,
    ITERATED,
    SKIPPED_BELOW_6,
    Precision,
    noisy_rows,
    published_way,
    redundant_lesson,
    volume_lesson,
)

SAMPLES = (10_000, 100_000)
ALIKE = Precision(merge=1e-9)
"""Unit normals are one where they are equal but for the last digits."""


def main(n_worlds: int) -> None:
    exact, noisy = [], {True: [], False: []}
    for seed in range(n_worlds):
        task = didact.make("random-grid", size=9, n_features=8, seed=seed)
        bec = didact.equivalence_class(task, arithmetic="exact")
        exact.append(in_fractions(task, bec))
        for in_place, rows in noisy.items():
            rows.append(iterated(task, bec, in_place=in_place))
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


def in_fractions(task: didact.Task, bec: didact.EquivalenceClass) -> dict:
    """The class and its lessons in exact arithmetic, each lesson proved complete or partial."""

    def lesson(teacher: str, **options: int) -> didact.Lesson:
        return didact.teach(task, horizon=1, teacher=teacher, bec=bec, **options)

    greedy, least = lesson("scot"), lesson("exact")
    found = {
        "facets": bec.cone.n_facets,
        "pairs, greedy": greedy.n_pairs,
        "pairs, proved minimum": least.n_pairs,
        "pairs, redundant ones not removed": lesson("scot-redundant").n_pairs,
        "the same, only equal rows merged": None,
        "redundant, counts to 1e-4": None,
        "worlds with a false tie": not bec.plan.is_proved,
        "worlds that exclude true weights": bec.cone.contains(task.true_weights) == "outside",
        "greedy lessons that teach": greedy.is_complete,
    }
    for n_samples in SAMPLES:
        by_volume = lesson("uvm", n_samples=n_samples)
        found[f"pairs, UVM, {n_samples:,} samples"] = by_volume.n_pairs
        found[f"UVM lessons that teach, {n_samples:,}"] = by_volume.is_complete
        found[f"UVM, rows above 1e-6, {n_samples:,}"] = None
    return found


def iterated(task: didact.Task, bec: didact.EquivalenceClass, *, in_place: bool) -> dict:
    """The same from values and counts that stop at 1e-6; lessons are judged in fractions."""
    noisy = published_way(task, in_place=in_place)
    apart = noisy_rows(task, ALIKE, in_place=in_place)
    slack = noisy.normals @ (task.weights / np.linalg.norm(task.weights))
    found = {
        "facets": len(noisy.kept),
        "pairs, greedy": len(noisy.lesson),
        "pairs, redundant ones not removed": len(redundant_lesson(noisy.normals, noisy.stated)),
        "the same, only equal rows merged": len(redundant_lesson(*apart)),
        "worlds with a false tie": len(noisy.stated) > bec.plan.optimal.sum(),
        "worlds that exclude true weights": bool((slack < -ITERATED.tie).any()),
        "greedy lessons that teach": teaches(task, bec, noisy.lesson),
    }
    loose = noisy_rows(task, COUNTS_TO_4, in_place=in_place)
    found["redundant, counts to 1e-4"] = len(redundant_lesson(*loose))
    skipped = noisy_rows(task, SKIPPED_BELOW_6, in_place=in_place)
    for n_samples in SAMPLES:
        by_volume = partial(volume_lesson, n_samples=n_samples)
        lesson = by_volume(noisy.normals, noisy.stated, rng=stream(0, "uvm"))
        found[f"pairs, UVM, {n_samples:,} samples"] = len(lesson)
        found[f"UVM lessons that teach, {n_samples:,}"] = teaches(task, bec, lesson)
        kept = by_volume(*skipped, rng=stream(0, "uvm"))
        found[f"UVM, rows above 1e-6, {n_samples:,}"] = len(kept)
    return found


def teaches(task: didact.Task, bec: didact.EquivalenceClass, pairs: list) -> bool:
    """Whether single steps pin the class down, decided in fractions."""
    return didact.check(task, [[pair] for pair in pairs], bec=bec).teaches


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
