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

`remaining_loss` is that of the worst reward that fits demonstrations, for each kind of learner.

`order_by_loss` is an order in which every prefix loses little. From the whole lesson, the
demonstration is put last without which the rest loses least, then the same with the rest. Going
forward would be blind: the first few demonstrations lose nearly everything whichever they are, and
only together they begin to count. What a set of demonstrations loses is the largest loss of the
rewards drawn so far that fit it. They are drawn on the boundary of its cone, when it is about to be
chosen: rewards that fit a set fit every part of it, so the draws are shared. The order is a good
one by a search, no claim is made.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.bec.classes import EquivalenceClass, shown_pairs
from didact.bec.linear import dot, primitive
from didact.mdp import Demonstration
from didact.numerics.exact import Floats
from didact.planning.batch import Lost
from didact.random import stream
from didact.teaching.covers.problem import Problem
from didact.teaching.lesson import ENUMERATED, SURELY, TESTED, Witness
from didact.teaching.loss.cells import WorstLoss, affordable_cells, exact_weights, weights_on_ties
from didact.teaching.loss.region import Region, region_of, worst_cell
from didact.teaching.loss.space import WeightSpace, weight_space

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
    space: WeightSpace
    bound: float
    witnesses: list[Witness] = field(default_factory=list)
    plans: Plans = field(default_factory=dict)
    lower: int | Fraction = 0

    @cached_property
    def stated(self) -> Mask:
        """(n, rows): which rows each candidate states."""
        stated = self.problem.stated
        found = np.zeros((len(stated), self.problem.bec.rows.n_rows), dtype=np.bool_)
        for own, rows in zip(found, stated, strict=True):
            own[rows] = True
        return found

    @cached_property
    def shown(self) -> Mask:
        """(n, S*A): which pairs each candidate shows."""
        pairs = self.problem.candidates.pairs
        found = np.zeros((len(pairs), self.space.n_pairs + 1), dtype=np.bool_)
        found[np.arange(len(pairs))[:, None], pairs] = True
        return found[:, :-1]

    @property
    def limit(self) -> float:
        """What is above it surely loses more than the bound."""
        return self.bound + SURELY * max(self.space.spread, self.bound)

    def rows_of(self, chosen: Sequence[int]) -> Floats:
        """The unit rows that the chosen state, (n, k)."""
        return self.problem.bec.rows.normals[self.stated[list(chosen)].any(axis=0)]

    def pairs_of(self, chosen: Sequence[int]) -> Mask:
        """The pairs that the chosen show, (S, A)."""
        shown = self.shown[list(chosen)].any(axis=0)
        return np.asarray(shown.reshape(len(self.space.states), -1))

    def add_lost(self, worst: WorstLoss) -> bool:
        """Take what policy cells found for learners that plan as a witness."""
        assert worst.optimal is not None
        excludes = (self.shown & ~worst.optimal.ravel()).any(axis=1)
        (space,) = self.space.single
        cut = frozenset(np.flatnonzero(excludes).tolist())
        return self._keep(Witness(exact_weights(space, worst), worst.loss, "planner", cut))

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
            heights = self.problem.bec.rows.normals @ weights
            against = (heights < TOUCHES) & ~self.stated[list(fits)].any(axis=0)
            excludes = (self.stated & against).any(axis=1)
            near, rows = np.flatnonzero(~against & (heights < APART)), self.problem.bec.rows.exact
            if rows is not None and len(near):
                exact = weights_on_ties([rows[row] for row in near.tolist()], weights) or exact
        else:
            excludes = (self.shown & ~optimal.ravel()).any(axis=1)
        found = np.array(excludes)
        found[list(fits)] = False
        return Witness(exact, float(loss), learner, frozenset(np.flatnonzero(found).tolist()))

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
        cuts.plans[witness.weights] = cuts.space.planned(witness.weights)
    planned = cuts.plans[witness.weights]
    if planned is None or not planned[1] > cuts.limit:
        return False
    rest = [n for n in range(len(cuts.problem.candidates)) if n not in witness.excluded_by]
    if witness.learner == "planner":
        return not (cuts.shown[rest].any(axis=0) & ~planned[0]).any()
    rows = cuts.problem.bec.rows.exact
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
        rounds = planner_rounds(cuts.space, shown, rng)
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
    truth = cuts.space.truth
    moved = weights / np.linalg.norm(weights) + PUSHES[:, None] * truth
    lost = cuts.space.losses.of(moved)
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
    lost = cuts.space.losses.of(finer)
    last = int(np.flatnonzero(lost.losses > cuts.limit).max(initial=0))
    return cuts.add(learner, finer[last], float(lost.losses[last]), lost.optimal[last], chosen)


def boundary_rounds(region: Region, rng: np.random.Generator) -> Iterator[tuple[Floats, Lost]]:
    """Points on the boundary of C(D): drawn, at and around corners, and around the worst."""
    space, m = region.space, len(region.inside)
    if not region.lower:
        weights = -space.truth[None]
        yield weights, space.losses.of(weights)
        return
    worst = np.zeros((0, m))

    def tried() -> Iterator[Floats]:
        yield rng.standard_normal((DRAWS, m))
        yield from _near_corners(region, rng)
        for scale in (0.3, 0.03, 0.003):
            near = np.repeat(worst, 25, axis=0)
            yield near + scale * rng.standard_normal(near.shape)

    for points in tried():
        points = region.onto_boundary(points)
        if len(points):
            weights = points @ region.basis
            lost = space.losses.of(weights)
            yield weights, lost
            worst = points[np.argsort(-lost.losses)[:8]]


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
    space: WeightSpace,
    pairs: NDArray[np.bool_],
    rng: np.random.Generator,
    others: NDArray[np.bool_] | None = None,
) -> Iterator[tuple[Floats, Lost]]:
    """Points of H(D): a cloud that spreads inside it from the truth on.

    pairs: (S*A,), those that are shown. others: (S*A,), pairs that must not be optimal.
    """
    d = space.dimension
    if not d:
        return
    cloud = np.repeat(space.truth[None], 40, axis=0)
    for scale in (3.0, 1.0, 0.3, 1.0, 0.1, 0.3, 1.0, 0.3, 0.1, 0.03):
        drawn = np.repeat(cloud, 8, axis=0)
        drawn = drawn + scale * rng.standard_normal((len(drawn), d)) @ space.basis / np.sqrt(d)
        drawn /= np.linalg.norm(drawn, axis=1)[:, None]
        lost = space.losses.of(drawn)
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


