"""The exact cone of integer rows: lineality, facets, and a proof for every row.

Write C = cone(rows) and L = C meet -C. A row is an equality (it lies in L), a member of a facet
class (its image in the pointed quotient C/L spans an extreme ray) or redundant. Each verdict comes
with evidence that a few integer products check: an equality with its negative as a combination of
equalities, a facet with a direction that only its class excludes, a redundant row with its Farkas
multipliers.

A point strictly inside cuts C/L in a polytope whose vertices are the facets, so the exact minimum
of any direction over that slice is a facet, ties broken by coordinates (Clarkson's ray shooting).
Rows are tested against the facets found so far, and one exact inverse certifies every row in the
simplicial cone of the same facets at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from didact.bec.linear import (
    Inside,
    Multipliers,
    Proposer,
    Row,
    basis_of,
    completed_basis,
    conditioned,
    decide,
    dot,
    independent,
    integers,
    matrix,
    null_basis,
    positive_support,
    primitive,
    products,
    propose,
    reduced_multipliers,
    rounded,
    row_reduced,
)

if TYPE_CHECKING:
    from flint import fmpz_mat

_TOLERANCE = 1e-9
"""Where floats change their proposal; a wrong proposal costs time, never truth."""


@dataclass(frozen=True)
class ExactCone:
    """What the rows are to their cone, with the evidence; all indices are those of the rows."""

    equalities: tuple[int, ...]
    """The rows in the lineality space."""
    opposites: Mapping[int, Multipliers]
    """For each equality its negative as a combination of equalities."""
    lineality: tuple[Row, ...]
    """Row-reduced basis of the lineality space."""
    facets: tuple[tuple[int, ...], ...]
    """Classes of rows with the same extreme ray in the quotient, by first appearance."""
    multipliers: Mapping[int, Multipliers]
    """For each redundant row, multipliers of first members of facet classes and of equalities."""
    witnesses: tuple[Row, ...]
    """For each class w with f.w < 0 in it, r.w >= 0 outside it and r.w = 0 on equalities."""
    rank: int
    unidentifiable: tuple[Row, ...]
    """Basis of the directions that no row can fix: r.w = 0 for all rows."""
    n_exact_lp: int
    """How many decisions the float proposal could not settle."""


@dataclass(frozen=True)
class _Ties:
    """The equalities, and a point strictly inside every other half-space with its slacks."""

    opposites: dict[int, Multipliers]
    point: Row
    slacks: list[int]
    n_exact_lp: int


@dataclass(frozen=True)
class _Rays:
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


def exact_cone(
    rows: Sequence[Row], inside: Sequence[Fraction | int], *, proposer: Proposer = propose
) -> ExactCone:
    """Equalities, facets and redundant rows of the cone of nonzero rows, each with its proof.

    Every row must hold at the point inside (r.inside >= 0); for a set of half-spaces that came from
    true weights this is a theorem, so a violation raises AssertionError.
    """
    point = primitive(inside)
    exact = matrix(rows)
    slacks = products(exact, point) if rows else []
    for index, slack in enumerate(slacks):
        if slack < 0 or not any(rows[index]):
            raise AssertionError(f"row {index} is zero or excludes the point inside: {rows[index]}")
    basis, pivots = row_reduced(rows)
    ties = _find_ties(rows, exact, _Ties({}, point, slacks, 0), proposer)
    equalities = sorted(ties.opposites)
    lineality, lineality_pivots = row_reduced([rows[index] for index in equalities])
    rays = _quotient(rows, exact, pivots, ties, lineality)
    pruning = _Pruning(rays, proposer)
    pruning.run()
    lift = _Lift(rows, ties.opposites, lineality_pivots, proposer)
    multipliers = _lifted(rows, rays, pruning.certificates, lift)
    return ExactCone(
        equalities=tuple(equalities),
        opposites=ties.opposites,
        lineality=tuple(lineality),
        facets=tuple(tuple(rays.members[facet]) for facet in pruning.facets),
        multipliers=multipliers,
        witnesses=tuple(pruning.witnesses[facet] for facet in pruning.facets),
        rank=len(pivots),
        unidentifiable=tuple(null_basis(basis, pivots, len(point))),
        n_exact_lp=ties.n_exact_lp + pruning.n_exact_lp + lift.n_exact_lp,
    )


def _negated(row: Row) -> Row:
    return tuple(-entry for entry in row)


def _find_ties(rows: Sequence[Row], exact: fmpz_mat, start: _Ties, proposer: Proposer) -> _Ties:
    """Which rows without slack lie in L; the point moves off the others.

    Model rows come with their negatives, so that a look decides; otherwise r is in L exactly when
    -r is in the cone of the rows without slack.
    """
    tied = [index for index, slack in enumerate(start.slacks) if slack == 0]
    place = {rows[index]: index for index in tied}
    opposites = {
        index: Multipliers((place[_negated(rows[index])],), (1,), 1)
        for index in tied
        if _negated(rows[index]) in place
    }
    point, slacks, n_exact_lp = start.point, start.slacks, 0
    for index in tied:
        if index in opposites or slacks[index] > 0:
            continue
        decision = decide([rows[i] for i in tied], _negated(rows[index]), proposer=proposer)
        n_exact_lp += decision.exact_lp
        if isinstance(decision, Inside):
            for member, negative in _circuit(index, decision.multipliers, tied).items():
                opposites.setdefault(member, negative)
        else:
            point, slacks = _moved(
                point, slacks, decision.witness, products(exact, decision.witness)
            )
    return _Ties(opposites, point, slacks, n_exact_lp)


def _circuit(index: int, negative: Multipliers, tied: list[int]) -> dict[int, Multipliers]:
    """From -r as a combination, the same for every row that takes part."""
    amounts = {tied[i]: n for i, n in zip(negative.indices, negative.numerators, strict=True)}
    amounts[index] = negative.denominator
    return {
        member: reduced_multipliers(
            {other: n for other, n in amounts.items() if other != member}, amount
        )
        for member, amount in amounts.items()
    }


def _moved(
    point: Row, slacks: list[int], direction: Row, slopes: list[int]
) -> tuple[Row, list[int]]:
    """The point moved along the direction by so little that no positive slack is lost."""
    scale = 1 + max(
        (-slope // slack for slope, slack in zip(slopes, slacks, strict=True) if slack > 0),
        default=0,
    )
    scale = max(scale, 1)
    moved = tuple(scale * entry + step for entry, step in zip(point, direction, strict=True))
    return moved, [scale * slack + slope for slack, slope in zip(slacks, slopes, strict=True)]


def _quotient(
    rows: Sequence[Row], exact: fmpz_mat, pivots: list[int], ties: _Ties, lineality: list[Row]
) -> _Rays:
    """The rows outside L as vectors of C/L: their values under a basis of functionals zero on L.

    The pivot columns tell the rows apart, so functionals that read only these are enough.
    """
    width = len(ties.point)
    reading = [tuple(row[pivot] for pivot in pivots) for row in lineality]
    functionals = []
    for short in null_basis(*row_reduced(reading), len(pivots)):
        functional = dict(zip(pivots, short, strict=True))
        functionals.append(tuple(functional.get(column, 0) for column in range(width)))
    rays = _Rays(ties.point, functionals)
    if not functionals:
        return rays
    number: dict[Row, int] = {}
    for index, image in enumerate(integers(exact * matrix(functionals).transpose())):
        if index in ties.opposites:
            continue
        rays.contents[index] = content = math.gcd(*image)
        key = image if content == 1 else tuple(entry // content for entry in image)
        ray = number.setdefault(key, len(number))
        if ray == len(rays.vectors):
            rays.vectors.append(image)
            rays.heights.append(ties.slacks[index])
            rays.members.append([])
        rays.members[ray].append(index)
    return rays


class _Pruning:
    """Finds the facets among the rays, and a certificate for every other ray."""

    def __init__(self, rays: _Rays, proposer: Proposer):
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
            return _negated(self.rays.point)
        height, next_height = self.rays.heights[best], self.rays.heights[following]
        gap = values[following] * height - values[best] * next_height
        scale = 1 << (height * next_height // gap).bit_length()
        shift = -(values[following] * scale // next_height)
        steps = zip(self.rays.lifted(direction), self.rays.point, strict=True)
        return primitive([scale * step + shift * entry for step, entry in steps])

    def certify(self, ray: int, support: list[int]) -> None:
        """Certify the ray and all pending rays in the same simplicial cone by one inverse."""
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
        coordinates = basis.coordinates([vectors[target] for target in targets])
        for target, coordinate in zip(targets, coordinates, strict=True):
            multipliers = basis.combination(coordinate)
            if multipliers is not None:
                self.certificates[target] = _renamed(multipliers, self.facets)
                del self.pending[target]

    def resolve(self, ray: int) -> None:
        """Decide the ray against the known facets exactly: certify it or find a new facet."""
        known = [self.rays.vectors[facet] for facet in self.facets]
        decision = decide(known, self.rays.vectors[ray], proposer=self.proposer)
        self.n_exact_lp += decision.exact_lp
        if isinstance(decision, Inside):
            self.certificates[ray] = _renamed(decision.multipliers, self.facets)
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


class _Lift:
    """Expresses members of L by equalities, with nonnegative multipliers."""

    def __init__(
        self,
        rows: Sequence[Row],
        opposites: dict[int, Multipliers],
        pivots: list[int],
        proposer: Proposer,
    ):
        self.equalities = sorted(opposites)
        self.opposites = opposites
        self.pivots = pivots
        self.proposer = proposer
        self.rows = [rows[index] for index in self.equalities]
        self.n_exact_lp = 0
        if self.equalities:
            short = [tuple(row[pivot] for pivot in pivots) for row in self.rows]
            self.basis = basis_of(short, independent(short))

    def multipliers(self, member: Row) -> Multipliers:
        """Multipliers of equalities that combine to the member of L; signs by opposite rows."""
        if not any(member):
            return Multipliers((), (), 1)
        assert self.basis is not None
        amounts: dict[int, int] = {}
        coordinates = self.basis.coordinates([tuple(member[pivot] for pivot in self.pivots)])[0]
        for place, amount in zip(self.basis.members, coordinates, strict=True):
            index = self.equalities[place]
            if amount < 0:
                negative = self.opposites[index]
                if negative.numerators != (1,) or negative.denominator != 1:
                    return self._decided(member)
                index = negative.indices[0]
            amounts[index] = abs(amount)
        return reduced_multipliers(amounts, self.basis.determinant)

    def _decided(self, member: Row) -> Multipliers:
        decision = decide(self.rows, member, proposer=self.proposer)
        self.n_exact_lp += decision.exact_lp
        assert isinstance(decision, Inside), "equalities span L positively"
        return _renamed(decision.multipliers, self.equalities)


def _renamed(multipliers: Multipliers, names: Sequence[int]) -> Multipliers:
    """The same multipliers of differently numbered rows."""
    named = zip(
        (names[index] for index in multipliers.indices), multipliers.numerators, strict=True
    )
    indices, numerators = zip(*sorted(named), strict=True)
    return Multipliers(indices, numerators, multipliers.denominator)


def _lifted(
    rows: Sequence[Row], rays: _Rays, certificates: dict[int, Multipliers], lift: _Lift
) -> dict[int, Multipliers]:
    """Multipliers of rows from those of rays; what the quotient forgot is made of equalities."""
    first = [members[0] for members in rays.members]
    lifted: dict[int, Multipliers] = {}
    for ray, certificate in certificates.items():
        named = _renamed(certificate, first)
        for index in rays.members[ray]:
            content, unit = rays.contents[index], rays.contents[first[ray]]
            if content == unit and not lift.equalities:
                lifted[index] = named
                continue
            amounts = {
                name: content * amount
                for name, amount in zip(named.indices, named.numerators, strict=True)
            }
            lifted[index] = _completed(rows, index, amounts, named.denominator * unit, lift)
    return dict(sorted(lifted.items()))


def _completed(
    rows: Sequence[Row], index: int, amounts: dict[int, int], denominator: int, lift: _Lift
) -> Multipliers:
    """The multipliers of a row that agree with it up to L, made to agree exactly."""
    if not lift.equalities:
        return reduced_multipliers(amounts, denominator)
    rest = [denominator * entry for entry in rows[index]]
    for name, amount in amounts.items():
        rest = [left - amount * entry for left, entry in zip(rest, rows[name], strict=True)]
    extra = lift.multipliers(tuple(rest))
    amounts = {name: amount * extra.denominator for name, amount in amounts.items()}
    amounts.update(zip(extra.indices, extra.numerators, strict=True))
    return reduced_multipliers(amounts, denominator * extra.denominator)
