"""Classes of rewards on paper: half-planes of two weights, and where they meet.

With two features the picture is the whole class, around the origin. With more it is a slice: two
weights vary, the others keep their true values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from didact.bec.classes import EquivalenceClass
from didact.bec.cone import Cone
from didact.errors import InvalidParameter
from didact.inputs import shown
from didact.numerics.geometry import cut_by_line, square
from didact.plots.drawing import FAINT, INK, SMALL, axes_of, colour, legend_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AIR, MOST = 1.6, 2.0
"""A slice shows so many times the class, and at most so many times the largest weight."""
INWARD = 0.16
"""A border's short line into its half-plane, as a share of the picture's half-width."""

Point = tuple[float, float]
Corners = list[tuple[float, ...]]


@dataclass(frozen=True)
class HalfPlane:
    """The points with a x + b y + c >= 0; an equality holds on the border alone."""

    a: float
    b: float
    c: float = 0.0
    label: str = ""
    is_equality: bool = False


def cone(
    bec: EquivalenceClass | Cone,
    ax: Axes | None = None,
    *,
    weights: tuple[int, int] | None = None,
    **style: Any,
) -> Axes:
    """The class of rewards in the plane of two weights, the true ones marked.

    bec: an equivalence class, or its cone.
    ax: Matplotlib axes, new ones by default; they are returned.
    weights: the two features, by default those in the most facets; the others keep their true
        weights.
    style: of the shaded region, as Matplotlib's fill takes it.
    """
    found = bec.cone if isinstance(bec, EquivalenceClass) else bec
    first, second = _two_weights(found, weights)
    truth = np.asarray(found.true_weights.floats)
    planes = _slice(found, first, second)
    centre: Point = (0.0, 0.0) if len(truth) == 2 else (truth[first], truth[second])
    largest = float(np.abs(truth).max()) or 1.0
    reach = 1.25 * largest if len(truth) == 2 else _reach(planes, centre, MOST * largest)
    drawn = axes_of(ax, 3.6, 3.6)
    half_planes(drawn, planes, centre, reach, **style)
    mark_point(drawn, (truth[first], truth[second]), "true weights")
    names = [_name(bec, feature) for feature in (first, second)]
    drawn.set(xlabel=names[0], ylabel=names[1])
    if len(truth) > 2:
        drawn.set_title("the class, other weights fixed")
    else:
        drawn.set_title("the class")
    return drawn


def _two_weights(found: Cone, weights: tuple[int, int] | None) -> tuple[int, int]:
    """The two features to draw: those asked for, else those in the most facets."""
    k = found.true_weights.floats.size
    if k < 2:
        raise InvalidParameter("a class of one weight has no plane to draw; it needs two features")
    if weights is None:
        normals = found.rows.normals[[*found.facet_rows(), *found.equalities]]
        often = (np.abs(normals) > 1e-9).sum(axis=0)
        first, second = sorted(sorted(range(k), key=lambda i: (-int(often[i]), i))[:2])
        return first, second
    is_pair = isinstance(weights, tuple | list) and len(weights) == 2 and len(set(weights)) == 2
    if not is_pair or not all(isinstance(i, int | np.integer) and 0 <= i < k for i in weights):
        raise InvalidParameter(
            f"weights must be two different features from 0 to {k - 1}; they are {shown(weights)}"
        )
    return int(weights[0]), int(weights[1])


def _name(bec: EquivalenceClass | Cone, feature: int) -> str:
    """'w3', with the feature's name where it is known."""
    mdp = bec.members[0].task.mdp if isinstance(bec, EquivalenceClass) else None
    if mdp is None or not mdp.feature_names:
        return f"w{feature}"
    return f"w{feature} ({mdp.feature_name(feature)})"


def _slice(found: Cone, first: int, second: int) -> list[HalfPlane]:
    """Facets and equalities on the plane through the true weights."""
    truth = np.asarray(found.true_weights.floats)
    planes = []
    for row in (*found.facet_rows(), *found.equalities):
        normal = found.rows.normals[row]
        a, b = float(normal[first]), float(normal[second])
        if math.hypot(a, b) > 1e-12:
            c = float(normal @ truth) - a * truth[first] - b * truth[second]
            planes.append(HalfPlane(a, b, float(c), is_equality=row in found.equalities))
    return planes


