"""The trials of the paper's table: teachers on random worlds, and what learners make of them.

Every trial is one random world. All teachers show single steps of it, and each lesson goes to three
learners: the paper's chain, our BIRL, and maximum likelihood. Three rows are not in the paper: the
proved minimum, SCOT extended to closure, and SCOT on half-spaces of the published precision.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from didact.bec.classes import EquivalenceClass, equivalence_class
from didact.mdp import Task
from didact.random import stream
from didact.studies.paper.lessons import (
    chain_of,
    drawn_seed,
    is_stuck,
    learned,
    random_world,
)
from didact.studies.paper.precision import (
    COUNTS_TO_4,
    SKIPPED_BELOW_6,
    noisy_rows,
    published_way,
    redundant_lesson,
    volume_lesson,
)
from didact.studies.settings import setting
from didact.studies.study import Record
from didact.teaching import check, teach
from didact.worlds import make

NAME = "table1"
SCOT, REDUNDANT, RANDOM = "SCOT", "SCOT (redundant)", "Random"
MINIMUM, CLOSED, ROUNDED = "Proved minimum", "SCOT, closed", "SCOT, values to 1e-6"
SAME_SIZE = "Random, SCOT's size"
LOOSE = "redundant, counts to 1e-4"
CLASSLESS = (RANDOM, SAME_SIZE, ROUNDED)
"""The rows whose teachers have no use for the class; the time to find it is not theirs."""
CHAIN, BIRL, LIKELIEST = "published chain", "BIRL", "ML-IRL"


@dataclass(frozen=True)
class TableSettings:
    """The comparison of teachers."""

    trials: int = setting(20, source="Table 1, caption")
    size: int = setting(9, source="Table 1, caption")
    features: int = setting(8, source="Table 1, caption")
    discount: float = setting(0.95, source="appendix, full results")
    samples: tuple[int, ...] = setting(
        (10_000, 100_000, 1_000_000, 10_000_000), source="the appendix's full table"
    )
    random_pairs: int = setting(20, source="appendix, full results; repeated ones are dropped")
    confidence: float = setting(100.0, source="appendix, full results")
    steps: int = setting(10_000, source="appendix, full results")
    step_size: float = setting(0.005, source="appendix, full results")
    chains: int = setting(4, source="our choice, for our BIRL", paper=None)
    starts: int = setting(8, source="our choice, for ML-IRL", paper=None)
    noise: bool = setting(
        False, source="our choice: rows of programs that iterate to other tolerances", paper=None
    )
    seed: int = setting(0, source="our choice", paper=None)


def uvm_row(n_samples: int) -> str:
    """'UVM (10^4)'."""
    power = len(str(n_samples)) - 1
    return f"UVM (10^{power})" if n_samples == 10**power else f"UVM ({n_samples:,})"


def skipping_row(n_samples: int) -> str:
    """'UVM (10^4), rows above 1e-6 kept'."""
    return f"{uvm_row(n_samples)}, rows above 1e-6 kept"


def row_names(settings: TableSettings) -> list[str]:
    """The rows of the table: the paper's in its order, then ours."""
    volumes = [uvm_row(n) for n in settings.samples]
    ours = [RANDOM, SAME_SIZE, MINIMUM, CLOSED, ROUNDED, *noisy_names(settings)]
    return [*volumes, REDUNDANT, SCOT, *ours]


def noisy_names(settings: TableSettings) -> list[str]:
    """The rows of programs that iterate to other tolerances, where they are asked for."""
    return [*map(skipping_row, settings.samples), LOOSE] if settings.noise else []


def trial(settings: TableSettings, number: int) -> Record:
    """One world: every teacher's lesson, whether it teaches, and what each learner loses."""
    warm()
    world, task = random_world(NAME, settings, number, settings.features)
    began = time.perf_counter()
    known = equivalence_class(task, arithmetic="exact")
    first = time.perf_counter() - began
    classless = {*CLASSLESS, *noisy_names(settings)}
    rows: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    lessons: dict[str, dict[str, Any]] = {}
    for name, show in _teachers(settings, number, task, known).items():
        began = time.perf_counter()
        shown = show()
        seconds[name] = time.perf_counter() - began + (0.0 if name in classless else first)
        verdict = check(task, shown, known=known)
        words = repr(shown)
        if words not in lessons:  # some teachers find the same one
            lessons[words] = _lessons_learned(settings, number, task, known, shown)
        rows[name] = {
            "pairs": sum(len(demonstration) for demonstration in shown),
            "teaches": verdict.teaches,
            "closed": verdict.closed,
            **lessons[words],
        }
    return {"world": world, "facets": known.cone.n_facets, "rows": rows, "seconds": seconds}


