"""The paper's table: teachers on random worlds, and what learners make of their lessons.

Every trial is one random world. All teachers show single steps of it, and each lesson goes to three
learners: the paper's chain, our BIRL, and maximum likelihood. Three rows are not in the paper: the
proved minimum, SCOT extended to closure, and SCOT on half-spaces of the published precision.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from didact.bec.classes import EquivalenceClass, equivalence_class
from didact.mdp import Task
from didact.random import stream
from didact.studies.figure import Bars, Figure, Series
from didact.studies.paper.lessons import STUCK, drawn_seed, is_stuck, learned, published_chain
from didact.studies.paper.precision import published_way
from didact.studies.paper.published import LOSS, PAIRS, WRONG, printed
from didact.studies.settings import setting, told
from didact.studies.study import Record, Study
from didact.studies.summary import (
    Cell,
    Column,
    Estimate,
    Finding,
    Summary,
    Table,
    all_of,
    compared,
    differences,
    estimate,
    finding,
    interval_text,
    is_positive,
)
from didact.teaching import check, teach
from didact.worlds import make

NAME = "table1"
SCOT, REDUNDANT, RANDOM = "SCOT", "SCOT (redundant)", "Random"
MINIMUM, CLOSED, ROUNDED = "Proved minimum", "SCOT, closed", "SCOT, values to 1e-6"
SAME_SIZE = "Random, SCOT's size"
CLASSLESS = (RANDOM, SAME_SIZE, ROUNDED)
"""The rows whose teachers have no use for the class; the time to find it is not theirs."""
CHAIN, BIRL, LIKELIEST = "published chain", "BIRL", "ML-IRL"
ORDERS = 100.0
"""Orders of magnitude: at least two."""
TEACHES, NOT_STUCK, FACETS = "pin the class down", "chains not stuck", "facets"


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
    seed: int = setting(0, source="our choice", paper=None)


def uvm_row(n_samples: int) -> str:
    """'UVM (10^4)'."""
    power = len(str(n_samples)) - 1
    return f"UVM (10^{power})" if n_samples == 10**power else f"UVM ({n_samples:,})"


def row_names(settings: TableSettings) -> list[str]:
    """The rows of the table: the paper's in its order, then ours."""
    volumes = [uvm_row(n) for n in settings.samples]
    return [*volumes, REDUNDANT, SCOT, RANDOM, SAME_SIZE, MINIMUM, CLOSED, ROUNDED]


def trial(settings: TableSettings, number: int) -> Record:
    """One world: every teacher's lesson, whether it teaches, and what each learner loses."""
    warm()
    world = drawn_seed(settings.seed, NAME, number, "world")
    task = make(
        "random-grid", size=settings.size, n_features=settings.features,
        discount=settings.discount, seed=world,
    )  # fmt: skip
    began = time.perf_counter()
    known = equivalence_class(task, arithmetic="exact")
    first = time.perf_counter() - began
    rows: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    for name, show in _teachers(settings, number, task, known).items():
        began = time.perf_counter()
        shown = show()
        seconds[name] = time.perf_counter() - began + (first if name not in CLASSLESS else 0.0)
        verdict = check(task, shown, known=known)
        rows[name] = {
            "pairs": sum(len(demonstration) for demonstration in shown),
            "teaches": verdict.teaches,
            "closed": verdict.closed,
            **_lessons_learned(settings, number, task, known, shown),
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
    }


