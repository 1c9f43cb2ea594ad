"""The paper's table: teachers on random worlds, what learners make of them, beside its numbers.

Every trial is one random world. All teachers show single steps of it, and each lesson goes to three
learners: the paper's chain, our BIRL, and maximum likelihood. Three rows are not in the paper: the
proved minimum, SCOT extended to closure, and SCOT on half-spaces of the published precision.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np

from didact.bec.classes import EquivalenceClass, equivalence_class
from didact.mdp import Task
from didact.random import stream
from didact.studies.paper.common import (
    LOSS,
    PAIRS,
    STUCK,
    WRONG,
    chain_of,
    compared,
    drawn_seed,
    finding,
    is_stuck,
    learned,
    printed,
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
from didact.studies.study import Record, Study, setting, told
from didact.studies.summary import (
    Bars,
    Column,
    Estimate,
    Figure,
    Finding,
    Series,
    Summary,
    Table,
    TableCell,
    all_of,
    differences,
    estimate,
    series_of,
    table_of,
)
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
    bec = equivalence_class(task, arithmetic="exact")
    first = time.perf_counter() - began
    classless = {*CLASSLESS, *noisy_names(settings)}
    rows: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    lessons: dict[str, dict[str, Any]] = {}
    for name, show in _teachers(settings, number, task, bec).items():
        began = time.perf_counter()
        shown = show()
        seconds[name] = time.perf_counter() - began + (0.0 if name in classless else first)
        verdict = check(task, shown, bec=bec)
        words = repr(shown)
        if words not in lessons:  # some teachers find the same one
            lessons[words] = _lessons_learned(settings, number, task, bec, shown)
        rows[name] = {
            "pairs": sum(len(demonstration) for demonstration in shown),
            "teaches": verdict.teaches,
            "closed": verdict.closed,
            **lessons[words],
        }
    return {"world": world, "facets": bec.cone.n_facets, "rows": rows, "seconds": seconds}


Shown = list[Any]
"""The demonstrations of a lesson."""


def _teachers(
    settings: TableSettings, number: int, task: Task, bec: EquivalenceClass
) -> dict[str, Callable[[], Shown]]:
    """Every row's teacher: a function that makes its lesson."""
    seed = drawn_seed(settings.seed, NAME, number, "teachers")

    def lesson(teacher: str, **options: Any) -> Shown:
        found = teach(task, teacher=teacher, horizon=1, bec=bec, seed=seed, **options)
        return [list(d) for d in found.demonstrations]

    def of_the_same_size() -> Shown:
        n_pairs = teach(task, teacher="scot", horizon=1, bec=bec).n_pairs
        pairs = np.argwhere(bec.plan.optimal)
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
    settings: TableSettings, number: int, task: Task, bec: EquivalenceClass, shown: list[Any]
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
        name: learned(task, bec.plan, shown, options, seed) for name, options in learners.items()
    }
    others = [task.weights, found[BIRL][0], found[LIKELIEST][0]]
    stuck = is_stuck(task, shown, found[CHAIN][0], others, settings.confidence)
    return {**{name: losses for name, (_, losses) in found.items()}, "stuck": stuck}


@cache
def warm() -> None:
    """Compile what is timed, once in each worker, before the clock runs."""
    small = make("random-grid", size=9, n_features=3, seed=0)
    bec = equivalence_class(small, arithmetic="exact")
    for teacher, options in (("scot", {}), ("exact", {}), ("uvm", {"n_samples": 200_000})):
        teach(small, teacher=teacher, horizon=1, bec=bec, **options)


ORDERS = 100.0
"""Orders of magnitude: at least two."""
TEACHES, NOT_STUCK = "pin the class down", "chains not stuck"
UNITS = {"wrong": (100, " percentage points of wrong actions"), "loss": (1, " loss")}
"""By how much a measure is multiplied to be told, and what it is then."""