Shown = list[Any]
"""The demonstrations of a lesson."""


def _teachers(
    settings: TableSettings, number: int, task: Task, known: EquivalenceClass
) -> dict[str, Callable[[], Shown]]:
    """Every row's teacher: a function that makes its lesson."""
    seed = drawn_seed(settings.seed, NAME, number, "teachers")

    def lesson(teacher: str, **options: Any) -> Shown:
        found = teach(task, teacher=teacher, horizon=1, known=known, seed=seed, **options)
        return [list(d) for d in found.demonstrations]

    def of_the_same_size() -> Shown:
        n_pairs = teach(task, horizon=1, known=known).n_pairs
        pairs = np.argwhere(known.plan.optimal)
        order = stream(settings.seed, NAME, number, "pairs").permutation(len(pairs))
        return [[(int(s), int(a))] for s, a in pairs[order[:n_pairs]]]

    def rounded() -> Shown:
        return [[pair] for pair in published_way(task, in_place=True).lesson]

    def by_volume(n_samples: int) -> Callable[[], Shown]:
        return lambda: lesson("uvm", n_samples=n_samples)

    return {
        **{uvm_row(n): by_volume(n) for n in settings.samples},
        REDUNDANT: lambda: lesson("scot-redundant"),
        SCOT: lambda: lesson("scot"),
        RANDOM: lambda: lesson("random", n=settings.random_pairs),
        SAME_SIZE: of_the_same_size,
        MINIMUM: lambda: lesson("exact"),
        CLOSED: lambda: lesson("scot", closed=True),
        ROUNDED: rounded,
        **(_noisy_teachers(settings, seed, task) if settings.noise else {}),
    }


def _noisy_teachers(
    settings: TableSettings, seed: int, task: Task
) -> dict[str, Callable[[], Shown]]:
    """Lessons from rows that were iterated to one or another tolerance; nobody's own program."""

    def by_volume(n_samples: int) -> Shown:
        rows = noisy_rows(task, SKIPPED_BELOW_6)
        pairs = volume_lesson(*rows, n_samples=n_samples, rng=stream(seed, "uvm"))
        return [[pair] for pair in pairs]

    def loose() -> Shown:
        return [[pair] for pair in redundant_lesson(*noisy_rows(task, COUNTS_TO_4))]

    return {**{skipping_row(n): partial(by_volume, n) for n in settings.samples}, LOOSE: loose}


def _lessons_learned(
    settings: TableSettings, number: int, task: Task, known: EquivalenceClass, shown: list[Any]
) -> dict[str, Any]:
    """What the three learners lose after a lesson."""
    seed = drawn_seed(settings.seed, NAME, number, "learners")
    ours = {"confidence": settings.confidence, "n_steps": settings.steps, "threads": 1}
    learners: dict[str, dict[str, Any]] = {
        CHAIN: chain_of(settings, settings.features),
        BIRL: {"learner": "birl", "n_chains": settings.chains, **ours},
        LIKELIEST: {
            "learner": "ml-irl",
            "confidence": settings.confidence,
            "n_starts": settings.starts,
        },
    }
    found = {
        name: learned(task, known.plan, shown, options, seed) for name, options in learners.items()
    }
    others = [task.weights, found[BIRL][0], found[LIKELIEST][0]]
    stuck = is_stuck(task, shown, found[CHAIN][0], others, settings.confidence)
    return {**{name: losses for name, (_, losses) in found.items()}, "stuck": stuck}


@cache
def warm() -> None:
    """Compile what is timed, once in each worker, before the clock runs."""
    small = make("random-grid", size=9, n_features=3, seed=0)
    known = equivalence_class(small, arithmetic="exact")
    for teacher, options in (("scot", {}), ("exact", {}), ("uvm", {"n_samples": 200_000})):
        teach(small, teacher=teacher, horizon=1, known=known, **options)
