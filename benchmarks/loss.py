"""Good-enough lessons: one reward's loss, one cell, and whole lessons with their bounds."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

import didact
from benchmarks.timing import best_time, print_table, readable
from didact.teaching.loss.fan import fan_of

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


def rewards() -> Iterator[list[str]]:
    for name, slip in (("9x9, k = 8", "0"), ("9x9, k = 8, slippery", "0.2")):
        known = didact.equivalence_class(didact.make("random-grid", size=9, seed=0, slip=slip))
        losses = fan_of(known).losses
        drawn = np.random.default_rng(0).normal(size=(REWARDS, 8))
        taken = best_time(lambda losses=losses, drawn=drawn: losses.of(drawn))
        yield [name, readable(taken / REWARDS)]


def lessons() -> Iterator[list[str]]:
    for size, k, loss in ((5, 4, "1%"), (9, 8, "0.1%"), (9, 8, "1%")):
        for seed in range(2):
            task = didact.make("random-grid", size=size, n_features=k, seed=seed)
            known = didact.equivalence_class(task)
            began = time.perf_counter()
            lesson = didact.teach(
                *(task,),
                **{"teacher": "exact", "horizon": 1, "known": known},
                **{"loss": loss, "learner": "half-spaces"},
            )
            taken = time.perf_counter() - began
            assert lesson.within is not None
            steps, least = len(lesson.demonstrations), lesson.lower_bound
            found = [str(steps), str(least), str(lesson.loss_status), str(lesson.within.n_cells)]
            yield [f"{size}x{size}, k = {k}, seed {seed}", loss, *found, readable(taken)]
