"""The half-space picture: which rewards fit after each demonstration, and where the true one lies.

With two features the picture is the whole truth: weights are directions in the plane, and each
demonstration cuts the disc of directions. With more it is a slice through the true weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from didact.bec.classes import EquivalenceClass
from didact.bec.halfspaces import demonstrated_pairs
from didact.mdp import Demonstration
from didact.report.page.directions import Span, stretch_of, stretched, wedge
from didact.report.page.scene import Place
from didact.report.page.slices import (
    Corner,
    RewardSlice,
    defining_rows,
    likely_pairs,
    normal_of,
    shown_numbers,
    slice_of,
)
from didact.report.page.svg import Picture, amount, number
from didact.report.page.templates import render

SIZE, MARGIN = 320.0, 46.0
MIDDLE, RADIUS = SIZE / 2, SIZE / 2 - MARGIN
VIEW = (-30.0, 0.0, 350.0, SIZE)

Sector = str | tuple[Place, ...] | None
"""A path; the two ends of a line, where only one direction fits; or the whole disc."""


@dataclass(frozen=True)
class SlicePicture:
    """A slice: a polygon, segment or point for each region, the class itself, numbers at the sides.

    ticks: what is written beneath and on the left, with its place along that side.
    """

    frame: Picture
    names: tuple[str, str]
    regions: tuple[tuple[Place, ...], ...]
    goal: tuple[Place, ...]
    star: tuple[Place, ...]
    ticks: tuple[tuple[float, str, str], ...]


@dataclass(frozen=True)
class Ray:
    """A reward as a line from the middle of the disc: the true one with a star, or a wrong one."""

    path: str
    end: Place
    star: tuple[Place, ...] | None


@dataclass(frozen=True)
class PlanePicture:
    """The disc of directions, the sectors that fit more and more demonstrations, and rewards."""

    frame: Picture
    names: tuple[str, str]
    sectors: tuple[Sector, ...]
    goal: tuple[Sector, ...]
    rays: tuple[Ray, ...]


def half_space_picture(
    known: EquivalenceClass,
    demonstrations: Sequence[Demonstration],
    *,
    pair: tuple[int, int] | None = None,
    witness: Sequence[Any] | None = None,
) -> SlicePicture | PlanePicture | None:
    """What the picture shows; None for a single feature, where there is nothing to draw."""
    k = known.task.mdp.n_features
    if k == 1:
        return None
    if k == 2:
        return _plane(known, demonstrations, witness)
    return _slice_picture(known, slice_of(known, demonstrations, pair or likely_pairs(known, 1)[0]))


def half_spaces_drawn(
    known: EquivalenceClass,
    demonstrations: Sequence[Demonstration],
    *,
    pair: tuple[int, int] | None = None,
    witness: Sequence[Any] | None = None,
) -> str:
    """The picture alone, as markup; for two features or more."""
    shown = half_space_picture(known, demonstrations, pair=pair, witness=witness)
    return render("rewards.html.jinja", shown=shown, is_plane=isinstance(shown, PlanePicture))


def _slice_picture(known: EquivalenceClass, cut: RewardSlice) -> SlicePicture:
    scale = RADIUS / float(cut.reach)

    def at(corner: Corner) -> Place:
        return MIDDLE + float(corner[0]) * scale, MIDDLE - float(corner[1]) * scale

    across, up = (known.task.mdp.feature_name(i) for i in cut.pair)
    told = (
        f"Across: the weight of {across}; up: the weight of {up}; all other weights are "
        "the true ones. The darker, the more demonstrations a reward fits; the outlined region "
        "holds the rewards with the same behaviour, the star is the true reward."
    )
    return SlicePicture(
        frame=_frame(f"slice-{cut.pair[0]}-{cut.pair[1]}", (across, up), told),
        names=(across, up),
        regions=tuple(tuple(at(corner) for corner in region) for region in cut.regions),
        goal=tuple(at(corner) for corner in cut.goal),
        star=_star((MIDDLE, MIDDLE)),
        ticks=tuple(
            (
                MIDDLE + sign * RADIUS,
                amount(float(cut.centre[0] + sign * cut.reach)),
                amount(float(cut.centre[1] - sign * cut.reach)),
            )
            for sign in (-1, 1)
        ),
    )


def _frame(name: str, names: tuple[str, str], told: str) -> Picture:
    title = f"Rewards that fit: {names[0]} against {names[1]}"
    return Picture(name, VIEW, title, told, "halfspaces")


def _plane(
    known: EquivalenceClass, demonstrations: Sequence[Demonstration], witness: Sequence[Any] | None
) -> PlanePicture:
    """Two features: the disc of directions, cut by each demonstration."""
    mdp = known.task.mdp
    goal = [normal_of(known, row) for row in defining_rows(known)]
    stretch = stretch_of(goal)
    sectors: list[Sector] = []
    for n in shown_numbers(len(demonstrations))[1:]:
        pairs = demonstrated_pairs(mdp, demonstrations[:n])
        stated = [normal_of(known, row) for row in known.rows.stated_by(pairs).tolist()]
        sectors += _sectors(wedge(stretched(stated, stretch)))
    across, up = (
        mdp.feature_name(i) + (f" × {amount(float(stretch[i]))}" if stretch[i] != 1 else "")
        for i in range(2)
    )
    told = (
        f"Across: the weight of {across}; up: the weight of {up}. Only the direction "
        "counts. The darker, the more demonstrations a direction fits; the outlined sector holds "
        "the rewards with the same behaviour, the star is the true reward."
    )
    return PlanePicture(
        frame=_frame("plane", (across, up), told),
        names=(across, up),
        sectors=tuple(sectors),
        goal=tuple(_sectors(wedge(stretched(goal, stretch)))),
        rays=tuple(_rays(known, witness, stretch)),
    )


def _sectors(spans: Sequence[Span] | None) -> list[Sector]:
    return [None] if spans is None else [_sector(span) for span in spans]


def _sector(span: Span) -> Sector:
    (x0, y0), (x1, y1) = (
        (MIDDLE + RADIUS * math.cos(t), MIDDLE - RADIUS * math.sin(t)) for t in span
    )
    if span[0] == span[1]:
        return (MIDDLE, MIDDLE), (x0, y0)
    large = int(span[1] - span[0] > math.pi)
    return (
        f"M{number(MIDDLE)} {number(MIDDLE)}L{number(x0)} {number(y0)}"
        f"A{number(RADIUS)} {number(RADIUS)} 0 {large} 0 {number(x1)} {number(y1)}z"
    )


def _rays(known: EquivalenceClass, witness: Sequence[Any] | None, stretch: Corner) -> Iterator[Ray]:
    """The wrong reward where there is one, and the true one; nothing for a reward of zero."""
    for weights, is_true in ((witness, False), (known.task.weights.tolist(), True)):
        if weights is not None and any(float(w) for w in weights):
            x, y = (float(w) * float(s) for w, s in zip(weights, stretch, strict=True))
            yield _ray(x, y, is_true=is_true)


def _ray(x: float, y: float, *, is_true: bool) -> Ray:
    length = math.hypot(x, y)
    end = MIDDLE + RADIUS * (x / length) * 0.94, MIDDLE - RADIUS * (y / length) * 0.94
    path = f"M{MIDDLE} {MIDDLE}L{number(end[0])} {number(end[1])}"
    return Ray(path, end, _star(end) if is_true else None)


def _star(middle: Place) -> tuple[Place, ...]:
    """The corners of the star that marks the true reward."""
    corners = []
    for i in range(10):
        radius = 7.0 if i % 2 == 0 else 3.0
        angle = math.pi * (i / 5 - 0.5)
        corners.append((middle[0] + radius * math.cos(angle), middle[1] + radius * math.sin(angle)))
    return tuple(corners)
