"""The half-space picture: which rewards fit after each demonstration, and where the true one lies.

With two features the picture is the whole truth: weights are directions in the plane, and each
demonstration cuts the disc of directions. With more it is a slice: two weights vary, the others
keep their true values. Regions are cut exactly, in fractions, where the rows are exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from didact.bec.classes import EquivalenceClass
from didact.bec.rows import demonstrated_pairs
from didact.errors import InvalidParameter
from didact.inputs import shown as shown_value
from didact.mdp import Demonstration
from didact.report.page.svg import amount, number, picture, points, text

SIZE, MARGIN = 320.0, 46.0
MOST_CONSIDERED = 8
"""Pairs are chosen among so many features, those that take part in the most facets."""
MOST_REGIONS = 12
NARROW = 0.35
"""A class of two features that is narrower than this, in radians, is drawn stretched."""

Corner = tuple[Fraction, Fraction]
Cut = tuple[Fraction, Fraction, Fraction]
"""a, b, c: the half-plane a*x + b*y + c >= 0."""


@dataclass(frozen=True)
class Slice:
    """Two features, the half-width shown around the centre, and the region after each lesson part.

    regions[n]: the polygon that fits the first n demonstrations; the last one is the class itself
    where the lesson is complete. Corners are offsets from the centre.
    """

    pair: tuple[int, int]
    centre: Corner
    reach: Fraction
    regions: tuple[tuple[Corner, ...], ...]
    goal: tuple[Corner, ...]


def cut_polygon(corners: Sequence[Corner], cut: Cut) -> list[Corner]:
    """The part of a convex polygon in a half-plane; segments and points are polygons too."""
    a, b, c = cut
    kept: list[Corner] = []
    sides = [a * x + b * y + c for x, y in corners]
    for i, (corner, side) in enumerate(zip(corners, sides, strict=True)):
        before, other = sides[i - 1], corners[i - 1]
        if (side < 0 < before) or (before < 0 < side):
            share = before / (before - side)
            kept.append(
                (
                    other[0] + share * (corner[0] - other[0]),
                    other[1] + share * (corner[1] - other[1]),
                )
            )
        if side >= 0:
            kept.append(corner)
    return [p for i, p in enumerate(kept) if len(kept) == 1 or p != kept[i - 1]] or kept[:1]


def likely_pairs(known: EquivalenceClass, most: int) -> list[tuple[int, int]]:
    """Pairs of features worth a picture: those whose slices have the most sides first."""
    rows, k = known.rows, known.task.mdp.n_features
    normals = rows.normals[_defining(known)]
    often = (abs(normals) > 1e-9).sum(axis=0)
    likely = sorted(range(k), key=lambda i: (-int(often[i]), i))[:MOST_CONSIDERED]
    pairs = list(combinations(sorted(likely), 2))
    pairs.sort(key=lambda pair: (-_n_sides(known, pair), pair))
    return pairs[:most]


def _defining(known: EquivalenceClass) -> list[int]:
    return [*known.cone.facet_rows(), *known.cone.equalities]


def _n_sides(known: EquivalenceClass, pair: tuple[int, int]) -> int:
    largest = _largest(known)
    return len(_cut_by(_cuts(known, _defining(known), pair, largest), _square_of(largest), largest))


def slice_of(
    known: EquivalenceClass,
    demonstrations: Sequence[Demonstration],
    pair: tuple[int, int],
) -> Slice:
    """The regions of a pair of features after each demonstration."""
    k = known.task.mdp.n_features
    if len(set(pair)) != 2 or not all(0 <= i < k for i in pair):
        raise InvalidParameter(
            f"pair must be two different features from 0 to {k - 1}; it is {shown_value(pair)}"
        )
    weights = known.task.true_weights.fractions()
    most = 2 * _largest(known)
    goal_cuts = _cuts(known, _defining(known), pair, most)
    reach = _reach(goal_cuts, most)
    corners, stated = _square_of(reach), set[int]()
    regions = []
    for n in _shown_numbers(len(demonstrations)):
        pairs = demonstrated_pairs(known.task.mdp, demonstrations[:n])
        fresh = set(known.rows.stated_by(pairs).tolist()) - stated
        stated |= fresh
        corners = _cut_by(_cuts(known, sorted(fresh), pair, reach), corners, reach)
        regions.append(tuple(corners))
    goal = tuple(_cut_by(goal_cuts, _square_of(reach), reach))
    return Slice(pair, (weights[pair[0]], weights[pair[1]]), reach, tuple(regions), goal)


def _shown_numbers(n: int) -> list[int]:
    """0 to n, thinned to a dozen where there are more."""
    if n < MOST_REGIONS:
        return list(range(n + 1))
    return sorted({round(i * n / (MOST_REGIONS - 1)) for i in range(MOST_REGIONS)})


def _largest(known: EquivalenceClass) -> Fraction:
    weights = known.task.true_weights.fractions()
    return max((abs(w) for w in weights), default=Fraction(1)) or Fraction(1)


def _cuts(
    known: EquivalenceClass, rows: Sequence[int], pair: tuple[int, int], reach: Fraction
) -> list[Cut]:
    """The rows on the slice through the true weights, as half-planes of the offsets.

    Rows that leave the whole square of half-width `reach` alone are left out, as floats see it.
    """
    weights = known.task.true_weights.fractions()
    i, j = pair
    cuts: dict[Cut, None] = {}
    for row in _near(known, rows, pair, float(reach)):
        normal = _normal(known, row)
        at_truth = sum((n * w for n, w in zip(normal, weights, strict=True)), Fraction(0))
        if known.rows.exact is None and abs(at_truth) < Fraction(1, 10**9):
            at_truth = Fraction(0)
        a, b = normal[i], normal[j]
        if a or b:
            scale = max(abs(a), abs(b))
            cuts[a / scale, b / scale, max(at_truth, Fraction(0)) / scale] = None
    return list(cuts)


def _near(
    known: EquivalenceClass, rows: Sequence[int], pair: tuple[int, int], reach: float
) -> list[int]:
    if not rows:
        return []
    normals = known.rows.normals[list(rows)]
    slack = normals @ known.task.weights
    swing = np.abs(normals[:, list(pair)]).sum(axis=1) * reach
    near = slack <= 1.001 * swing + 1e-9 * max(1.0, float(np.abs(known.task.weights).max()))
    return [row for row, is_near in zip(rows, near.tolist(), strict=True) if is_near]


def _normal(known: EquivalenceClass, row: int) -> list[Fraction]:
    if known.rows.exact is not None:
        return [Fraction(entry) for entry in known.rows.exact[row]]
    return [Fraction(round(float(x) * 2**40), 2**40) for x in known.rows.normals[row]]


def _square_of(reach: Fraction) -> list[Corner]:
    return [(-reach, -reach), (reach, -reach), (reach, reach), (-reach, reach)]


def _cut_by(cuts: Sequence[Cut], corners: list[Corner], reach: Fraction) -> list[Corner]:
    """The polygon in all half-planes; floats only tell which cuts are far from it."""
    floats = [(float(x), float(y)) for x, y in corners]
    doubt = 1e-9 * float(reach)
    for cut in cuts:
        a, b, c = map(float, cut)
        if all(a * x + b * y + c > doubt for x, y in floats):
            continue
        corners = cut_polygon(corners, cut)
        floats = [(float(x), float(y)) for x, y in corners]
    return corners


def _reach(cuts: Sequence[Cut], most: Fraction) -> Fraction:
    """Half of the width shown: the class and some air, at most `most`."""
    corners = _cut_by(cuts, _square_of(most), most)
    extent = max((max(abs(x), abs(y)) for x, y in corners), default=Fraction(0))
    return min(most, extent * Fraction(8, 5)) or most / 2


def half_space_picture(
    known: EquivalenceClass,
    demonstrations: Sequence[Demonstration],
    *,
    pair: tuple[int, int] | None = None,
    witness: Sequence[Any] | None = None,
) -> str:
    """The picture as SVG; empty for a single feature, where there is nothing to draw."""
    k = known.task.mdp.n_features
    if k == 1:
        return ""
    if k == 2:
        return _plane(known, demonstrations, witness)
    return _slice_picture(known, slice_of(known, demonstrations, pair or likely_pairs(known, 1)[0]))


def _slice_picture(known: EquivalenceClass, cut: Slice) -> str:
    mdp = known.task.mdp
    scale = (SIZE / 2 - MARGIN) / float(cut.reach)

    def at(corner: Corner) -> tuple[float, float]:
        return SIZE / 2 + float(corner[0]) * scale, SIZE / 2 - float(corner[1]) * scale

    names = [mdp.feature_name(i) for i in cut.pair]
    parts = [_square()]
    parts += [_region_shape([at(c) for c in region], "fits") for region in cut.regions]
    parts.append(_region_shape([at(c) for c in cut.goal], "goal-region"))
    parts.append(_star(SIZE / 2, SIZE / 2))
    edge = SIZE / 2 - MARGIN
    for sign, where in ((-1, SIZE / 2 - edge), (1, SIZE / 2 + edge)):
        x_value = float(cut.centre[0] + sign * cut.reach)
        y_value = float(cut.centre[1] - sign * cut.reach)
        parts.append(text(where, SIZE - MARGIN + 14, amount(x_value), "tick", "middle"))
        parts.append(text(MARGIN - 4, where + 4, amount(y_value), "tick", "end"))
    parts += _axis_names(names)
    told = (
        f"Across: the weight of {names[0]}; up: the weight of {names[1]}; all other weights are "
        "the true ones. The darker, the more demonstrations a reward fits; the outlined region "
        "holds the rewards with the same behaviour, the star is the true reward."
    )
    return picture(
        (0, 0, SIZE, SIZE),
        f"Rewards that fit: {names[0]} against {names[1]}",
        "".join(parts),
        name=f"slice-{cut.pair[0]}-{cut.pair[1]}",
        classes="halfspaces",
        description=told,
    )


def _plane(
    known: EquivalenceClass, demonstrations: Sequence[Demonstration], witness: Sequence[Any] | None
) -> str:
    """Two features: the disc of directions, cut by each demonstration."""
    mdp, radius = known.task.mdp, SIZE / 2 - MARGIN
    goal = [_normal(known, row) for row in _defining(known)]
    stretch = _stretch(goal)
    parts = [f'<circle class="fits" cx="{SIZE / 2}" cy="{SIZE / 2}" r="{radius}"/>']
    for n in _shown_numbers(len(demonstrations))[1:]:
        pairs = demonstrated_pairs(mdp, demonstrations[:n])
        stated = [_normal(known, row) for row in known.rows.stated_by(pairs).tolist()]
        parts.append(_sectors(wedge(_stretched(stated, stretch)), radius, "fits"))
    parts.append(_sectors(wedge(_stretched(goal, stretch)), radius, "goal-region"))
    parts.append(_cross(radius))
    for weights, kind in ((witness, "wrong-way"), (known.task.weights.tolist(), "truth")):
        if weights is not None and any(float(w) for w in weights):
            x, y = (float(w) * float(s) for w, s in zip(weights, stretch, strict=True))
            parts.append(_ray([x, y], radius, kind))
    names = [
        mdp.feature_name(i) + (f" × {amount(float(stretch[i]))}" if stretch[i] != 1 else "")
        for i in range(2)
    ]
    parts += _axis_names(names)
    told = (
        f"Across: the weight of {names[0]}; up: the weight of {names[1]}. Only the direction "
        "counts. The darker, the more demonstrations a direction fits; the outlined sector holds "
        "the rewards with the same behaviour, the star is the true reward."
    )
    return picture(
        (0, 0, SIZE, SIZE),
        f"Rewards that fit: {names[0]} against {names[1]}",
        "".join(parts),
        name="plane",
        classes="halfspaces",
        description=told,
    )


def _stretched(normals: Sequence[Sequence[Fraction]], stretch: Corner) -> list[list[Fraction]]:
    """The half-planes after the axes are stretched; lines through the origin stay lines."""
    return [[n / s for n, s in zip(normal, stretch, strict=True)] for normal in normals]


def _stretch(normals: Sequence[Sequence[Fraction]]) -> Corner:
    """Powers of ten for the two axes that make a narrow class visible; 1, 1 where it is wide."""
    scales = [Fraction(10) ** e for e in range(6)]
    choices = [(s, Fraction(1)) for s in scales] + [(Fraction(1), s) for s in scales[1:]]
    widths = [_width(_stretched(normals, choice)) for choice in choices]
    if widths[0] >= NARROW:
        return choices[0]
    return next((c for c, w in zip(choices, widths, strict=True) if w >= NARROW), choices[0])


def _width(normals: Sequence[Sequence[Fraction]]) -> float:
    spans = wedge(normals)
    return math.pi if spans is None else sum(last - first for first, last in spans)


def wedge(normals: Sequence[Sequence[Fraction]]) -> list[tuple[float, float]] | None:
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


def _sectors(spans: list[tuple[float, float]] | None, radius: float, classes: str) -> str:
    middle = SIZE / 2
    if spans is None:
        return f'<circle class="{classes}" cx="{middle}" cy="{middle}" r="{number(radius)}"/>'
    return "".join(_sector(span, radius, classes) for span in spans)


def _sector(span: tuple[float, float], radius: float, classes: str) -> str:
    middle = SIZE / 2
    ends = [(middle + radius * math.cos(t), middle - radius * math.sin(t)) for t in span]
    (x0, y0), (x1, y1) = ends
    if span[0] == span[1]:
        line = points([(middle, middle), (x0, y0)])
        return f'<polyline class="{classes} thin" points="{line}"/>'
    large = int(span[1] - span[0] > math.pi)
    return (
        f'<path class="{classes}" d="M{number(middle)} {number(middle)}L{number(x0)} {number(y0)}'
        f'A{number(radius)} {number(radius)} 0 {large} 0 {number(x1)} {number(y1)}z"/>'
    )


def _ray(weights: Sequence[float], radius: float, kind: str) -> str:
    length = math.hypot(*weights)
    x, y = (weights[0] / length, weights[1] / length)
    ex, ey = SIZE / 2 + radius * x * 0.94, SIZE / 2 - radius * y * 0.94
    line = f'<path class="{kind}" d="M{SIZE / 2} {SIZE / 2}L{number(ex)} {number(ey)}"/>'
    return line + (_star(ex, ey) if kind == "truth" else _wrong(ex, ey))


def _star(x: float, y: float) -> str:
    corners = []
    for i in range(10):
        radius = 7.0 if i % 2 == 0 else 3.0
        angle = math.pi * (i / 5 - 0.5)
        corners.append((x + radius * math.cos(angle), y + radius * math.sin(angle)))
    return f'<polygon class="true-star" points="{points(corners)}"/>'


def _wrong(x: float, y: float) -> str:
    d = 4.5
    return (
        f'<path class="wrong-mark" d="M{number(x - d)} {number(y - d)}l{2 * d} {2 * d}'
        f'M{number(x + d)} {number(y - d)}l-{2 * d} {2 * d}"/>'
    )


def _square() -> str:
    side = SIZE - 2 * MARGIN
    return f'<rect class="frame" x="{MARGIN}" y="{MARGIN}" width="{side}" height="{side}"/>'


def _cross(radius: float) -> str:
    low, span = SIZE / 2 - radius, 2 * radius
    return (
        f'<path class="faint" d="M{number(low)} {SIZE / 2}h{number(span)}'
        f'M{SIZE / 2} {number(low)}v{number(span)}"/>'
    )


def _axis_names(names: Sequence[str]) -> list[str]:
    across = text(SIZE / 2, SIZE - 6, f"weight of {names[0]} →"[:52], "axis-name", "middle")
    up = text(SIZE / 2, 14, f"↑ weight of {names[1]}"[:52], "axis-name", "middle")
    return [across, up]


def _region_shape(corners: Sequence[tuple[float, float]], classes: str) -> str:
    if len(corners) == 1:
        x, y = corners[0]
        return f'<circle class="{classes} thin" cx="{number(x)}" cy="{number(y)}" r="3"/>'
    if len(corners) == 2:
        return f'<polyline class="{classes} thin" points="{points(corners)}"/>'
    return f'<polygon class="{classes}" points="{points(corners)}"/>'
