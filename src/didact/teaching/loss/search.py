"""Cuts: rewards that lose too much, the candidates that rule them out, and the search for them.

If every policy that is best for w loses more than eps, each lesson within eps has a demonstration
that excludes w: for half-space learners one with a row r.w < 0, for learners that plan one with a
pair that is not optimal for w. So the cheapest candidates that hit all cuts cost no more than any
such lesson. Moving w towards w* while it still loses too much only makes its half-space cut
smaller. Weights found for a lesson fit it: none of its candidates excludes them, also where a row
of theirs is 0 up to rounding (ties keep such rows at 0 however far weights move towards w*). So
every cut is one that the lesson misses, and each round of the hitting set has something new.

The search is quick, and never a proof. Half-space learners: random points on the boundary of C(D),
its corners, corners moved a little at several scales, and the surroundings of the worst points
found. Learners that plan: a walk inside H(D) from the truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from didact.bec.linear import dot, null_basis, primitive, row_reduced
from didact.numerics.exact import Floats
from didact.planning.batch import Lost
from didact.teaching.covers.problem import Problem
from didact.teaching.lesson import SURELY, Witness
from didact.teaching.loss.cells import WorstLoss, exact_weights
from didact.teaching.loss.fan import Fan
from didact.teaching.loss.region import Region

TOUCHES, APART = 1e-12, 1e-9
"""A unit row with a smaller product with unit weights may exclude them; one below the second, may
be zero there."""

Mask = NDArray[np.bool_]

Plans = dict[tuple[Fraction, ...], tuple[Mask, float] | None]
"""Of exact weights their optimal pairs (S*A,) and the least loss; None where not proved."""


@dataclass
class Cuts:
    """The witnesses known so far, none of whose cuts contains another's.

    problem: candidates and what they state. bound: eps, in units of return. plans: of witnesses
    that were checked. lower: hitting all cuts costs at least so much.
    """

    problem: Problem
    fan: Fan
    bound: float
    witnesses: list[Witness] = field(default_factory=list)
    plans: Plans = field(default_factory=dict)
    lower: int | Fraction = 0

    @cached_property
    def stated(self) -> Mask:
        """(n, rows): which rows each candidate states."""
        offsets, members = self.problem.stated
        found = np.zeros((len(offsets) - 1, self.problem.known.rows.n_rows), dtype=np.bool_)
        found[np.repeat(np.arange(len(found)), np.diff(offsets)), members] = True
        return found

    @cached_property
    def shown(self) -> Mask:
        """(n, S*A): which pairs each candidate shows."""
        pairs = self.problem.candidates.pairs
        found = np.zeros((len(pairs), self.fan.n_pairs + 1), dtype=np.bool_)
        found[np.arange(len(pairs))[:, None], pairs] = True
        return found[:, :-1]

    @property
    def limit(self) -> float:
        """What is above it surely loses more than the bound."""
        return self.bound + SURELY * max(self.fan.spread, self.bound)

    def rows_of(self, chosen: Sequence[int]) -> Floats:
        """The unit rows that the chosen state, (n, k)."""
        return self.problem.known.rows.normals[self.stated[list(chosen)].any(axis=0)]

    def pairs_of(self, chosen: Sequence[int]) -> Mask:
        """The pairs that the chosen show, (S, A)."""
        shown = self.shown[list(chosen)].any(axis=0)
        return np.asarray(shown.reshape(len(self.fan.states), -1))

    def add_lost(self, worst: WorstLoss) -> bool:
        """Take what a chart found for learners that plan as a witness."""
        assert worst.optimal is not None
        excludes = (self.shown & ~worst.optimal.ravel()).any(axis=1)
        (fan,) = self.fan.single
        cut = frozenset(np.flatnonzero(excludes).tolist())
        return self._keep(Witness(exact_weights(fan, worst), worst.loss, "planner", cut))

    def add(
        self, learner: str, weights: Floats, loss: float, optimal: Mask, fits: Sequence[int] = ()
    ) -> bool:
        """Take weights that lose too much as a witness; whether they say anything new."""
        return self._keep(self.witness_of(learner, weights, loss, optimal, fits))

    def witness_of(
        self, learner: str, weights: Floats, loss: float, optimal: Mask, fits: Sequence[int] = ()
    ) -> Witness:
        """Weights that lose too much, with the candidates that exclude them.

        fits: candidates that the weights are known to fit.
        """
        weights = weights / np.linalg.norm(weights)
        exact = tuple(Fraction(repr(float(x))) for x in np.round(weights, 15))
        if learner == "half-spaces":
            heights = self.problem.known.rows.normals @ weights
            against = (heights < TOUCHES) & ~self.stated[list(fits)].any(axis=0)
            excludes = (self.stated & against).any(axis=1)
            exact = self._on_ties(weights, np.flatnonzero(~against & (heights < APART))) or exact
        else:
            excludes = (self.shown & ~optimal.ravel()).any(axis=1)
        found = np.array(excludes)
        found[list(fits)] = False
        return Witness(exact, float(loss), learner, frozenset(np.flatnonzero(found).tolist()))

    def _on_ties(self, weights: Floats, rows: NDArray[np.int64]) -> tuple[Fraction, ...] | None:
        """The nearest weights for which rows that are nearly 0 are 0; None where there are none."""
        exact = self.problem.known.rows.exact
        if exact is None or not len(rows):
            return None
        across = null_basis(*row_reduced([exact[row] for row in rows.tolist()]), len(weights))
        if not across:
            return None
        basis = np.array([[float(x) for x in row] for row in across])
        lengths = np.linalg.norm(basis, axis=1)
        shares = np.linalg.lstsq((basis / lengths[:, None]).T, weights, rcond=None)[0] / lengths
        taken = [Fraction(repr(float(share))) for share in shares]
        columns = zip(*across, strict=True)
        return tuple(
            sum((c * x for c, x in zip(taken, col, strict=True)), Fraction(0)) for col in columns
        )

    def _keep(self, witness: Witness) -> bool:
        """Keep a witness, unless another's cut is within its own."""
        cut = witness.excluded_by
        if any(known.excluded_by <= cut for known in self.witnesses):
            return False
        if cut:
            self.witnesses = [known for known in self.witnesses if not cut <= known.excluded_by]
        self.witnesses.append(witness)
        return True


def check_witness(cuts: Cuts, witness: Witness) -> bool:
    """Whether a witness holds in exact numbers: it loses too much, and nobody else excludes it."""
    if witness.weights not in cuts.plans:
        cuts.plans[witness.weights] = cuts.fan.planned(witness.weights)
    planned = cuts.plans[witness.weights]
    if planned is None or not planned[1] > cuts.limit:
        return False
    rest = [n for n in range(len(cuts.problem.candidates)) if n not in witness.excluded_by]
    if witness.learner == "planner":
        return not (cuts.shown[rest].any(axis=0) & ~planned[0]).any()
    rows = cuts.problem.known.rows.exact
    if rows is None:
        return False
    weights = primitive(list(witness.weights))
    stated = np.flatnonzero(cuts.stated[rest].any(axis=0))
    return all(dot(rows[row], weights) >= 0 for row in stated.tolist())


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