@dataclass(frozen=True)
class _Worlds:
    """The records of all worlds, read by row and by what stands there."""

    records: Sequence[Record]

    def values(self, row: str, *path: str) -> list[float]:
        """What stands at a path of a row, in every world."""
        return [_at(record, row, path) for record in self.records]

    def percents(self, row: str, learner: str) -> list[float]:
        """The states in which a learner does wrong after a row's lesson, in every world."""
        return [100 * share for share in self.values(row, learner, "wrong")]

    def mean(self, row: str, *path: str) -> float:
        """The mean over worlds."""
        return estimate(self.values(row, *path)).mean

    def less(self, one: str, other: str, what: str, learner: str = CHAIN) -> Estimate:
        """By how much less is lost after the lessons of the other."""
        scale, _ = UNITS[what]
        return differences(
            self.records,
            lambda record: scale * _at(record, one, (learner, what)),
            lambda record: scale * _at(record, other, (learner, what)),
        )

    def both(self, one: str, other: str, what: str, decimals: int) -> str:
        """The same in words, for the paper's learner and for ours."""
        chain, ours = (self.less(one, other, what, learner) for learner in (CHAIN, BIRL))
        return (
            f"{chain.told(decimals)}{UNITS[what][1]} with the published chain, "
            f"{ours.told(decimals)} with our BIRL"
        )


def _at(record: Record, row: str, path: Sequence[str]) -> float:
    value = record["rows"][row]
    for name in path:
        value = value[name]
    return float(value)


def summarise(settings: TableSettings, records: Sequence[Record]) -> Summary:
    """The paper's table with ours beside it, and a second one of what other learners make of it."""
    worlds, rows = _Worlds(records), row_names(settings)
    facets = estimate(record["facets"] for record in records)
    remarks = (
        f"A world has {facets.mean:.2f} facets on average ({facets.low:.2f} to {facets.high:.2f}).",
        "Percentages are of the states in which a wrong action is taken; losses are means over all "
        "starts.",
        "A chain is stuck when the true weights, or those of another learner, are likelier by more "
        f"than {STUCK:g} nats than the best that it found.",
    )
    return Summary(
        (_lessons(worlds, rows), _learners(worlds, rows)),
        (_figure(worlds, rows),),
        tuple(_findings(settings, worlds)),
        remarks,
    )


def _lessons(worlds: _Worlds, rows: Iterable[str]) -> Table:
    """Every teacher's lessons, and what the paper's chain makes of them."""

    def beside(column: str, values: Callable[[str], Iterable[float]]) -> list[TableCell]:
        """A cell of each row, with the paper's number where it prints one."""
        return [
            compared(NAME, row, column, values(row), papers=SCOT if row == ROUNDED else None)
            for row in rows
        ]

    columns = {
        Column(PAIRS): beside(PAIRS, lambda row: worlds.values(row, "pairs")),
        Column(TEACHES, "count"): beside(TEACHES, lambda row: worlds.values(row, "teaches")),
        Column(LOSS, decimals=3): beside(LOSS, lambda row: worlds.values(row, CHAIN, "loss")),
        Column(WRONG, "percent"): beside(WRONG, lambda row: worlds.percents(row, CHAIN)),
        Column(NOT_STUCK, "count"): beside(
            NOT_STUCK, lambda row: (1 - stuck for stuck in worlds.values(row, "stuck"))
        ),
    }
    n = len(worlds.records)
    title = f"Lessons of single steps on {n} random worlds; the paper's chain learns"
    return table_of(title, "teacher", rows, columns)


def _learners(worlds: _Worlds, rows: Iterable[str]) -> Table:
    """The same lessons with every learner."""
    columns = {}
    for name in (CHAIN, BIRL, LIKELIEST):
        losses = [estimate(worlds.values(row, name, "loss")) for row in rows]
        columns[Column(f"{name}: loss", decimals=3)] = losses
        wrong = [estimate(worlds.percents(row, name)) for row in rows]
        columns[Column(f"{name}: wrong", "percent")] = wrong
    return table_of("The same lessons, other learners", "teacher", rows, columns)


# What the paper says of its table, judged with its own learner; ours is named beside it.

_says = partial(finding, NAME)


def _findings(settings: TableSettings, worlds: _Worlds) -> list[Finding]:
    volumes = [uvm_row(n) for n in settings.samples]
    more = worlds.less(SAME_SIZE, SCOT, "wrong")
    word, both = ("more", (SAME_SIZE, SCOT)) if more.mean >= 0 else ("less", (SCOT, SAME_SIZE))
    return [
        *_on_volumes(volumes, worlds),
        _on_accuracy(volumes[-1], worlds),
        *_on_redundancy(worlds),
        _says(
            "random",
            more.is_positive,
            f"after as many random pairs {word} by {worlds.both(*both, 'wrong', 1)}",
        ),
    ]


