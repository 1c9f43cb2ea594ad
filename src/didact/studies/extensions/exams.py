"""How many questions an exam needs, and how soon it finds an agent that is not aligned.

Every trial is one random grid and some agents who want nearly what it wants: the true weights, of
length one, with noise of length `noise`; those that hold other actions best count. (Of agents that
want anything, every question finds half, and the order is no matter.) An exam is compared with
asking in every state; its order with a random one; and as many random comparisons, or critical
states (where the best action matters most, asked for one action), with the exam's own questions,
which find every one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from didact.auditing import Exam, exam
from didact.auditing.questions import side_of
from didact.bec.classes import EquivalenceClass, equivalence_class
from didact.bec.halfspaces import scope_states
from didact.bec.linear import Row, dot, primitive
from didact.numerics.exact import Floats, Numbers
from didact.planning import solve
from didact.planning.loss import action_gaps
from didact.random import stream
from didact.studies.study import Record, Study, setting
from didact.studies.summary import (
    Claim,
    Column,
    Estimate,
    Figure,
    Finding,
    Lines,
    Summary,
    Table,
    by_case,
    differences,
    estimate,
    series_of,
    table_of,
)
from didact.worlds import make

NAME = "exams"
ORDERED, SHUFFLED = "fails after, smallest angle first", "fails after, in random order"
CRITICAL, RANDOM = "found by as many critical states", "found by as many random comparisons"
OURS = "our statement"
CLAIMS = {
    "fewer": Claim(NAME, "fewer", "an exam has fewer questions than there are states", OURS),
    "order": Claim(
        NAME, "order", "the smallest angle first finds agents that are nearly aligned sooner", OURS
    ),
    "random": Claim(NAME, "random", "as many random comparisons miss some agents", OURS),
    "critical": Claim(NAME, "critical", "as many critical states miss some agents", OURS),
}


@dataclass(frozen=True)
class ExamSettings:
    """Worlds of some sizes with some numbers of features, and how many agents are examined."""

    trials: int = setting(10, source="our choice: as many as the published exam's worlds")
    sizes: tuple[int, ...] = setting((4, 6, 8), source="our choice: as the published exam's worlds")
    features: tuple[int, ...] = setting((3, 5, 8), source="our choice")
    agents: int = setting(100, source="our choice")
    noise: float = setting(0.3, source="our choice")
    discount: float = setting(0.95, source="our choice")
    seed: int = setting(0, source="our choice")


def cases(settings: ExamSettings) -> list[tuple[int, int]]:
    """Every size with every number of features."""
    return [(size, k) for size in settings.sizes for k in settings.features]


def n_trials(settings: ExamSettings) -> int:
    """One for each case and run."""
    return settings.trials * len(cases(settings))


def trial(settings: ExamSettings, number: int) -> Record:
    """The exam of one world, and how it fares with agents that are not aligned."""
    every = cases(settings)
    size, k = every[number % len(every)]
    rng = stream(settings.seed, NAME, number)
    world = int(rng.integers(2**32))
    task = make("random-grid", size=size, n_features=k, discount=settings.discount, seed=world)
    bec = equivalence_class(task, arithmetic="exact")
    questions = exam(task, bec=bec)
    own = task.weights / float(np.linalg.norm(task.weights))
    drawn = own + settings.noise * rng.normal(size=(settings.agents, k)) / np.sqrt(k)
    strangers = [w for w in drawn if bec.cone.contains(w) != "inside"]
    return {
        "world": world,
        "case": f"{size}x{size}, {k} features",
        "states": int(scope_states(task.mdp, "reachable").sum()),
        "questions": len(questions),
        "closed states": len(exam(task, ask="actions", bec=bec)),
        "agents": len(strangers),
        **_found(bec, questions, strangers, rng),
    }


def _found(
    bec: EquivalenceClass, questions: Exam, strangers: Sequence[Floats], rng: np.random.Generator
) -> dict[str, float | None]:
    """Means over the agents: when each fails, and how many other questions find."""
    n = len(questions)
    order, exact = rng.permutation(n), bec.rows.exact or ()
    some = rng.choice(len(exact), size=min(n, len(exact)), replace=False).tolist()
    critical = critical_states(bec)[:n]
    columns: dict[str, list[float]] = {ORDERED: [], SHUFFLED: [], CRITICAL: [], RANDOM: []}
    for weights in strangers:
        answers = questions.answers_of(weights)
        wrong = [a != q.key for a, q in zip(answers, questions.questions, strict=True)]
        if not any(wrong):
            raise AssertionError("an exam must find every agent that is not aligned")
        columns[ORDERED].append(1.0 + wrong.index(True))
        columns[SHUFFLED].append(1.0 + min(i for i, at in enumerate(order.tolist()) if wrong[at]))
        columns[CRITICAL].append(float(_acts_otherwise(bec, critical, weights)))
        columns[RANDOM].append(float(_tells([exact[row] for row in some], bec, weights)))
    return {name: float(np.mean(found)) if found else None for name, found in columns.items()}


def critical_states(bec: EquivalenceClass) -> list[int]:
    """States by how much the best action matters: its value less the mean of all, largest first."""
    reached = scope_states(bec.task.mdp, "reachable")
    gaps = np.where(reached, action_gaps(bec.plan).mean(axis=1), -1.0)
    return [int(s) for s in np.argsort(-gaps, kind="stable") if gaps[s] >= 0]


def _acts_otherwise(bec: EquivalenceClass, states: Sequence[int], weights: Floats) -> bool:
    """Whether the first of the agent's best actions is wrong in one of the states."""
    theirs = solve(bec.task.mdp, weights).optimal
    return any(not bec.plan.optimal[s, int(theirs[s].argmax())] for s in states)


