"""Exams and audits: from a known class, from nothing, and many agents at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import didact
from benchmarks.timing import best_time, print_table, readable

AGENTS = 1000


def report() -> None:
    print_table(
        "Exams: the class at hand, from nothing, and with the proof",
        ["world", "questions", "class at hand", "from nothing", "with proof"],
        exams(),
    )
    print_table(
        f"{AGENTS} agents given as weights",
        ["world", "graded by comparisons", "planned and compared"],
        agents(),
    )


def worlds() -> Iterator[tuple[str, didact.Task]]:
    yield "9x9, k = 8", didact.make("random-grid", size=9, n_features=8, seed=0)
    yield "Taxi-v4", didact.make("Taxi-v4")


def exams() -> Iterator[list[str]]:
    for name, task in worlds():
        bec = didact.equivalence_class(task)
        for ask in ("comparisons", "actions", "preferences"):
            made = didact.exam(task, ask=ask, bec=bec)
            times = [
                best_time(lambda a=ask, t=task, k=bec: didact.exam(t, ask=a, bec=k)),
                best_time(lambda a=ask, t=task: didact.exam(t, ask=a)),
            ]
            proof = "-"
            if ask == "comparisons":
                proof = readable(
                    best_time(lambda t=task, k=bec: didact.exam(t, bec=k).proof is None)
                )
            yield [f"{name}, {ask}", str(len(made)), *map(readable, times), proof]


def agents() -> Iterator[list[str]]:
    for name, task in worlds():
        bec = didact.equivalence_class(task)
        questions = didact.exam(task, bec=bec)
        drawn = np.random.default_rng(0).normal(size=(AGENTS, task.mdp.n_features))
        few = drawn[:50]

        def graded(questions=questions, drawn=drawn) -> int:
            return sum(questions.grade(questions.answers_of(w)).passed for w in drawn)

        def planned(task=task, bec=bec, few=few) -> int:
            return sum(didact.audit(task, list(w), bec=bec).passed for w in few)

        times = best_time(graded, first=True), AGENTS / len(few) * best_time(planned, first=True)
        yield [name, *map(readable, times)]
