"""How lessons grow with the number of features: SCOT and UVM on 6x6 worlds.

The teacher's policy is deterministic, the first optimal action in each state, so that there is one
demonstration from each start and no tie that could end UVM's volume. Every trial is one number of
features and one world.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from didact.bec.classes import EquivalenceClass, equivalence_class
from didact.mdp import Task
from didact.random import stream
from didact.studies.paper.common import finding, random_world
from didact.studies.study import Record, Study, setting, told
from didact.studies.summary import (
    Column,
    Estimate,
    Figure,
    Finding,
    Lines,
    Summary,
    Table,
    all_of,
    differences,
    estimate,
    series_of,
    table_of,
)
from didact.teaching import check
from didact.teaching.covers.candidates import as_starts, candidate_demonstrations, first_action
from didact.teaching.covers.problem import Picks, Problem, cover_elements
from didact.teaching.teachers import minimise_uncertainty, scot
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
        tuple(range(2, 21, 2)),
        source="our reading of Figure 7: 2 to 20 in steps of 2",
        paper=None,
    )
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
    world, task = random_world(NAME, settings, number, n_features)
    rng = stream(settings.seed, NAME, number, "uvm")
    return {
        "world": world,
        "features": n_features,
        **_both(task, settings.horizon, settings.samples, rng),
    }


def _both(task: Task, horizon: int, n_samples: int, rng: np.random.Generator) -> Record:
    """SCOT's and UVM's lessons, and the seconds of each, with what both need found once."""
    began = time.perf_counter()
    bec = equivalence_class(task, arithmetic="exact")
    problem = _one_walk_from_each_start(bec, horizon)
    shared = time.perf_counter() - began
    teachers: dict[str, Callable[[], Picks]] = {
        SCOT: lambda: scot(problem, rng),
        UVM: lambda: minimise_uncertainty(problem, rng, n_samples=n_samples),
    }
    found: dict[str, object] = {"facets": bec.cone.n_facets}
    seconds = {}
    for name, pick in teachers.items():
        began = time.perf_counter()
        picks = pick()
        seconds[f"{name}, {task.mdp.n_features}"] = time.perf_counter() - began + shared
        shown = [problem.candidates[picked] for picked in picks.numbers]
        found[name] = {
            "demonstrations": len(shown),
            "pairs": sum(len(demonstration) for demonstration in shown),
            "teaches": check(task, shown, bec=bec).teaches,
        }
    return {**found, "seconds": seconds}


def _one_walk_from_each_start(bec: EquivalenceClass, horizon: int) -> Problem:
    """The cover problem whose candidates take the first optimal action in each state."""
    mdp = bec.task.mdp
    candidates = candidate_demonstrations(
        mdp,
        first_action(bec.plan),
        starts=as_starts(mdp, None),
        horizon=horizon,
        rollouts=None,
        seed=0,
    )
    problem = Problem(cover_elements(bec), candidates, [1] * len(candidates))
    _ = problem.stated  # found when first asked for, and both teachers ask
    return problem


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
    table = _table(settings, by_features)
    return Summary((table,), (_figure(by_features),), _findings(by_features))


def _pairs(name: str, by_features: Mapping[int, Sequence[Record]]) -> dict[int, Estimate]:
    """A teacher's pairs by number of features."""
    return {n: estimate(r[name]["pairs"] for r in found) for n, found in by_features.items()}


def _table(settings: FeatureSettings, by_features: Mapping[int, Sequence[Record]]) -> Table:
    every = by_features.values()
    columns = {Column("facets"): [estimate(r["facets"] for r in found) for found in every]}
    for name in (SCOT, UVM):
        columns[Column(f"{name}: pairs")] = [*_pairs(name, by_features).values()]
        taught = [estimate(record[name]["teaches"] for record in found) for found in every]
        columns[Column(f"{name}: teaches", "count")] = taught
    title = f"Demonstrations of {settings.horizon} steps, {settings.size}x{settings.size} worlds"
    return table_of(title, "features", by_features, columns)


def _figure(by_features: Mapping[int, Sequence[Record]]) -> Figure:
    series = [
        series_of(name, by_features, [*_pairs(name, by_features).values()]) for name in (SCOT, UVM)
    ]
    panel = Lines("pairs in a lesson", "features", "pairs", tuple(series))
    return Figure(NAME, "Lessons by number of features", (panel,))


_says = partial(finding, NAME)


def _findings(by_features: Mapping[int, Sequence[Record]]) -> tuple[Finding, ...]:
    scot, uvm = (_pairs(name, by_features) for name in (SCOT, UVM))
    first, last = min(by_features), max(by_features)
    peak = max(uvm, key=lambda n: uvm[n].mean)
    return (
        _says(
            "grows",
            _is_above(scot[last], scot[first]) if first < last else None,
            f"{scot[first].mean:.1f} pairs with {first} features, "
            f"{scot[last].mean:.1f} with {last}",
        ),
        _on_many({n: found for n, found in by_features.items() if n >= MANY}),
        _says(
            "plateau",
            _is_above(uvm[peak], uvm[last]) if first < last else None,
            f"{uvm[peak].mean:.1f} pairs with {peak} features, the most, "
            f"and {uvm[last].mean:.1f} with {last}",
        ),
    )


def _on_many(many: Mapping[int, Sequence[Record]]) -> Finding:
    """Whether UVM picks too few pairs where there are many features."""
    fewer = [
        differences(found, lambda r: r[SCOT]["pairs"], lambda r: r[UVM]["pairs"])
        for found in many.values()
    ]
    taught = sum(bool(r[UVM]["teaches"]) for found in many.values() for r in found)
    return _says(
        "underestimates",
        all_of(found.is_positive for found in fewer),
        f"fewer pairs than SCOT by {', '.join(f'{found.mean:.1f}' for found in fewer) or '-'} "
        f"with {told(tuple(many)) or '-'} features; {taught} of UVM's "
        f"{sum(len(found) for found in many.values())} lessons there teach",
    )


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
    least, most = min(ratios.values()), max(ratios.values())
    evidence = f"UVM takes {least:.3g} to {most:.3g} times as long"
    return [_says("computation", least >= NEARLY_A_THOUSAND, evidence)]


def draw_times(settings: FeatureSettings, seconds: Mapping[str, Sequence[float]]) -> list[Figure]:
    """Seconds by number of features, on a logarithmic scale."""
    series = []
    for name in (SCOT, UVM):
        known = [n for n in settings.features if f"{name}, {n}" in seconds]
        found = [estimate(seconds[f"{name}, {n}"]) for n in known]
        series.append(series_of(name, known, found))
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
