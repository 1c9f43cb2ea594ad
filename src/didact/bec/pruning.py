"""The facets among the rays of a pointed cone, and a certificate for every other ray, exactly.

A point strictly inside cuts the cone in a polytope whose vertices are the facets, so the exact
minimum of any direction over that slice is a facet, ties broken by coordinates (Clarkson's ray
shooting). Rays are tested against the facets found so far, and one exact elimination certifies
every ray in the simplicial cone of the same facets at once. It ends because every round certifies
a ray or finds a facet.

Floats only propose. On the slice, floats with a bound on their errors leave out the rays that are
surely not least; the few that remain are compared in whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from didact.bec.farkas import Inside, Proposer, conditioned, decide, positive_support, rounded
from didact.bec.linear import (
    Floats,
    Multipliers,
    Row,
    completed_basis,
    dot,
    nearest_floats,
    negated,
    primitive,
    renamed,
)

_LOST = 1e-300
"""More than the smallest floats may have lost, as a share of the largest entry."""

_DOUBT = 2e-16
"""A rounding is 1.2e-16 at most. A place has three of them, its step one, and each product and sum
of k one more: less than 8 + k in all."""

_TOLERANCE = 1e-9
"""Where floats change their proposal; a wrong proposal costs time, never truth."""


Progress = Callable[[int, int], None]
"""Is told how many are done, and of how many."""


@dataclass(frozen=True)
class Rays:
    """The distinct rays of the quotient, numbered by first appearance.

    A ray's vector is the image of its first member; heights are the slacks at the point inside.
    """

    point: Row
    functionals: list[Row]
    vectors: list[Row] = field(default_factory=list)
    heights: list[int] = field(default_factory=list)
    members: list[list[int]] = field(default_factory=list)
    contents: dict[int, int] = field(default_factory=dict)

    def lifted(self, direction: Row) -> Row:
        """The direction of the quotient as one of weights: zero on L, the same on every row."""
        return tuple(dot(column, direction) for column in zip(*self.functionals, strict=True))


class Slice:
    """Where rays of positive height cut the plane of height one."""

    def __init__(
        self, vectors: Sequence[Row], heights: Sequence[int], nearest: Floats | None = None
    ):
        """nearest: the vectors as floats, where they are at hand."""
        self.vectors, self.heights = vectors, heights
        self._places = _places(vectors, heights, nearest)
        self._sizes = np.abs(self._places)

    def least(self, direction: Row) -> tuple[dict[int, int], list[int], int]:
        """Values of a direction on some rays; the rays where it is least on the slice; the next.

        The next is the first of those where it is least but for them, -1 where there are no others.
        """
        low, high = self._bounds(direction)
        near = np.flatnonzero(low <= high.min())
        values = {ray: dot(self.vectors[ray], direction) for ray in near.tolist()}
        tied = self._least_of(values, near)
        low[tied] = high[tied] = np.inf
        if len(tied) == len(low):
            return values, tied, -1
        near = np.flatnonzero((low <= high.min()) & self._all_but(tied))
        values |= {ray: dot(self.vectors[ray], direction) for ray in near.tolist()}
        return values, tied, self._least_of(values, near)[0]

    def _bounds(self, direction: Row) -> tuple[Floats, Floats]:
        """Numbers that the value of the direction lies between, for every ray, up to one factor."""
        scale = 1 << max(map(abs, direction)).bit_length()
        step = np.array([entry / scale for entry in direction])
        with np.errstate(all="ignore"):
            value = self._places @ step
            size = self._sizes @ np.abs(step) + _LOST * (1.0 + self._sizes.sum(axis=1))
            doubt = _DOUBT * (8 + len(step)) * size
            low, high = value - doubt, value + doubt
        unknown = ~np.isfinite(low + high)
        low[unknown], high[unknown] = -np.inf, np.inf
        return low, high

    def _all_but(self, rays: list[int]) -> NDArray[np.bool_]:
        others = np.ones(len(self.vectors), dtype=np.bool_)
        others[rays] = False
        return others

    def _least_of(self, values: dict[int, int], among: NDArray[np.int64]) -> list[int]:
        """The rays of the least ratio of value to height, compared exactly."""
        best, *others = among.tolist()
        tied = [best]
        for ray in others:
            order = values[ray] * self.heights[best] - values[best] * self.heights[ray]
            if order < 0:
                best, tied = ray, [ray]
            elif order == 0:
                tied.append(ray)
        return tied


def _places(vectors: Sequence[Row], heights: Sequence[int], nearest: Floats | None) -> Floats:
    """Vectors over heights, each entry rounded three times at most; infinite where none has one."""
    try:
        above = np.array(vectors, dtype=np.float64) if nearest is None else nearest
        return np.asarray(above / np.array(heights, dtype=np.float64)[:, None])
    except OverflowError:
        pass
    try:
        places = [[x / h for x in v] for v, h in zip(vectors, heights, strict=True)]
        return np.array(places, dtype=np.float64)
    except OverflowError:
        return np.full((len(vectors), len(vectors[0])), np.inf)


class Pruning:
    """Finds the facets among the rays, and a certificate for every other ray."""

    def __init__(self, rays: Rays, proposer: Proposer, progress: Progress | None = None):
        self.rays = rays
        self.progress = progress
        self.proposer = proposer
        self.facets: list[int] = []
        self.witnesses: dict[int, Row] = {}
        self.certificates: dict[int, Multipliers] = {}
        self.pending = np.ones(len(rays.vectors), dtype=np.bool_)
        self.n_exact_lp = 0
        self._spans = False
        if rays.vectors:
            nearest = nearest_floats(rays.vectors)
            self.slice = Slice(rays.vectors, rays.heights, nearest)
            self.floats, self.exponents = conditioned(rays.vectors, nearest)

    def run(self) -> None:
        """Test each ray against the facets so far; a ray outside their cone leads to a new one.

        Rays inside before the facets span the space wait until they do.
        """
        for ray in range(len(self.pending)):
            self.settle(ray, wait=True)
            self.tell()
        for ray in np.flatnonzero(self.pending).tolist():
            self.settle(ray, wait=False)
            self.tell()
        self.facets.sort()
        for facet in self.facets:
            if facet not in self.witnesses:
                self.separate(facet)

    def tell(self) -> None:
        """Tell how many rays are decided."""
        if self.progress is not None:
            n_rays = len(self.pending)
            self.progress(n_rays - int(np.count_nonzero(self.pending)), n_rays)

    def settle(self, ray: int, *, wait: bool) -> None:
        """Certify a ray, or find facets until it is one or can be; where it may wait, perhaps."""
        while self.pending[ray]:
            known = self.floats[self.facets]
            coefficients = self.proposer(known, self.floats[ray])
            residual = coefficients @ known - self.floats[ray]
            outside = residual @ residual > _TOLERANCE**2
            if outside and self.shoot(rounded(residual, self.exponents)):
                continue
            if wait and not self.spans():
                return
            self.certify(ray, positive_support(coefficients))
            if self.pending[ray]:
                self.resolve(ray)

    def spans(self) -> bool:
        """Whether the facets so far likely span the space; once they do, they always will."""
        width = self.floats.shape[1]
        if not self._spans and len(self.facets) >= width:
            self._spans = bool(np.linalg.matrix_rank(self.floats[self.facets]) == width)
        return self._spans

    def shoot(self, direction: Row) -> bool:
        """Whether the facet where the direction is least over the slice is new; records it.

        Values over heights are compared, so the least is a vertex once coordinates break ties.
        """
        values, tied, following = self.slice.least(direction)
        best = tied[0]
        if len(tied) > 1:
            vectors, heights = self.rays.vectors, self.rays.heights
            best = min(tied, key=lambda ray: [Fraction(x, heights[ray]) for x in vectors[ray]])
        if best in self.facets:
            return False
        self.facets.append(best)
        self.pending[best] = False
        if len(tied) == 1:
            self.witnesses[best] = self.shifted(direction, values, best, following)
        return True

    def shifted(self, direction: Row, values: Mapping[int, int], best: int, following: int) -> Row:
        """The direction plus a multiple of the point inside: negative on the best ray alone."""
        if following < 0:
            return negated(self.rays.point)
        height, next_height = self.rays.heights[best], self.rays.heights[following]
        gap = values[following] * height - values[best] * next_height
        scale = 1 << (height * next_height // gap).bit_length()
        shift = -(values[following] * scale // next_height)
        steps = zip(self.rays.lifted(direction), self.rays.point, strict=True)
        return primitive([scale * step + shift * entry for step, entry in steps])

    def certify(self, ray: int, support: list[int]) -> None:
        """Certify the ray and all pending rays in the same simplicial cone by one elimination."""
        vectors = self.rays.vectors
        basis = completed_basis([vectors[facet] for facet in self.facets], support)
        if basis is None:
            return
        likely = self.in_cone_of([self.facets[place] for place in basis.members], ray)
        targets = [ray, *likely]
        found = basis.combinations([vectors[target] for target in targets], self.facets)
        for target, multipliers in zip(targets, found, strict=True):
            if multipliers is not None:
                self.certificates[target] = multipliers
                self.pending[target] = False

    def in_cone_of(self, members: list[int], ray: int) -> list[int]:
        """Other pending rays that floats see in the cone of a basis."""
        waiting = np.flatnonzero(self.pending)
        waiting = waiting[waiting != ray]
        try:
            inverse = np.linalg.inv(self.floats[members])
        except np.linalg.LinAlgError:
            return []
        with np.errstate(all="ignore"):
            likely = (self.floats[waiting] @ inverse > -_TOLERANCE).all(axis=1)
        found: list[int] = waiting[likely].tolist()
        return found

    def resolve(self, ray: int) -> None:
        """Decide the ray against the known facets exactly: certify it or find a new facet."""
        known = [self.rays.vectors[facet] for facet in self.facets]
        decision = decide(known, self.rays.vectors[ray], proposer=self.proposer)
        self.n_exact_lp += decision.exact_lp
        if isinstance(decision, Inside):
            self.certificates[ray] = renamed(decision.multipliers, self.facets)
            self.pending[ray] = False
        elif not self.shoot(decision.witness):
            raise AssertionError("a direction that known facets allow led to one of them")

    def separate(self, facet: int) -> None:
        """Find the witness of a facet that ties hid: the other rays do not combine to it."""
        others = [vector for ray, vector in enumerate(self.rays.vectors) if ray != facet]
        decision = decide(others, self.rays.vectors[facet], proposer=self.proposer)
        self.n_exact_lp += decision.exact_lp
        if isinstance(decision, Inside):
            raise AssertionError("a vertex of the slice is a combination of other rays")
        self.witnesses[facet] = primitive(self.rays.lifted(decision.witness))
