"""How lessons grow with the number of features: SCOT and UVM on 6x6 worlds.

The teacher's policy is deterministic, the first optimal action in each state, so that there is one
demonstration from each start and no tie that could end UVM's volume. Every trial is one number of
features and one world.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from didact.bec.classes import equivalence_class
from didact.mdp import Task
from didact.random import stream
from didact.studies.figure import Figure, Lines
from didact.studies.paper.lessons import drawn_seed
from didact.studies.paper.pictures import line
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
    differences,
    estimate,
    finding,
    is_positive,
)
from didact.teaching import check
from didact.teaching.covers.candidates import as_starts, candidate_demonstrations
from didact.teaching.covers.elements import cover_elements
from didact.teaching.covers.problem import Problem
from didact.teaching.methods.scot import scot
from didact.teaching.methods.uvm import minimise_uncertainty
from didact.worlds import make

NAME = "features"
SCOT, UVM = "SCOT", "UVM"
MANY = 10
"""From so many features on, the paper finds, UVM underestimates."""
NEARLY_A_THOUSAND = 300.0
"""Nearly three orders of magnitude."""


@dataclass(frozen=True)
class FeatureSettings:
    """Worlds of one size with more and more features."""

    trials: int = setting(30, source="appendix, Figure 7, caption: 30 runs")
    features: tuple[int, ...] = setting(
        (2, 4, 6, 8, 10, 12, 14, 16, 18, 20),
        source="our reading of Figure 7: 2 to 20 in steps of 2", paper=None,
    )  # fmt: skip
    size: int = setting(6, source="appendix, full results")
    horizon: int = setting(6, source="appendix, full results")
    samples: int = setting(1_000_000, source="appendix, Figure 7, caption")
    discount: float = setting(0.95, source="appendix, full results (of the table before)")
    seed: int = setting(0, source="our choice", paper=None)


def n_trials(settings: FeatureSettings) -> int:
    """One for each number of features and run."""
    return settings.trials * len(settings.features)


def trial(settings: FeatureSettings, number: int) -> Record:
    """Both lessons for one world: demonstrations, pairs, whether they teach."""
    warm()
    n_features = settings.features[number % len(settings.features)]
    world = drawn_seed(settings.seed, NAME, number, "world")
    task = make(
        "random-grid", size=settings.size, n_features=n_features, discount=settings.discount,
        seed=world,
    )  # fmt: skip
    rng = stream(settings.seed, NAME, number, "uvm")
    return {
        "world": world,
        "features": n_features,
        **_both(task, settings.horizon, settings.samples, rng),
    }


def _both(task: Task, horizon: int, n_samples: int, rng: np.random.Generator) -> Record:
    began = time.perf_counter()
    known = equivalence_class(task, arithmetic="exact")
    first = np.zeros_like(known.plan.optimal)
    first[np.arange(len(first)), known.plan.optimal.argmax(axis=1)] = True
    candidates = candidate_demonstrations(
        task.mdp,
        replace(known.plan, optimal=first),
        starts=as_starts(task.mdp, None),
        horizon=horizon,
        rollouts=None,
        seed=0,
    )
    problem = Problem(cover_elements(known), candidates, [1] * len(candidates))
    _ = problem.stated
    shared = time.perf_counter() - began
    found: dict[str, object] = {"facets": known.cone.n_facets}
    seconds = {}
    for name in (SCOT, UVM):
        began = time.perf_counter()
        picks = scot(problem, rng) if name == SCOT else minimise_uncertainty(
            problem, rng, n_samples=n_samples
        )  # fmt: skip
        seconds[name] = time.perf_counter() - began + shared
        shown = [candidates[picked] for picked in picks.numbers]
        found[name] = {
            "demonstrations": len(shown),
            "pairs": sum(len(demonstration) for demonstration in shown),
            "teaches": check(task, shown, known=known).teaches,
        }
    n_features = task.mdp.n_features
    return {**found, "seconds": {f"{name}, {n_features}": s for name, s in seconds.items()}}


@cache
def warm() -> None:
    """Compile what is timed, once in each worker, before the clock runs."""
    small = make("random-grid", size=9, n_features=3, seed=0)
    _both(small, 6, 200_000, np.random.default_rng(0))


def summarise(settings: FeatureSettings, records: Sequence[Record]) -> Summary:
    """Pairs by number of features, drawn with their intervals."""
    by_features = {
        n: [record for record in records if record["features"] == n] for n in settings.features
    }
    by_features = {n: found for n, found in by_features.items() if found}
    cells = []
    for n, found in by_features.items():
        row = str(n)
        cells.append(Cell(row, "facets", estimate(r["facets"] for r in found)))
        for name in (SCOT, UVM):
            cells += [
                Cell(row, f"{name}: pairs", estimate(r[name]["pairs"] for r in found)),
                Cell(row, f"{name}: teaches", estimate(r[name]["teaches"] for r in found)),
            ]
    columns = (
        Column("facets"), Column(f"{SCOT}: pairs"), Column(f"{SCOT}: teaches", "count"),
        Column(f"{UVM}: pairs"), Column(f"{UVM}: teaches", "count"),
    )  # fmt: skip
    lines = {
        name: [estimate(r[name]["pairs"] for r in found) for found in by_features.values()]
        for name in (SCOT, UVM)
    }
    xs = [float(n) for n in by_features]
    figure = Figure(
        NAME,
        "Lessons by number of features",
        (
            Lines(
                "pairs in a lesson", "features", "pairs",
                tuple(line(name, xs, found) for name, found in lines.items()),
            ),
        ),
    )  # fmt: skip
    title = f"Demonstrations of {settings.horizon} steps, {settings.size}x{settings.size} worlds"
    table = Table(title, "features", columns, tuple(cells))
    return Summary((table,), (figure,), _findings(by_features))


def _findings(by_features: Mapping[int, Sequence[Record]]) -> tuple[Finding, ...]:
    scot, uvm = (
        {n: estimate(r[name]["pairs"] for r in found) for n, found in by_features.items()}
        for name in (SCOT, UVM)
    )
    first, last = min(by_features), max(by_features)
    many = [n for n in by_features if n >= MANY]
    fewer = [
        differences(by_features[n], lambda r: r[SCOT]["pairs"], lambda r: r[UVM]["pairs"])
        for n in many
    ]
    taught = sum(bool(r[UVM]["teaches"]) for n in many for r in by_features[n])
    peak = max(uvm, key=lambda n: uvm[n].mean)
    return (
        finding(
            NAME, "grows", _is_above(scot[last], scot[first]) if first < last else None,
            f"{scot[first].mean:.1f} pairs with {first} features, "
            f"{scot[last].mean:.1f} with {last}",
        ),
        finding(
            NAME, "underestimates", all_of(is_positive(found) for found in fewer),
            f"fewer pairs than SCOT by {', '.join(f'{found.mean:.1f}' for found in fewer) or '-'} "
            f"with {told(tuple(many)) or '-'} features; {taught} of UVM's "
            f"{sum(len(by_features[n]) for n in many)} lessons there teach",
        ),
        finding(
            NAME, "plateau", _is_above(uvm[peak], uvm[last]) if first < last else None,
            f"{uvm[peak].mean:.1f} pairs with {peak} features, the most, "
            f"and {uvm[last].mean:.1f} with {last}",
        ),
    )  # fmt: skip


def _is_above(one: Estimate, other: Estimate) -> bool | None:
    """Whether the mean of one is above that of the other, independent, trials."""
    if one.low > other.high:
        return True
    return False if one.high < other.low else None


def judge_times(settings: FeatureSettings, seconds: Mapping[str, Sequence[float]]) -> list[Finding]:
    """Whether UVM takes nearly a thousand times as long, taken as 300 times or more."""
    ratios = {
        n: estimate(seconds[f"{UVM}, {n}"]).mean / estimate(seconds[f"{SCOT}, {n}"]).mean
        for n in settings.features
        if f"{UVM}, {n}" in seconds
    }
    return [
        finding(
            NAME, "computation", min(ratios.values()) >= NEARLY_A_THOUSAND,
            f"UVM takes {min(ratios.values()):.3g} to {max(ratios.values()):.3g} times as long",
        )
    ]  # fmt: skip


def draw_times(settings: FeatureSettings, seconds: Mapping[str, Sequence[float]]) -> list[Figure]:
    """Seconds by number of features, on a logarithmic scale."""
    series = []
    for name in (SCOT, UVM):
        known = [n for n in settings.features if f"{name}, {n}" in seconds]
        found = [estimate(seconds[f"{name}, {n}"]) for n in known]
        series.append(line(name, [float(n) for n in known], found))
    panel = Lines("seconds for a lesson", "features", "seconds", tuple(series), log_y=True)
    return [Figure(f"{NAME}-times", "Time by number of features", (panel,))]


STUDY = Study(
    NAME,
    FeatureSettings(),
    trial,
    summarise,
    title="Lessons and time by number of features (appendix, Figure 7)",
    quick=FeatureSettings(trials=4, features=(2, 6, 10, 14), samples=100_000),
    n_trials=n_trials,
    draw_times=draw_times,
    judge_times=judge_times,
    departures=(
        "worlds are drawn as for the table; the paper does not say how",
        "half-spaces are exact, so tied actions with equal counts give none",
    ),
)
