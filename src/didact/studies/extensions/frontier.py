"""How few demonstrations are good enough? Sizes of lessons against what may still be lost.

Every trial is one random grid. For each bound on the loss, as a share of V* less V of the uniformly
random policy: the fewest demonstrations that keep learners who take half-spaces within it, with a
lower bound; how many of SCOT's, in its own order, do; and how many that are drawn at random. Both
single pairs and whole trajectories are counted. What is lost is searched, and then every class of
policies that fits is visited, up to a number of them: a trial is the same on every computer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from didact.bec.classes import EquivalenceClass, equivalence_class
from didact.random import stream
from didact.studies.study import Record, Study, setting
from didact.studies.summary import (
    Estimate,
    Figure,
    Lines,
    Summary,
    estimate,
    series_of,
    table_of,
)
from didact.teaching.covers.candidates import offers_of, starts_of
from didact.teaching.covers.problem import Problem, cover_elements, offered_candidates
from didact.teaching.lesson import ENUMERATED
from didact.teaching.loss.good_enough import Goal, SharedFindings, good_enough
from didact.teaching.loss.region import region_of, worst_cell
from didact.teaching.loss.search import Cuts, boundary_rounds
from didact.teaching.loss.space import WeightSpace, weight_space
from didact.teaching.teachers import greedy_picks
from didact.worlds import make

NAME = "frontier"
KINDS = {"pairs": 1, "trajectories": None}
"""What is shown, and the horizon of it."""
COLUMNS = {
    "fewest": "fewest",
    "bound": "at least",
    "scot": "SCOT's first",
    "random": "random ones",
    "proved": "share enumerated",
}


@dataclass(frozen=True)
class FrontierSettings:
    """Random grids of the paper's size and features, and bounds from nothing to a tenth."""

    trials: int = setting(20, source="our choice", paper=None)
    losses: tuple[float, ...] = setting((0.0, 0.001, 0.01, 0.05, 0.1), source="our choice")
    size: int = setting(9, source="the paper's random grids")
    n_features: int = setting(8, source="the paper's random grids")
    cells: int = setting(5000, source="our choice: classes of policies visited for one lesson")
    seed: int = setting(0, source="our choice", paper=None)


def trial(settings: FrontierSettings, number: int) -> Record:
    """One world: for pairs and trajectories, and each bound, the numbers that keep to it."""
    world = int(stream(settings.seed, NAME, number, "world").integers(2**31))
    task = make("random-grid", size=settings.size, n_features=settings.n_features, seed=world)
    bec = equivalence_class(task)
    space = weight_space(bec)
    record: dict[str, Any] = {"world": world}
    for kind, horizon in KINDS.items():
        rng = stream(settings.seed, NAME, number, kind)
        record[kind] = _sizes(settings, _problem(bec, horizon), space, rng)
    return record


def _problem(bec: EquivalenceClass, horizon: int | None) -> Problem:
    """What could be shown, each at the same cost."""
    elements = cover_elements(bec)
    starts = starts_of(bec.task, None)
    assert starts is not None
    offers = offers_of(bec, starts, horizon)
    candidates, masks = offered_candidates(elements, offers, rollouts=None, seed=0)
    return Problem(elements, candidates, [1] * len(candidates), given_masks=masks)


def _sizes(
    settings: FrontierSettings, problem: Problem, space: WeightSpace, rng: np.random.Generator
) -> dict[str, Any]:
    """For each bound, from the largest on: how many are needed, chosen best, by SCOT, by chance."""
    scot = list(greedy_picks(problem))
    chance = rng.permutation(len(problem.candidates)).tolist()
    sizes: dict[str, Any] = {}
    witnesses: Any = ()
    for loss in sorted(settings.losses, reverse=True):
        shared = SharedFindings(witnesses, most_cells=settings.cells)
        goal = Goal(loss, loss, True, ("half-spaces",), False, shared)
        numbers, found = good_enough(problem, space, goal, time_limit=math.inf, rng=rng)
        witnesses = found.witnesses
        cuts = Cuts(problem, space, loss * space.spread)
        sizes[str(loss)] = {
            "fewest": len(numbers),
            "bound": int(found.lower_bound),
            "proved": found.statuses["half-spaces"] == ENUMERATED
            and found.lower_bound == len(numbers),
            "scot": _needed(cuts, scot, settings.cells, rng),
            "random": _needed(cuts, chance, settings.cells, rng),
        }
    return sizes


def _needed(cuts: Cuts, order: Sequence[int], cells: int, rng: np.random.Generator) -> int:
    """How many of the first candidates keep to the bound; losses never rise with more shown."""
    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        if _exceeds(cuts, order[:middle], cells, rng):
            low = middle + 1
        else:
            high = middle
    return low


def _exceeds(cuts: Cuts, chosen: Sequence[int], cells: int, rng: np.random.Generator) -> bool:
    """Whether some reward that fits is found to lose more than the bound."""
    region = region_of(cuts.space, cuts.rows_of(chosen))
    if any(lost.losses.max() > cuts.limit for _, lost in boundary_rounds(region, rng)):
        return True
    worst = worst_cell(region, cuts.limit, most_cells=cells).worst
    return worst is not None and worst.loss > cuts.limit


def summarise(settings: FrontierSettings, records: Sequence[Record]) -> Summary:
    """Sizes by bound, in a table and a figure for each kind of demonstration."""
    tables, lines = [], []
    for kind in KINDS:
        found = {
            title: [
                estimate(float(record[kind][str(loss)][measure]) for record in records)
                for loss in settings.losses
            ]
            for measure, title in COLUMNS.items()
        }
        bounds = [f"{100 * loss:g}%" for loss in settings.losses]
        tables.append(table_of(f"Good-enough lessons: {kind}", "loss", bounds, found))
        lines.append(_lines(settings, kind, found))
    every = [r[kind][str(loss)] for r in records for kind in KINDS for loss in settings.losses]
    n_proved = sum(bool(size["proved"]) for size in every)
    remark = f"{n_proved} of {len(every)} lessons meet their lower bound, with every class visited."
    figure = Figure(NAME, "How few are good enough?", tuple(lines))
    return Summary(tuple(tables), (figure,), (), (remark,))


def _lines(settings: FrontierSettings, kind: str, found: dict[str, list[Estimate]]) -> Lines:
    percents = [100 * loss for loss in settings.losses]
    titles = [COLUMNS[measure] for measure in ("fewest", "scot", "random")]
    series = tuple(series_of(title, percents, found[title], least=0.0) for title in titles)
    return Lines(kind, "loss allowed, % of best less random", kind, series, log_y=True)


STUDY = Study(
    NAME,
    FrontierSettings(),
    trial,
    summarise,
    title="Good-enough lessons: how few keep within how much of the best",
    quick=FrontierSettings(trials=3, losses=(0.0, 0.01, 0.1), size=4, n_features=3, cells=1000),
)
