"""The half-space picture: which rewards fit after each demonstration, and where the true one lies.

With two features the picture is the whole truth: weights are directions in the plane, and each
demonstration cuts the disc of directions. With more it is a slice: two weights vary, the others
keep their true values. Regions are cut exactly, in fractions, where the rows are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from didact.bec.classes import EquivalenceClass
from didact.bec.halfspaces import demonstrated_pairs
from didact.errors import InvalidParameter
from didact.inputs import shown as shown_value
from didact.mdp import Demonstration
from didact.numerics.geometry import cut_by_line, square
from didact.report.page.scene import Picture, Place, amount, number
from didact.report.page.templates import render

NARROW = 0.35
"""A class that is narrower than this, in radians, is drawn stretched."""

Normal = Sequence[Fraction]
Span = tuple[float, float]
"""Angles from-to, counter-clockwise."""


def stretched(
    normals: Sequence[Normal], stretch: tuple[Fraction, Fraction]
) -> list[list[Fraction]]:
    """The half-planes after the axes are stretched; lines through the origin stay lines."""
    return [[n / s for n, s in zip(normal, stretch, strict=True)] for normal in normals]


def stretch_of(normals: Sequence[Normal]) -> tuple[Fraction, Fraction]:
    """Powers of ten for the two axes that make a narrow class visible; 1, 1 where it is wide."""
    scales = [Fraction(10) ** e for e in range(6)]
    choices = [(s, Fraction(1)) for s in scales] + [(Fraction(1), s) for s in scales[1:]]
    widths = [_width(stretched(normals, choice)) for choice in choices]
    if widths[0] >= NARROW:
        return choices[0]
    return next((c for c, w in zip(choices, widths, strict=True) if w >= NARROW), choices[0])


def _width(normals: Sequence[Normal]) -> float:
    spans = wedge(normals)
    return math.pi if spans is None else sum(last - first for first, last in spans)


def wedge(normals: Sequence[Normal]) -> list[Span] | None:
    """The directions in all half-planes as angles from-to, counter-clockwise; None: all of them.

    The edges are found exactly, among the perpendiculars of the normals. A wedge is one range; an
    equality leaves one direction, or two opposite ones; contradictions leave none.
    """
    useful = [(n[0], n[1]) for n in normals if n[0] or n[1]]
    if not useful:
        return None
    edges = {edge for x, y in useful for edge in ((y, -x), (-y, x))}
    inside = [e for e in edges if all(n[0] * e[0] + n[1] * e[1] >= 0 for n in useful)]
    angles = sorted({math.atan2(float(y), float(x)) for x, y in inside})
    if len(angles) < 2:
        return [(angle, angle) for angle in angles]
    first, last = angles[0], angles[-1]
    for span in ((first, last), (last, first + 2 * math.pi)):
        middle = (span[0] + span[1]) / 2
        x, y = math.cos(middle), math.sin(middle)
        if all(float(n[0]) * x + float(n[1]) * y > 0 for n in useful):
            return [span]
    return [(angle, angle) for angle in angles]


MAX_CONSIDERED = 8
"""Pairs are chosen among so many features, those that take part in the most facets."""
MAX_REGIONS = 12

Corner = tuple[Fraction, ...]
Cut = tuple[Fraction, Fraction, Fraction]
"""a, b, c: the half-plane a*x + b*y + c >= 0."""


@dataclass(frozen=True)
class RewardSlice:
    """Two features, the half-width shown around the centre, and the region after each lesson part.

    regions[n]: the polygon that fits the first n demonstrations; the last one is the class itself
    where the lesson is complete. Corners are offsets from the centre.
    """

    pair: tuple[int, int]
    centre: Corner
    reach: Fraction
    regions: tuple[tuple[Corner, ...], ...]
    goal: tuple[Corner, ...]


def likely_pairs(bec: EquivalenceClass, most: int) -> list[tuple[int, int]]:
    """Pairs of features worth a picture: those whose slices have the most sides first."""
    rows, k = bec.rows, bec.task.mdp.n_features
    normals = rows.normals[defining_rows(bec)]
    often = (abs(normals) > 1e-9).sum(axis=0)
    likely = sorted(range(k), key=lambda i: (-int(often[i]), i))[:MAX_CONSIDERED]
    pairs = list(combinations(sorted(likely), 2))
    pairs.sort(key=lambda pair: (-_n_sides(bec, pair), pair))
    return pairs[:most]


def defining_rows(bec: EquivalenceClass) -> list[int]:
    """A row of each facet, and the equalities."""
    return [*bec.cone.facet_rows(), *bec.cone.equalities]


def _n_sides(bec: EquivalenceClass, pair: tuple[int, int]) -> int:
    largest = _largest(bec)
    return len(_cut_by(_cuts(bec, defining_rows(bec), pair, largest), square(largest), largest))


def slice_of(
    bec: EquivalenceClass,
    demonstrations: Sequence[Demonstration],
    pair: tuple[int, int],
) -> RewardSlice:
    """The regions of a pair of features after each demonstration."""
    k = bec.task.mdp.n_features
    if len(set(pair)) != 2 or not all(0 <= i < k for i in pair):
        raise InvalidParameter(
            f"pair must be two different features from 0 to {k - 1}; it is {shown_value(pair)}"
        )
    weights = bec.task.true_weights.fractions()
    most = 2 * _largest(bec)
    goal_cuts = _cuts(bec, defining_rows(bec), pair, most)
    reach = _reach(goal_cuts, most)
    corners, stated = square(reach), set[int]()
    regions = []
    for n in shown_numbers(len(demonstrations)):
        pairs = demonstrated_pairs(bec.task.mdp, demonstrations[:n])
        fresh = set(bec.rows.stated_by(pairs).tolist()) - stated
        stated |= fresh
        corners = _cut_by(_cuts(bec, sorted(fresh), pair, reach), corners, reach)
        regions.append(tuple(corners))
    goal = tuple(_cut_by(goal_cuts, square(reach), reach))
    return RewardSlice(pair, (weights[pair[0]], weights[pair[1]]), reach, tuple(regions), goal)


def shown_numbers(n: int) -> list[int]:
    """0 to n, thinned to a dozen where there are more."""
    if n < MAX_REGIONS:
        return list(range(n + 1))
    return sorted({round(i * n / (MAX_REGIONS - 1)) for i in range(MAX_REGIONS)})


def _largest(bec: EquivalenceClass) -> Fraction:
    weights = bec.task.true_weights.fractions()
    return max((abs(w) for w in weights), default=Fraction(1)) or Fraction(1)


def _cuts(
    bec: EquivalenceClass, rows: Sequence[int], pair: tuple[int, int], reach: Fraction
) -> list[Cut]:
    """The rows on the slice through the true weights, as half-planes of the offsets.

    Rows that leave the whole square of half-width `reach` alone are left out, as floats see it.
    """
    weights = bec.task.true_weights.fractions()
    i, j = pair
    cuts: dict[Cut, None] = {}
    for row in _near(bec, rows, pair, float(reach)):
        normal = normal_of(bec, row)
        at_truth = sum((n * w for n, w in zip(normal, weights, strict=True)), Fraction(0))
        if bec.rows.exact is None and abs(at_truth) < Fraction(1, 10**9):
            at_truth = Fraction(0)
        a, b = normal[i], normal[j]
        if a or b:
            scale = max(abs(a), abs(b))
            cuts[a / scale, b / scale, max(at_truth, Fraction(0)) / scale] = None
    return list(cuts)


def _near(
    bec: EquivalenceClass, rows: Sequence[int], pair: tuple[int, int], reach: float
) -> list[int]:
    if not rows:
        return []
    normals = bec.rows.normals[list(rows)]
    slack = normals @ bec.task.weights
    swing = np.abs(normals[:, list(pair)]).sum(axis=1) * reach
    near = slack <= 1.001 * swing + 1e-9 * max(1.0, float(np.abs(bec.task.weights).max()))
    return [row for row, is_near in zip(rows, near.tolist(), strict=True) if is_near]


def normal_of(bec: EquivalenceClass, row: int) -> list[Fraction]:
    """A row as fractions: exact, or rounded to forty binary places."""
    if bec.rows.exact is not None:
        normal = bec.rows.exact[row]
        longest = max(map(int.bit_length, normal))  # floats have ends; directions count
        scale = 1 if longest < 900 else 1 << longest
        return [Fraction(entry, scale) for entry in normal]
    return [Fraction(round(float(x) * 2**40), 2**40) for x in bec.rows.normals[row]]


def _cut_by(cuts: Sequence[Cut], corners: list[Corner], reach: Fraction) -> list[Corner]:
    """The polygon in all half-planes; floats only tell which cuts are far from it."""
    floats = [(float(x), float(y)) for x, y in corners]
    doubt = 1e-9 * float(reach)
    for cut in cuts:
        a, b, c = map(float, cut)
        if all(a * x + b * y + c > doubt for x, y in floats):
            continue
        corners = cut_by_line(corners, cut)
        floats = [(float(x), float(y)) for x, y in corners]
    return corners


def _reach(cuts: Sequence[Cut], most: Fraction) -> Fraction:
    """Half of the width shown: the class and some air, at most `most`."""
    corners = _cut_by(cuts, square(most), most)
    extent = max((max(abs(x), abs(y)) for x, y in corners), default=Fraction(0))
    return min(most, extent * Fraction(8, 5)) or most / 2


SIZE, MARGIN = 320.0, 46.0
MIDDLE, RADIUS = SIZE / 2, SIZE / 2 - MARGIN
VIEW = (-30.0, 0.0, 350.0, SIZE)

Sector = str | tuple[Place, ...] | None
"""A path; the two ends of a line, where only one direction fits; or the whole disc."""


def half_space_picture(
    bec: EquivalenceClass,
    demonstrations: Sequence[Demonstration],
    *,
    pair: tuple[int, int] | None = None,
    witness: Sequence[Any] | None = None,
) -> dict[str, Any]:
    """What the picture shows, for two features or more: the plane of two, or a slice."""
    if bec.task.mdp.n_features == 2:
        return _plane(bec, demonstrations, witness)
    return _slice_picture(bec, slice_of(bec, demonstrations, pair or likely_pairs(bec, 1)[0]))


def half_spaces_drawn(
    bec: EquivalenceClass,
    demonstrations: Sequence[Demonstration],
    *,
    pair: tuple[int, int] | None = None,
    witness: Sequence[Any] | None = None,
) -> str:
    """The picture alone, as markup; for two features or more."""
    shown = half_space_picture(bec, demonstrations, pair=pair, witness=witness)
    return render("rewards.html.jinja", shown=shown, is_plane="rays" in shown)


def _slice_picture(bec: EquivalenceClass, cut: RewardSlice) -> dict[str, Any]:
    """A polygon, segment or point for each region, the class itself, numbers at the sides.

    ticks: what is written beneath and on the left, with its place along that side.
    """
    scale = RADIUS / float(cut.reach)

    def at(corner: Corner) -> Place:
        return MIDDLE + float(corner[0]) * scale, MIDDLE - float(corner[1]) * scale

    across, up = (bec.task.mdp.feature_name(i) for i in cut.pair)
    told = (
        f"Across: the weight of {across}; up: the weight of {up}; all other weights are "
        "the true ones. The darker, the more demonstrations a reward fits; the outlined region "
        "holds the rewards with the same behaviour, the star is the true reward."
    )
    return {
        "frame": _frame(f"slice-{cut.pair[0]}-{cut.pair[1]}", (across, up), told),
        "names": (across, up),
        "regions": [[at(corner) for corner in region] for region in cut.regions],
        "goal": [at(corner) for corner in cut.goal],
        "star": _star((MIDDLE, MIDDLE)),
        "ticks": [
            (
                MIDDLE + sign * RADIUS,
                amount(float(cut.centre[0] + sign * cut.reach)),
                amount(float(cut.centre[1] - sign * cut.reach)),
            )
            for sign in (-1, 1)
        ],
    }


def _frame(name: str, names: tuple[str, str], told: str) -> Picture:
    title = f"Rewards that fit: {names[0]} against {names[1]}"
    return Picture(name, VIEW, title, told, "halfspaces")


def _plane(
    bec: EquivalenceClass, demonstrations: Sequence[Demonstration], witness: Sequence[Any] | None
) -> dict[str, Any]:
    """Two features: the disc of directions, cut by each demonstration, and rewards as rays."""
    mdp = bec.task.mdp
    goal = [normal_of(bec, row) for row in defining_rows(bec)]
    stretch = stretch_of(goal)
    sectors: list[Sector] = []
    for n in shown_numbers(len(demonstrations))[1:]:
        pairs = demonstrated_pairs(mdp, demonstrations[:n])
        stated = [normal_of(bec, row) for row in bec.rows.stated_by(pairs).tolist()]
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
    return {
        "frame": _frame("plane", (across, up), told),
        "names": (across, up),
        "sectors": sectors,
        "goal": _sectors(wedge(stretched(goal, stretch))),
        "rays": list(_rays(bec, witness, stretch)),
    }


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


def _rays(
    bec: EquivalenceClass, witness: Sequence[Any] | None, stretch: Corner
) -> Iterator[dict[str, Any]]:
    """Lines from the middle of the disc: a wrong reward, and the true one with a star.

    Nothing for a reward of zero.
    """
    for weights, is_true in ((witness, False), (bec.task.weights.tolist(), True)):
        if weights is None or not any(float(w) for w in weights):
            continue
        x, y = (float(w) * float(s) for w, s in zip(weights, stretch, strict=True))
        length = math.hypot(x, y)
        end = MIDDLE + RADIUS * (x / length) * 0.94, MIDDLE - RADIUS * (y / length) * 0.94
        path = f"M{MIDDLE} {MIDDLE}L{number(end[0])} {number(end[1])}"
        yield {"path": path, "end": end, "star": _star(end) if is_true else None}


def _star(middle: Place) -> tuple[Place, ...]:
    """The corners of the star that marks the true reward."""
    corners = []
    for i in range(10):
        radius = 7.0 if i % 2 == 0 else 3.0
        angle = math.pi * (i / 5 - 0.5)
        corners.append((middle[0] + radius * math.cos(angle), middle[1] + radius * math.sin(angle)))
    return tuple(corners)