def _lessons_learned(
    settings: TableSettings, number: int, task: Task, known: EquivalenceClass, shown: list[Any]
) -> dict[str, Any]:
    """What the three learners lose after a lesson."""
    seed = drawn_seed(settings.seed, NAME, number, "learners")
    ours = {"confidence": settings.confidence, "n_steps": settings.steps, "threads": 1}
    learners: dict[str, dict[str, Any]] = {
        CHAIN: published_chain(
            settings.features,
            confidence=settings.confidence,
            steps=settings.steps,
            step_size=settings.step_size,
        ),
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
        teach(small, teacher=teacher, horizon=1, known=known, **options)  # type: ignore[arg-type]


def summarise(settings: TableSettings, records: Sequence[Record]) -> Summary:
    """The paper's table with ours beside it, and a second one of what other learners make of it."""
    rows = row_names(settings)
    of: Callable[..., list[float]] = lambda row, *path: [_at(r, row, path) for r in records]  # noqa: E731
    lessons, learners = [], []
    for row in rows:
        papers = SCOT if row == ROUNDED else None
        lessons += [
            compared(NAME, row, PAIRS, of(row, "pairs"), papers=papers),
            Cell(row, TEACHES, estimate(of(row, "teaches"))),
            compared(NAME, row, LOSS, of(row, CHAIN, "loss"), papers=papers),
            compared(
                NAME, row, WRONG, [100 * share for share in of(row, CHAIN, "wrong")], papers=papers
            ),
            Cell(row, NOT_STUCK, estimate(1 - s for s in of(row, "stuck"))),
        ]
        for learner in (CHAIN, BIRL, LIKELIEST):
            wrong = [100 * share for share in of(row, learner, "wrong")]
            learners += [
                Cell(row, f"{learner}: loss", estimate(of(row, learner, "loss"))),
                Cell(row, f"{learner}: wrong", estimate(wrong)),
            ]
    tables = (
        Table(
            f"Lessons of single steps on {len(records)} random worlds; the paper's chain learns",
            "teacher",
            (
                Column(PAIRS), Column(TEACHES, "count"), Column(LOSS, decimals=3),
                Column(WRONG, "percent"), Column(NOT_STUCK, "count"),
            ),
            tuple(lessons),
        ),
        Table(
            "The same lessons, other learners",
            "teacher",
            tuple(
                column
                for learner in (CHAIN, BIRL, LIKELIEST)
                for column in (
                    Column(f"{learner}: loss", decimals=3), Column(f"{learner}: wrong", "percent")
                )
            ),
            tuple(learners),
        ),
    )  # fmt: skip
    facets = estimate(record["facets"] for record in records)
    remarks = (
        f"A world has {facets.mean:.2f} facets on average ({facets.low:.2f} to {facets.high:.2f}).",
        "Percentages are of the states in which a wrong action is taken; losses are means over all "
        "starts.",
        "A chain is stuck when the true weights, or those of another learner, are likelier by more "
        f"than {STUCK:g} nats than the best that it found.",
    )
    return Summary(
        tables, (_figure(settings, records),), tuple(_findings(settings, records)), remarks
    )


def _at(record: Record, row: str, path: Sequence[str]) -> float:
    value = record["rows"][row]
    for name in path:
        value = value[name]
    return float(value)


def _findings(settings: TableSettings, records: Sequence[Record]) -> list[Finding]:
    """What the paper says of its table, judged with its own learner; ours is named beside it."""

    def mean(row: str, *path: str) -> float:
        return estimate(_at(record, row, path) for record in records).mean

    def less(one: str, other: str, what: str, learner: str = CHAIN) -> Estimate:
        """By how much less is lost after the lessons of the other."""
        scale = 100 if what == "wrong" else 1
        return differences(
            records,
            lambda r: scale * _at(r, one, (learner, what)),
            lambda r: scale * _at(r, other, (learner, what)),
        )

    def both(one: str, other: str, what: str, decimals: int) -> str:
        chain, ours = (less(one, other, what, learner) for learner in (CHAIN, BIRL))
        unit = " percentage points of wrong actions" if what == "wrong" else " loss"
        return (
            f"{interval_text(chain, decimals)}{unit} with the published chain, "
            f"{interval_text(ours, decimals)} with our BIRL"
        )

    volumes = [uvm_row(n) for n in settings.samples]
    fewest, most = volumes[0], volumes[-1]
    pairs = [mean(row, "pairs") for row in volumes]
    minimum, scot = mean(MINIMUM, "pairs"), mean(SCOT, "pairs")
    taught = sum(_at(record, SCOT, ("teaches",)) == 1.0 for record in records)
    larger = differences(
        records, lambda r: _at(r, REDUNDANT, ("pairs",)), lambda r: 2 * _at(r, SCOT, ("pairs",))
    )
    many = len(volumes) > 1
    texts = ", ".join(f"{p:.2f}" for p in pairs)
    return [
        finding(
            NAME, "underestimates", max(pairs) < minimum, f"{texts} pairs; {minimum:.2f} are needed"
        ),
        finding(
            NAME, "samples", all(a < b for a, b in pairwise(pairs)) if many else None,
            f"{texts} pairs",
        ),
        finding(
            NAME, "slightly", is_positive(less(fewest, most, "loss")) if many else None,
            f"from {fewest} to {most} by {both(fewest, most, 'loss', 3)}",
        ),
        finding(
            NAME, "accurate",
            all_of([taught == len(records), is_positive(less(most, SCOT, "wrong"))]),
            f"{taught} of its {len(records)} lessons pin the class down; less than after {most} by "
            f"{both(most, SCOT, 'wrong', 1)}",
        ),
        finding(
            NAME, "redundant", is_positive(larger),
            f"{mean(REDUNDANT, 'pairs'):.2f} pairs, not {scot:.2f}",
        ),
        finding(
            NAME, "redundant-loss", is_positive(less(SCOT, REDUNDANT, "loss")),
            f"lower by {both(SCOT, REDUNDANT, 'loss', 3)}",
        ),
        finding(
            NAME, "random", is_positive(less(SAME_SIZE, SCOT, "wrong")),
            f"after as many random pairs more by {both(SAME_SIZE, SCOT, 'wrong', 1)}",
        ),
    ]  # fmt: skip


def judge_times(settings: TableSettings, seconds: Mapping[str, Sequence[float]]) -> list[Finding]:
    """Whether SCOT is quicker than UVM by orders of magnitude: a hundred times or more."""
    scot = estimate(seconds[SCOT]).mean
    ratios = [estimate(seconds[uvm_row(n)]).mean / scot for n in settings.samples]
    times = ", ".join(f"{ratio:.3g}" for ratio in ratios)
    return [
        finding(
            NAME, "computation", min(ratios) >= ORDERS,
            f"UVM with {told(settings.samples)} samples takes {times} times as long",
        )
    ]  # fmt: skip


def _figure(settings: TableSettings, records: Sequence[Record]) -> Figure:
    rows = row_names(settings)
    places = tuple(float(i) for i in range(len(rows)))

    def bars(name: str, scale: float, *path: str) -> Series:
        found = [estimate(scale * _at(r, row, path) for r in records) for row in rows]
        return Series(
            name, places, tuple(e.mean for e in found),
            tuple(e.low for e in found), tuple(e.high for e in found),
        )  # fmt: skip

    def paper(column: str) -> Series:
        known = [(x, printed(NAME, row, column)) for x, row in zip(places, rows, strict=True)]
        there = [(x, found.value) for x, found in known if found is not None]
        return Series("the paper", tuple(x for x, _ in there), tuple(y for _, y in there))

    return Figure(
        NAME,
        "Teachers on random worlds",
        (
            Bars(
                "pairs in a lesson", "pairs", tuple(rows),
                (bars("ours", 1, "pairs"), paper(PAIRS)),
            ),
            Bars(
                "wrong actions after it", "% of states", tuple(rows),
                (*(bars(n, 100, n, "wrong") for n in (CHAIN, BIRL, LIKELIEST)), paper(WRONG)),
            ),
        ),
    )  # fmt: skip


STUDY = Study(
    NAME,
    TableSettings(),
    trial,
    summarise,
    title="Teachers compared on random 9x9 worlds (Table 1 and the appendix's full table)",
    quick=TableSettings(samples=(10_000, 100_000), chains=1, starts=1),
    judge_times=judge_times,
    departures=(
        "worlds are other draws of the same kind: weights uniform where absolute values sum to 1, "
        "one of the features in each cell, no end, every state a start",
        "half-spaces are exact; only the row 'SCOT, values to 1e-6' iterates, in place until "
        "nothing changes by 1e-6, which is our reading of the published program",
        "the published chain's moves are made in uniformly random order, so that the chain has the "
        "posterior as its limit; the likelihood is exact at every step",
        "the caption says 20 replicates, but two of its means fit 50; verdicts take 20",
        "seconds are of this machine; the paper does not name its own",
    ),
)
