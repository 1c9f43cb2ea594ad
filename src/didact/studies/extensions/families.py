"""How many worlds must be shown before unseen ones follow? Lessons of families that grow.

One reward, random grids as members, and other grids that no lesson was made for. For each number of
members: the fewest pairs, proved; how many members they are of; and the share of unseen worlds that
they determine completely. Beside it what teaching every member alone would show, and what as many
optimal pairs drawn at random determine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from didact.bec.classes import EquivalenceClass, demonstration_rows, equivalence_class
from didact.mdp import Family
from didact.random import stream
from didact.studies.study import Record, Study, setting
from didact.studies.summary import (
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
from didact.teaching.transfer import n_determined
from didact.worlds import make

NAME = "families"
COLUMNS = {
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


def trial(settings: FamilySettings, number: int) -> Record:
    """One reward; for each number of members what their lesson shows and determines."""
    rng = stream(settings.seed, NAME, number)
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


def summarise(settings: FamilySettings, records: Sequence[Record]) -> Summary:
    """Every measure by the number of members, and the shares as curves."""
    found = {
        title: [estimate(float(r[str(n)][measure]) for r in records) for n in settings.members]
        for measure, title in COLUMNS.items()
    }
    table = table_of("Lessons of families", "members", settings.members, found)
    n_proved = sum(bool(r[str(n)]["proved"]) for r in records for n in settings.members)
    total = len(records) * len(settings.members)
    remark = f"{n_proved} of {total} lessons are proved to have the fewest pairs."
    return Summary((table,), (_figure(settings, found),), (), (remark,))


def _figure(settings: FamilySettings, found: dict[str, list[Estimate]]) -> Figure:
    def line(name: str, measure: str, most: float = math.inf) -> Series:
        return series_of(name, settings.members, found[COLUMNS[measure]], least=0.0, most=most)

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
    return Figure(NAME, "Families: one reward, many worlds", (shares, sizes))


STUDY = Study(
    NAME,
    FamilySettings(),
    trial,
    summarise,
    title="Families: how many worlds must be shown before unseen ones follow",
    quick=FamilySettings(trials=2, members=(1, 3, 8), unseen=10, size=5, n_features=4),
)
