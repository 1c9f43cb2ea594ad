"""How many demonstrations does a lesson need? Families of worlds, and good-enough lessons.

**Families**: how many worlds must be shown before unseen ones follow? One reward, random grids as
members, and other grids that no lesson was made for. For each number of members: the fewest pairs,
proved; how many members they are of; and the share of unseen worlds that they determine completely.
Beside it what teaching every member alone would show, and what as many optimal pairs drawn at
random determine.

**Frontier**: how few demonstrations are good enough? Every trial is one random grid. For each bound
on the loss, as a share of V* less V of the uniformly random policy: the fewest demonstrations that
keep learners who take half-spaces within it, with a lower bound; how many of SCOT's, in its own
order, do; and how many that are drawn at random. Both single pairs and whole trajectories are
counted. What is lost is searched, and then every class of policies that fits is visited, up to a
number of them: a trial is the same on every computer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from didact.bec.classes import EquivalenceClass, demonstration_rows, equivalence_class
from didact.mdp import Family
from didact.random import stream
from didact.studies.study import Record, Study, setting
from didact.studies.summary import (
    Column,
    Estimate,
    Figure,
    Lines,
    Series,
    Summary,
    estimate,
    series_of,
    table_of,
)
from didact.teaching import Lesson, teach
from didact.teaching.covers.candidates import offers_of, starts_of
from didact.teaching.covers.problem import Problem, cover_elements, offered_candidates
from didact.teaching.lesson import ENUMERATED
from didact.teaching.loss.good_enough import Goal, SharedFindings, cheapest_within
from didact.teaching.loss.region import region_of, worst_cell
from didact.teaching.loss.search import Cuts, boundary_rounds
from didact.teaching.loss.space import WeightSpace, weight_space
from didact.teaching.teachers import greedy_picks
from didact.teaching.transfer import n_determined
from didact.worlds import make

# Families.

FAMILY_COLUMNS = {
    "facets": "facets",
    "pairs": "fewest pairs",
    "members_used": "members used",
    "determined": "unseen determined",
    "union": "pairs, each member alone",
    "random_determined": "as many random pairs determine",
}


@dataclass(frozen=True)
class FamilySettings:
    """Random grids of the paper's size and features, one reward for all of a trial."""

    trials: int = setting(10, source="our choice", paper=None)
    members: tuple[int, ...] = setting((1, 5, 20, 100, 300), source="our choice", paper=None)
    unseen: int = setting(100, source="our choice", paper=None)
    size: int = setting(9, source="the paper's random grids")
    n_features: int = setting(8, source="the paper's random grids")
    seed: int = setting(0, source="our choice", paper=None)


def family_trial(settings: FamilySettings, number: int) -> Record:
    """One reward; for each number of members what their lesson shows and determines."""
    rng = stream(settings.seed, "families", number)
    reward, first = (int(entry) for entry in rng.integers(2**31, size=2))
    most = max(settings.members)
    drawn = make(
        "random-grid",
        size=settings.size,
        n_features=settings.n_features,
        weights_seed=reward,
        seed=first,
        members=most + settings.unseen,
    )
    unseen = [equivalence_class(task) for task in drawn.members[most:]]
    alone = [len(_smallest(task).demonstrations) for task in drawn.members[:most]]
    record: dict[str, Any] = {}
    for n in settings.members:
        bec = equivalence_class(Family(drawn.members[:n]))
        lesson = _smallest(bec.family, bec=bec)
        by_chance = teach(
            bec.family, teacher="random", horizon=1, bec=bec, seed=first, n=lesson.n_pairs
        )
        record[str(n)] = {
            "facets": bec.cone.n_facets,
            "pairs": lesson.n_pairs,
            "proved": lesson.is_fewest,
            "members_used": len({d.member for d in lesson.demonstrations}),
            "determined": _share(bec, lesson, unseen),
            "union": sum(alone[:n]),
            "random_determined": _share(bec, by_chance, unseen),
        }
    return record


def _smallest(task: Any, **bec: Any) -> Lesson:
    """The proved smallest lesson of single pairs."""
    lesson: Lesson = teach(task, teacher="exact", horizon=1, **bec)
    return lesson


def _share(bec: EquivalenceClass, lesson: Lesson, unseen: Sequence[Any]) -> float:
    """The share of unseen worlds that a lesson determines."""
    rows = demonstration_rows(bec, lesson.demonstrations)
    return n_determined(rows, unseen) / len(unseen)


