"""Slices through the rewards that fit: two weights vary, the others keep their true values.

Regions are cut exactly, in fractions, where the rows are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from didact.bec.classes import EquivalenceClass
from didact.bec.halfspaces import demonstrated_pairs
from didact.errors import InvalidParameter
from didact.inputs import shown as shown_value
from didact.mdp import Demonstration
from didact.numerics.geometry import cut_by_line, square

MOST_CONSIDERED = 8
"""Pairs are chosen among so many features, those that take part in the most facets."""
MOST_REGIONS = 12

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


def likely_pairs(known: EquivalenceClass, most: int) -> list[tuple[int, int]]:
    """Pairs of features worth a picture: those whose slices have the most sides first."""
    rows, k = known.rows, known.task.mdp.n_features
    normals = rows.normals[defining_rows(known)]
    often = (abs(normals) > 1e-9).sum(axis=0)
    likely = sorted(range(k), key=lambda i: (-int(often[i]), i))[:MOST_CONSIDERED]
    pairs = list(combinations(sorted(likely), 2))
    pairs.sort(key=lambda pair: (-_n_sides(known, pair), pair))
    return pairs[:most]


def defining_rows(known: EquivalenceClass) -> list[int]:
    """A row of each facet, and the equalities."""
    return [*known.cone.facet_rows(), *known.cone.equalities]


def _n_sides(known: EquivalenceClass, pair: tuple[int, int]) -> int:
    largest = _largest(known)
    return len(_cut_by(_cuts(known, defining_rows(known), pair, largest), square(largest), largest))


def slice_of(
    known: EquivalenceClass,
    demonstrations: Sequence[Demonstration],
    pair: tuple[int, int],
) -> RewardSlice:
    """The regions of a pair of features after each demonstration."""
    k = known.task.mdp.n_features
    if len(set(pair)) != 2 or not all(0 <= i < k for i in pair):
        raise InvalidParameter(
            f"pair must be two different features from 0 to {k - 1}; it is {shown_value(pair)}"
        )
    weights = known.task.true_weights.fractions()
    most = 2 * _largest(known)
    goal_cuts = _cuts(known, defining_rows(known), pair, most)
    reach = _reach(goal_cuts, most)
    corners, stated = square(reach), set[int]()
    regions = []
    for n in shown_numbers(len(demonstrations)):
        pairs = demonstrated_pairs(known.task.mdp, demonstrations[:n])
        fresh = set(known.rows.stated_by(pairs).tolist()) - stated
        stated |= fresh
        corners = _cut_by(_cuts(known, sorted(fresh), pair, reach), corners, reach)
        regions.append(tuple(corners))
    goal = tuple(_cut_by(goal_cuts, square(reach), reach))
    return RewardSlice(pair, (weights[pair[0]], weights[pair[1]]), reach, tuple(regions), goal)


def shown_numbers(n: int) -> list[int]:
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
        normal = normal_of(known, row)
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


def normal_of(known: EquivalenceClass, row: int) -> list[Fraction]:
    """A row as fractions: exact, or rounded to forty binary places."""
    if known.rows.exact is not None:
        normal = known.rows.exact[row]
        longest = max(map(int.bit_length, normal))  # floats have ends; directions count
        scale = 1 if longest < 900 else 1 << longest
        return [Fraction(entry, scale) for entry in normal]
    return [Fraction(round(float(x) * 2**40), 2**40) for x in known.rows.normals[row]]


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
