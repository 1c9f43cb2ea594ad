"""The facets among the rays of a pointed cone, and a certificate for every other ray.

A point strictly inside cuts the cone in a polytope whose vertices are the facets, so the exact
minimum of any direction over that slice is a facet, ties broken by coordinates (Clarkson's ray
shooting). Rays are tested against the facets found so far, and one exact elimination certifies
every ray in the simplicial cone of the same facets at once. It ends because every round certifies
a ray or finds a facet.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from didact.bec.farkas import (
    Inside,
    Proposer,
    conditioned,
    decide,
    positive_support,
    rounded,
)
from didact.bec.linear import (
    Multipliers,
    Row,
    completed_basis,
    matrix,
    negated,
    primitive,
    products,
    renamed,
)
from didact.bec.quotient import Rays

_TOLERANCE = 1e-9
"""Where floats change their proposal; a wrong proposal costs time, never truth."""


class Pruning:
    """Finds the facets among the rays, and a certificate for every other ray."""

    def __init__(self, rays: Rays, proposer: Proposer):
        self.rays = rays
        self.proposer = proposer
        self.facets: list[int] = []
        self.witnesses: dict[int, Row] = {}
        self.certificates: dict[int, Multipliers] = {}
        self.pending = dict.fromkeys(range(len(rays.vectors)))
        self.n_exact_lp = 0
        if rays.vectors:
            self.exact = matrix(rays.vectors)
            self.floats, self.exponents = conditioned(rays.vectors)

    def run(self) -> None:
        """Test each ray against the facets so far; a ray outside their cone leads to a new one."""
        while self.pending:
            ray = next(iter(self.pending))
            known = self.floats[self.facets]
            coefficients = self.proposer(known, self.floats[ray])
            residual = coefficients @ known - self.floats[ray]
            outside = residual @ residual > _TOLERANCE**2
            if outside and self.shoot(rounded(residual, self.exponents)):
                continue
            self.certify(ray, positive_support(coefficients))
            if ray in self.pending:
                self.resolve(ray)
        self.facets.sort()
        for facet in self.facets:
            if facet not in self.witnesses:
                self.separate(facet)

    def shoot(self, direction: Row) -> bool:
        """Whether the facet where the direction is least over the slice is new; records it.

        Values over heights are compared, so the least is a vertex once coordinates break ties.
        """
        values, heights = products(self.exact, direction), self.rays.heights
        best, tied, following = 0, [0], -1
        for ray in range(1, len(values)):
            order = values[ray] * heights[best] - values[best] * heights[ray]
            if order < 0:
                best, tied, following = ray, [ray], best
            elif order == 0:
                tied.append(ray)
            elif (
                following < 0 or values[ray] * heights[following] < values[following] * heights[ray]
            ):
                following = ray
        if len(tied) > 1:
            vectors = self.rays.vectors
            best = min(tied, key=lambda ray: [Fraction(x, heights[ray]) for x in vectors[ray]])
        if best in self.facets:
            return False
        self.facets.append(best)
        del self.pending[best]
        if len(tied) == 1:
            self.witnesses[best] = self.shifted(direction, values, best, following)
        return True

    def shifted(self, direction: Row, values: list[int], best: int, following: int) -> Row:
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
        members = [self.facets[place] for place in basis.members]
        waiting = np.array([other for other in self.pending if other != ray], dtype=np.int64)
        with np.errstate(all="ignore"):
            inverse = np.linalg.pinv(self.floats[members])
            likely = (self.floats[waiting] @ inverse > -_TOLERANCE).all(axis=1)
        targets = [ray, *waiting[likely].tolist()]
        found, denominator = basis.coordinates([vectors[target] for target in targets])
        for target, coordinates in zip(targets, found, strict=True):
            multipliers = basis.combination(coordinates, denominator)
            if multipliers is not None:
                self.certificates[target] = renamed(multipliers, self.facets)
                del self.pending[target]

    def resolve(self, ray: int) -> None:
        """Decide the ray against the known facets exactly: certify it or find a new facet."""
        known = [self.rays.vectors[facet] for facet in self.facets]
        decision = decide(known, self.rays.vectors[ray], proposer=self.proposer)
        self.n_exact_lp += decision.exact_lp
        if isinstance(decision, Inside):
            self.certificates[ray] = renamed(decision.multipliers, self.facets)
            del self.pending[ray]
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
