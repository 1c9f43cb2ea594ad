"""Looking for rewards that fit a lesson and lose too much: quick, and never a proof.

Half-space learners: random points on the boundary of C(D), its corners, corners moved a little at
several scales, and the surroundings of the worst points found. Learners that plan: a walk inside
H(D) from the truth, and whatever the other search met that fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from didact.numerics.exact import Floats
from didact.planning.batch import Lost
from didact.teaching.loss.cuts import Cuts
from didact.teaching.loss.fan import Fan
from didact.teaching.loss.region import Region

DRAWS = 400
"""Random directions for each round of a search."""
CORNERS = 60
"""Sets of facets whose meeting is looked at."""
SCALES = (1e-6, 1e-4, 1e-2, 0.1, 1.0)
TAKEN = 12
"""So many of the worst points found become cuts at once."""
PUSHES = np.concatenate([[0.0], np.geomspace(1e-7, 30.0, 31)])
"""How far witnesses are moved towards the truth."""


def violations(
    cuts: Cuts, region: Region, chosen: Sequence[int], learner: str, rng: np.random.Generator
) -> int:
    """Add the cuts of rewards that fit the chosen and lose too much; how many were new."""
    found = 0
    rounds = boundary_rounds(region, rng)
    if learner == "planner":
        shown = np.asarray(cuts.shown[list(chosen)].any(axis=0))
        rounds = planner_rounds(cuts.fan, shown, rng)
    for weights, lost in rounds:
        bad = np.flatnonzero(lost.losses > cuts.limit)
        bad = bad[np.argsort(-lost.losses[bad], kind="stable")]
        distinct = {lost.policies[i].tobytes(): i for i in bad[::-1].tolist()}
        for i in sorted(distinct.values(), key=lambda i: -lost.losses[i])[:TAKEN]:
            found += push(cuts, learner, weights[i], chosen)
        if found:
            return found
    return found


def push(cuts: Cuts, learner: str, weights: Floats, chosen: Sequence[int]) -> bool:
    """Add the cut of weights moved towards the truth as far as they still lose too much.

    For learners that plan the smallest cut of all that the chosen do not hit.
    """
    truth = cuts.fan.truth
    moved = weights / np.linalg.norm(weights) + PUSHES[:, None] * truth
    lost = cuts.fan.losses.of(moved)
    fits = lost.losses > cuts.limit
    if learner == "planner":
        pairs = cuts.shown[list(chosen)].any(axis=0)
        wrong = ~lost.optimal.reshape(len(moved), -1)
        fits &= ~(wrong & pairs).any(axis=1)
        hits = wrong.astype(np.float32) @ cuts.shown.T.astype(np.float32)
        sizes = np.count_nonzero(hits, axis=1)
        best = int(np.argmin(np.where(fits, sizes, len(cuts.shown) + 1)))
        return bool(fits[best]) and cuts.add(
            learner, moved[best], float(lost.losses[best]), lost.optimal[best], chosen
        )
    last = int(np.flatnonzero(fits).max(initial=-1))
    if last < 0:
        return False
    finer = moved[last] + np.linspace(0.0, 1.0, 17)[:-1, None] * (
        moved[min(last + 1, len(moved) - 1)] - moved[last]
    )
    lost = cuts.fan.losses.of(finer)
    last = int(np.flatnonzero(lost.losses > cuts.limit).max(initial=0))
    return cuts.add(learner, finer[last], float(lost.losses[last]), lost.optimal[last], chosen)


def boundary_rounds(region: Region, rng: np.random.Generator) -> Iterator[tuple[Floats, Lost]]:
    """Points on the boundary of C(D): drawn, at and around corners, and around the worst."""
    fan, m = region.fan, len(region.inside)
    if not region.lower:
        weights = -fan.truth[None]
        yield weights, fan.losses.of(weights)
        return
    worst = np.zeros((0, m))
    for points in (rng.standard_normal((DRAWS, m)), *_near_corners(region, rng)):
        points = region.onto_boundary(points)
        if len(points):
            weights = points @ region.basis
            lost = fan.losses.of(weights)
            yield weights, lost
            worst = points[np.argsort(-lost.losses)[:8]]
    for scale in (0.3, 0.03, 0.003):
        near = np.repeat(worst, 25, axis=0)
        near = region.onto_boundary(near + scale * rng.standard_normal(near.shape))
        if len(near):
            lost = fan.losses.of(near @ region.basis)
            yield near @ region.basis, lost
            worst = near[np.argsort(-lost.losses)[:8]]


def _near_corners(region: Region, rng: np.random.Generator) -> Iterator[Floats]:
    """Corners of C(D), where m - 1 facets meet, and points around them at several scales."""
    n, m = region.facets.shape
    if n < m or m < 2:
        return
    meeting = np.array([rng.choice(n, m - 1, replace=False) for _ in range(CORNERS)])
    rays = np.linalg.svd(region.facets[meeting])[2][:, -1]
    rays = np.concatenate([rays, -rays])
    found = rays[(rays @ region.facets.T).min(axis=1) > -1e-9]
    if len(found):
        for scale in SCALES:
            yield found + scale * rng.standard_normal(found.shape)


def planner_rounds(
    fan: Fan,
    pairs: NDArray[np.bool_],
    rng: np.random.Generator,
    others: NDArray[np.bool_] | None = None,
) -> Iterator[tuple[Floats, Lost]]:
    """Points of H(D): a cloud that spreads inside it from the truth on.

    pairs: (S*A,), those that are shown. others: (S*A,), pairs that must not be optimal.
    """
    d = fan.dimension
    if not d:
        return
    cloud = np.repeat(fan.truth[None], 40, axis=0)
    for scale in (3.0, 1.0, 0.3, 1.0, 0.1, 0.3, 1.0, 0.3, 0.1, 0.03):
        drawn = np.repeat(cloud, 8, axis=0)
        drawn = drawn + scale * rng.standard_normal((len(drawn), d)) @ fan.basis / np.sqrt(d)
        drawn /= np.linalg.norm(drawn, axis=1)[:, None]
        lost = fan.losses.of(drawn)
        optimal = lost.optimal.reshape(len(drawn), -1)
        fits = np.asarray(~(~optimal & pairs).any(axis=1))
        if others is not None:
            fits &= ~(optimal & others).any(axis=1)
        if fits.any():
            kept = lost.where(fits)
            yield drawn[fits], kept
            order = np.argsort(-kept.losses)
            cloud = drawn[fits][np.concatenate([order[:20], rng.permutation(order)[:20]])]


def largest(rounds: Iterable[tuple[Floats, Lost]]) -> tuple[float, Floats | None]:
    """The largest loss in the rounds of a search, and its weights; None where nothing is lost."""
    loss, weights = 0.0, None
    for drawn, lost in rounds:
        at = int(np.argmax(lost.losses))
        if lost.losses[at] > loss:
            loss, weights = float(lost.losses[at]), drawn[at]
    return loss, weights