def _reach(planes: Sequence[HalfPlane], centre: Point, most: float) -> float:
    """Half of the width shown: the class and some air, at most `most`."""
    region = _clipped(_square(centre, most), [p for p in planes if not p.is_equality])
    extent = max((max(abs(x - centre[0]), abs(y - centre[1])) for x, y in region), default=0.0)
    return min(most, AIR * extent) or most / 2


def half_planes(
    ax: Axes, planes: Sequence[HalfPlane], centre: Point, reach: float, **style: Any
) -> None:
    """Half-planes in a square around a centre: their intersection shaded, borders, labels."""
    corners = _square(centre, reach)
    inequalities = [plane for plane in planes if not plane.is_equality]
    region = _clipped(corners, inequalities)
    if len(region) > 2 and len(inequalities) == len(planes):
        shade = {"color": colour(0), "alpha": 0.25, "linewidth": 0, **style}
        ax.fill(*np.transpose(region), **shade)
    ax.axhline(0, color=FAINT, linewidth=0.6, zorder=0)
    ax.axvline(0, color=FAINT, linewidth=0.6, zorder=0)
    handles = []
    for number, plane in enumerate(planes):
        handles += _draw_border(ax, plane, corners, number + 1, reach)
        if plane.is_equality:
            kept = _clipped(_border(plane, corners), inequalities)
            if len(kept) > 1:
                ax.plot(*np.transpose(kept), color=colour(0), linewidth=5, alpha=0.4)
    ax.set_xlim(centre[0] - reach, centre[0] + reach)
    ax.set_ylim(centre[1] - reach, centre[1] + reach)
    ax.set_aspect("equal")
    ax.spines[:].set_color(FAINT)
    named = [handle for handle in handles if not str(handle.get_label()).startswith("_")]
    if named:
        legend_below(ax, named, drop=32, across=0.5)


def _draw_border(
    ax: Axes, plane: HalfPlane, corners: Corners, number: int, reach: float
) -> list[Any]:
    """The border where it crosses the square, and a short line to the side that is in."""
    ends = _border(plane, corners)
    if len(ends) < 2:
        return []
    tint = colour(number)
    label = plane.label or f"_{number}"
    lines = ax.plot(*np.transpose(ends), color=tint, linewidth=1.6, label=label)
    if not plane.is_equality:
        middle = np.mean(ends, axis=0)
        normal = np.array((plane.a, plane.b)) / math.hypot(plane.a, plane.b)
        inward = middle + INWARD * reach * normal
        ax.plot(*np.transpose([middle, inward]), color=tint, linewidth=0.9)
        ax.plot(*inward, "D", color=tint, markersize=3.5)
    return lines


def mark_point(ax: Axes, place: Point, name: str) -> None:
    """A named star at two weights."""
    ax.plot(*place, "*", color=INK, markersize=8, zorder=5)
    left = place[0] > sum(ax.get_xlim()) / 2
    ax.annotate(
        name,
        place,
        (-6 if left else 6, -2),
        textcoords="offset points",
        fontsize=SMALL,
        ha="right" if left else "left",
        va="top",
        zorder=5,
        bbox={"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 1.0},
    )


def _square(centre: Point, reach: float) -> Corners:
    return [(centre[0] + x, centre[1] + y) for x, y in square(reach)]


def _border(plane: HalfPlane, corners: Corners) -> Corners:
    """The two ends of a half-plane's border inside a convex polygon; none where it misses it."""
    ends: Corners = []
    for (x0, y0), (x1, y1) in zip(corners, [*corners[1:], corners[0]], strict=True):
        one = plane.a * x0 + plane.b * y0 + plane.c
        two = plane.a * x1 + plane.b * y1 + plane.c
        if (one < 0) != (two < 0):
            share = one / (one - two)
            ends.append((x0 + share * (x1 - x0), y0 + share * (y1 - y0)))
    return ends


def _clipped(corners: Corners, planes: Sequence[HalfPlane]) -> Corners:
    """The part of a convex polygon, or of a segment, that lies in all half-planes."""
    for plane in planes:
        corners = cut_by_line(corners, (plane.a, plane.b, plane.c))
    return corners
