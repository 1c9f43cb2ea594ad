"""Good-enough lessons: one reward's loss, one cell, and whole lessons; seconds of CPU."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

import didact
from benchmarks.timing import print_table, readable
from didact.bec.classes import shown_pairs
from didact.numerics.exact import Floats
from didact.planning.batch import Losses
from didact.teaching.loss.cells import PolicyCells
from didact.teaching.loss.region import region_of, worst_cell
from didact.teaching.loss.space import weight_space

REWARDS = 500


def report() -> None:
    print_table(
        "The loss of one reward, ties broken for the best", ["world", "one reward"], rewards()
    )
    print_table(
        "Fewest single steps within a loss, half-space learners",
        ["world", "loss", "steps", "at least", "status", "cells", "time"],
        lessons(),
    )
    print_table(
        "Visiting every class of policies that fits a lesson",
        ["world", "steps shown", "cells", "one cell"],
        cells(),
    )
    print_table(
        "All classes of policies there are, for learners that plan",
        ["world", "dimensions", "classes", "beyond doubt", "time"],
        charts(),
    )
    print_table(
        "A frontier from 10% to exact, tested for both learners, with lower bounds",
        ["world", "steps", "at least", "time"],
        frontiers(),
    )


def rewards() -> Iterator[list[str]]:
    for name, slip in (("9x9, k = 8", "0"), ("9x9, k = 8, slippery", "0.2")):
        bec = didact.equivalence_class(didact.make("random-grid", size=9, seed=0, slip=slip))
        losses = weight_space(bec).losses
        drawn = np.random.default_rng(0).normal(size=(REWARDS, 8))
        losses.of(drawn)
        yield [name, readable(min(_seconds(losses, drawn) for _ in range(8)) / REWARDS)]


def _seconds(losses: Losses, drawn: Floats) -> float:
    began = time.process_time()
    losses.of(drawn)
    return time.process_time() - began


def cells() -> Iterator[list[str]]:
    for seed, shown in ((0, 6), (1, 8)):
        task = didact.make("random-grid", size=9, seed=seed)
        bec = didact.equivalence_class(task)
        lesson = didact.teach(task, bec=bec, teacher="exact", horizon=1, order="loss")
        pairs = shown_pairs(bec.members, lesson.demonstrations[:shown])
        region = region_of(weight_space(bec), bec.rows.normals[bec.rows.stated_by(pairs)])
        began = time.process_time()
        found = worst_cell(region, most_cells=3000)
        taken = time.process_time() - began
        name = f"9x9, k = 8, seed {seed}"
        yield [name, str(shown), str(found.n_cells), readable(taken / found.n_cells)]


def charts() -> Iterator[list[str]]:
    for size, k, slip in ((5, 3, "0"), (4, 4, "0"), (5, 4, "0"), (4, 4, "0.2"), (6, 5, "0")):
        task = didact.make("random-grid", size=size, n_features=k, seed=0, slip=slip)
        chart = PolicyCells(weight_space(didact.equivalence_class(task)))
        began = time.process_time()
        is_sure = chart.finish()
        taken = readable(time.process_time() - began)
        name = f"{size}x{size}, k = {k}, slip {slip}"
        sure = "yes" if is_sure else "no"
        yield [name, str(chart.space.dimension), str(len(chart.cells)), sure, taken]


def frontiers() -> Iterator[list[str]]:
    for seed in range(2):
        task = didact.make("random-grid", size=9, seed=seed)
        bec = didact.equivalence_class(task)
        began = time.process_time()
        found = didact.frontier(task, bec=bec, horizon=1, time_limit=120)
        taken = time.process_time() - began
        rows = found.to_records()
        steps = " ".join(str(row["n_demonstrations"]) for row in rows)
        least = " ".join(f"{row['lower_bound']:g}" for row in rows)
        yield [f"9x9, k = 8, seed {seed}", steps, least, readable(taken)]


def lessons() -> Iterator[list[str]]:
    for size, k, loss in ((5, 4, "1%"), (9, 8, "0.1%"), (9, 8, "1%")):
        for seed in range(2):
            task = didact.make("random-grid", size=size, n_features=k, seed=seed)
            bec = didact.equivalence_class(task)
            began = time.process_time()
            lesson = didact.teach(
                *(task,),
                **{"teacher": "exact", "horizon": 1, "bec": bec},
                **{"loss": loss, "learner_model": "half-spaces"},
            )
            taken = time.process_time() - began
            assert lesson.within is not None
            steps, least = len(lesson.demonstrations), lesson.lower_bound
            found = [str(steps), str(least), str(lesson.loss_status), str(lesson.within.n_cells)]
            yield [f"{size}x{size}, k = {k}, seed {seed}", loss, *found, readable(taken)]