def _on_volumes(volumes: Sequence[str], worlds: _Worlds) -> list[Finding]:
    """Pairs and loss of UVM by number of samples."""
    fewest, most, many = volumes[0], volumes[-1], len(volumes) > 1
    pairs = [worlds.mean(row, "pairs") for row in volumes]
    minimum = worlds.mean(MINIMUM, "pairs")
    texts = ", ".join(f"{p:.2f}" for p in pairs)
    rises = all(a < b for a, b in pairwise(pairs)) if many else None
    falls = worlds.less(fewest, most, "loss").is_positive if many else None
    loss = worlds.both(fewest, most, "loss", 3)
    return [
        _says("underestimates", max(pairs) < minimum, f"{texts} pairs; {minimum:.2f} are needed"),
        _says("samples", rises, f"{texts} pairs"),
        _says("slightly", falls, f"from {fewest} to {most} by {loss}"),
    ]


def _on_accuracy(most: str, worlds: _Worlds) -> Finding:
    """Whether SCOT's lessons pin the class down and lead to fewer wrong actions than UVM's."""
    n = len(worlds.records)
    taught = sum(value == 1.0 for value in worlds.values(SCOT, "teaches"))
    fewer = worlds.less(most, SCOT, "wrong")
    word, rows = ("less", (most, SCOT)) if fewer.mean >= 0 else ("more", (SCOT, most))
    return _says(
        "accurate",
        all_of([taught == n, fewer.is_positive]),
        f"{taught} of its {n} lessons pin the class down; {word} than after {most} by "
        f"{worlds.both(*rows, 'wrong', 1)}",
    )


def _on_redundancy(worlds: _Worlds) -> list[Finding]:
    """Lessons of all half-spaces: twice as large at least, and what that is good for."""
    larger = differences(
        worlds.records,
        lambda record: _at(record, REDUNDANT, ("pairs",)),
        lambda record: 2 * _at(record, SCOT, ("pairs",)),
    )
    sizes = f"{worlds.mean(REDUNDANT, 'pairs'):.2f} pairs, not {worlds.mean(SCOT, 'pairs'):.2f}"
    lower = worlds.less(SCOT, REDUNDANT, "loss").is_positive
    return [
        _says("redundant", larger.is_positive, sizes),
        _says("redundant-loss", lower, f"lower by {worlds.both(SCOT, REDUNDANT, 'loss', 3)}"),
    ]


def judge_times(settings: TableSettings, seconds: Mapping[str, Sequence[float]]) -> list[Finding]:
    """Whether SCOT is quicker than UVM by orders of magnitude: a hundred times or more."""
    scot = estimate(seconds[SCOT]).mean
    ratios = [estimate(seconds[uvm_row(n)]).mean / scot for n in settings.samples]
    times = ", ".join(f"{ratio:.3g}" for ratio in ratios)
    evidence = f"UVM with {told(settings.samples)} samples takes {times} times as long"
    return [_says("computation", min(ratios) >= ORDERS, evidence)]


def _figure(worlds: _Worlds, rows: Sequence[str]) -> Figure:
    places = range(len(rows))
    pairs = series_of("ours", places, [estimate(worlds.values(row, "pairs")) for row in rows])
    wrong = [
        series_of(name, places, [estimate(worlds.percents(row, name)) for row in rows])
        for name in (CHAIN, BIRL, LIKELIEST)
    ]
    categories = tuple(rows)
    panels = (
        Bars("pairs in a lesson", "pairs", categories, (pairs, _papers(rows, PAIRS))),
        Bars("wrong actions after it", "% of states", categories, (*wrong, _papers(rows, WRONG))),
    )
    return Figure(NAME, "Teachers on random worlds", panels)


def _papers(rows: Sequence[str], column: str) -> Series:
    """The paper's numbers, of the rows that it has."""
    known = [(float(place), printed(NAME, row, column)) for place, row in enumerate(rows)]
    there = [(place, found.value) for place, found in known if found is not None]
    return Series("the paper", tuple(x for x, _ in there), tuple(y for _, y in there))


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