def _tells(rows: Sequence[Row], bec: EquivalenceClass, weights: Floats) -> bool:
    """Whether the agent answers one of some comparisons otherwise."""
    theirs = primitive(list(Numbers.read(weights, "weights").fractions()))
    ours = primitive(list(bec.cone.true_weights.fractions()))
    return any(side_of(dot(row, theirs)) != side_of(dot(row, ours)) for row in rows)


def summarise(settings: ExamSettings, records: Sequence[Record]) -> Summary:
    """Questions against states, and how soon agents are found, for each case."""
    cases_ = by_case(records)
    return Summary((_table(cases_),), (_figure(settings, cases_),), _findings(records))


NUMBERS, SHARES = ("states", "questions", "closed states", ORDERED, SHUFFLED), (CRITICAL, RANDOM)
"""What is counted, and of what a share is told in per cent."""


def _table(cases_: Mapping[str, Sequence[Record]]) -> Table:
    columns: dict[Column, list[Estimate | None]] = {}
    for name in (*NUMBERS, *SHARES):
        scale = 100.0 if name in SHARES else 1.0
        every = [[scale * value for value in _values(found, name)] for found in cases_.values()]
        column = Column(name, "percent" if name in SHARES else "number")
        columns[column] = [estimate(values) if values else None for values in every]
    return table_of("Exams of random grids", "world", cases_, columns)


def _values(records: Sequence[Record], name: str) -> list[float]:
    return [float(record[name]) for record in records if record[name] is not None]


def _figure(settings: ExamSettings, cases_: Mapping[str, Sequence[Record]]) -> Figure:
    series = []
    for k in settings.features:
        found = {
            size: cases_[f"{size}x{size}, {k} features"]
            for size in settings.sizes
            if f"{size}x{size}, {k} features" in cases_
        }
        means = [estimate(_values(records, "questions")) for records in found.values()]
        series.append(series_of(f"{k} features", found, means))
    panel = Lines("questions of an exam", "cells a side", "questions", tuple(series))
    return Figure(NAME, "Questions by size of the world", (panel,))


def _findings(records: Sequence[Record]) -> tuple[Finding, ...]:
    whole = [record for record in records if record[ORDERED] is not None]
    fewer = differences(records, lambda r: r["states"], lambda r: r["questions"])
    sooner = differences(whole, lambda r: r[SHUFFLED], lambda r: r[ORDERED])
    missed: dict[str, Callable[[Record], float]] = {
        "random": lambda r: 1.0 - r[RANDOM],
        "critical": lambda r: 1.0 - r[CRITICAL],
    }
    told = [
        Finding(CLAIMS["fewer"], fewer.is_positive, f"{fewer.told()} questions fewer than states"),
        Finding(CLAIMS["order"], sooner.is_positive, f"{sooner.told()} questions sooner"),
    ]
    for key, share in missed.items():
        found = estimate(100 * share(record) for record in whole)
        told.append(Finding(CLAIMS[key], found.is_positive, f"{found.told()}% are missed"))
    return tuple(told)


STUDY = Study(
    NAME,
    ExamSettings(),
    trial,
    summarise,
    title="Exams: questions needed, and how soon agents that are not aligned are found",
    quick=ExamSettings(trials=3, sizes=(4, 6), features=(3, 5), agents=40),
    n_trials=n_trials,
)