def summarise_families(settings: FamilySettings, records: Sequence[Record]) -> Summary:
    """Every measure by the number of members, and the shares as curves."""
    found = {
        title: [estimate(float(r[str(n)][measure]) for r in records) for n in settings.members]
        for measure, title in FAMILY_COLUMNS.items()
    }
    columns = {Column(title): means for title, means in found.items()}
    table = table_of("Lessons of families", "members", settings.members, columns)
    n_proved = sum(bool(r[str(n)]["proved"]) for r in records for n in settings.members)
    total = len(records) * len(settings.members)
    remark = f"{n_proved} of {total} lessons are proved to have the fewest pairs."
    return Summary((table,), (_family_figure(settings, found),), (), (remark,))


def _family_figure(settings: FamilySettings, found: dict[str, list[Estimate]]) -> Figure:
    def line(name: str, measure: str, most: float = math.inf) -> Series:
        return series_of(
            name, settings.members, found[FAMILY_COLUMNS[measure]], least=0.0, most=most
        )

    shares = Lines(
        "How many worlds must be shown?",
        "members",
        "share of unseen worlds determined",
        (
            line("fewest pairs", "determined", 1.0),
            line("random pairs", "random_determined", 1.0),
        ),
    )
    sizes = Lines(
        "How much must be shown?",
        "members",
        "pairs",
        (line("fewest for all", "pairs"), line("each member alone", "union")),
        log_y=True,
    )
    return Figure("families", "Families: one reward, many worlds", (shares, sizes))


FAMILIES = Study(
    "families",
    FamilySettings(),
    family_trial,
    summarise_families,
    title="Families: how many worlds must be shown before unseen ones follow",
    quick=FamilySettings(trials=2, members=(1, 3, 8), unseen=10, size=5, n_features=4),
)


# Frontier.

KINDS = {"pairs": 1, "trajectories": None}
"""What is shown, and the horizon of it."""
FRONTIER_COLUMNS = {
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


def frontier_trial(settings: FrontierSettings, number: int) -> Record:
    """One world: for pairs and trajectories, and each bound, the numbers that keep to it."""
    world = int(stream(settings.seed, "frontier", number, "world").integers(2**31))
    task = make("random-grid", size=settings.size, n_features=settings.n_features, seed=world)
    bec = equivalence_class(task)
    space = weight_space(bec)
    record: dict[str, Any] = {"world": world}
    for kind, horizon in KINDS.items():
        rng = stream(settings.seed, "frontier", number, kind)
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
        numbers, found = cheapest_within(problem, goal, time_limit=math.inf, rng=rng)
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


def summarise_frontier(settings: FrontierSettings, records: Sequence[Record]) -> Summary:
    """Sizes by bound, in a table and a figure for each kind of demonstration."""
    tables, lines = [], []
    for kind in KINDS:
        found = {
            title: [
                estimate(float(record[kind][str(loss)][measure]) for record in records)
                for loss in settings.losses
            ]
            for measure, title in FRONTIER_COLUMNS.items()
        }
        columns = {Column(title): sizes for title, sizes in found.items()}
        bounds = [f"{100 * loss:g}%" for loss in settings.losses]
        tables.append(table_of(f"Good-enough lessons: {kind}", "loss", bounds, columns))
        lines.append(_frontier_lines(settings, kind, found))
    every = [r[kind][str(loss)] for r in records for kind in KINDS for loss in settings.losses]
    n_proved = sum(bool(size["proved"]) for size in every)
    remark = f"{n_proved} of {len(every)} lessons meet their lower bound, with every class visited."
    figure = Figure("frontier", "How few are good enough?", tuple(lines))
    return Summary(tuple(tables), (figure,), (), (remark,))


def _frontier_lines(
    settings: FrontierSettings, kind: str, found: dict[str, list[Estimate]]
) -> Lines:
    percents = [100 * loss for loss in settings.losses]
    titles = [FRONTIER_COLUMNS[measure] for measure in ("fewest", "scot", "random")]
    series = tuple(series_of(title, percents, found[title], least=0.0) for title in titles)
    return Lines(kind, "loss allowed, % of best less random", kind, series, log_y=True)


FRONTIER = Study(
    "frontier",
    FrontierSettings(),
    frontier_trial,
    summarise_frontier,
    title="Good-enough lessons: how few keep within how much of the best",
    quick=FrontierSettings(trials=3, losses=(0.0, 0.01, 0.1), size=4, n_features=3, cells=1000),
)