TIME_LIMIT = 20.0
"""Seconds for visiting cells, where none are given."""


class Worst(NamedTuple):
    """The most that a kind of learner was found to lose, and how that is known.

    status: 'enumerated': nothing loses more; 'tested': at least so much is lost, perhaps more.
    weights: (k,), of a reward that fits and loses it; None where nothing is lost. member: of a
    family the one where it is lost; loss and share are then in the unit of its losses.
    """

    learner: str
    loss: float
    share: float
    status: str
    weights: tuple[float, ...] | None
    member: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The same for machines."""
        weights = None if self.weights is None else list(self.weights)
        found = {**self._asdict(), "weights": weights}
        if self.member is None:
            del found["member"]
        return found


def remaining_loss(
    bec: EquivalenceClass,
    demonstrations: Sequence[Demonstration],
    *,
    space: WeightSpace | None = None,
    time_limit: float = TIME_LIMIT,
) -> tuple[Worst, Worst]:
    """What the demonstrations, all of them right, may still cost: half-spaces, then planners.

    In a family losses are shares of the members' own spreads, unless `space` says otherwise.
    """
    space = weight_space(bec) if space is None else space
    shown = shown_pairs(bec.members, demonstrations)
    region = region_of(space, bec.rows.normals[bec.rows.stated_by(shown)])
    rng = stream(0, "remaining")
    cells = worst_cell(region, deadline=time.monotonic() + time_limit)
    half = largest(boundary_rounds(region, rng)) if not cells.is_proved else (0.0, None)
    if cells.worst is not None and cells.worst.loss >= half[0]:
        half = cells.worst.loss, cells.worst.weights
    every_cell = affordable_cells(space)
    is_enumerated = every_cell is not None and every_cell.finish(time.monotonic() + time_limit)
    plans = largest(planner_rounds(space, shown.ravel(), rng))
    if every_cell is not None and is_enumerated:
        plans = every_cell.worst(shown)[:2]
    spread = space.spread or math.inf

    def worst(learner: str, found: tuple[float, Floats | None], status: str) -> Worst:
        loss, weights = found
        if weights is None or loss <= 0.0:
            return Worst(learner, loss, loss / spread, status, None)
        lost = [member.losses.of(weights[None]).losses[0] for member in space.members]
        member = int(np.argmax(lost)) if lost else None
        return Worst(learner, loss, loss / spread, status, tuple(weights.tolist()), member)

    return (
        worst("half-spaces", half, ENUMERATED if cells.is_proved else TESTED),
        worst("planner", plans, ENUMERATED if is_enumerated else TESTED),
    )


EXCLUDED = -1e-9
"""Unit weights whose product with a unit row is below it do not fit the row."""
KEPT = 60
"""So many of the worst rewards of each round of a search are kept."""
ALIKE = 1e-9
"""Losses that differ by a smaller share of the spread are alike: the later one goes last."""


def order_by_loss(
    bec: EquivalenceClass, demonstrations: Sequence[Demonstration], rng: np.random.Generator
) -> tuple[int, ...]:
    """The numbers of the demonstrations in an order whose prefixes lose little."""
    space = weight_space(bec)
    rows = [
        bec.rows.normals[bec.rows.stated_by(shown_pairs(bec.members, [shown]))]
        for shown in demonstrations
    ]
    # Rewards drawn so far: their losses (n,), and which demonstrations exclude them (n, m).
    losses, excluded = np.zeros(0), np.zeros((0, len(rows)), dtype=np.bool_)
    searched: set[frozenset[int]] = set()
    left, last = list(range(len(rows))), []
    while len(left) > 1:
        without = {number: [n for n in left if n != number] for number in left}
        worst = {
            number: float(losses[~excluded[:, rest].any(axis=1)].max(initial=0.0))
            for number, rest in without.items()
        }
        enough = min(worst.values()) + ALIKE * space.spread
        chosen = max(number for number, loss in worst.items() if loss <= enough)
        rest = without[chosen]
        if frozenset(rest) in searched:
            last.append(chosen)
            left.remove(chosen)
            continue
        # Rewards that fit the rest and lose more may make another one the least missed.
        searched.add(frozenset(rest))
        region = region_of(space, np.concatenate([rows[number] for number in rest]))
        for drawn, lost in boundary_rounds(region, rng):
            kept = np.argsort(-lost.losses)[:KEPT]
            units = drawn[kept] / np.linalg.norm(drawn[kept], axis=1)[:, None]
            outside = [(units @ own.T < EXCLUDED).any(axis=1) for own in rows]
            excluded = np.concatenate([excluded, np.column_stack(outside)])
            losses = np.concatenate([losses, lost.losses[kept]])
    return (*left, *reversed(last))
