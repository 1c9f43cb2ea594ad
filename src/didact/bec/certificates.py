"""The exact cone of integer rows: lineality, facets, and a proof for every row.

Write C = cone(rows) and L = C meet -C. A row is an equality (it lies in L), a member of a facet
class (its image in the pointed quotient C/L spans an extreme ray) or redundant. Each verdict comes
with evidence that a few integer products check: an equality with its negative as a combination of
equalities, a facet with a direction that only its class excludes, a redundant row with its Farkas
multipliers. Four steps find them.

1. Equalities. A row with slack at the point inside is none. A row r without slack is one exactly
   when -r lies in the cone of the rows without slack; where it does not, Farkas' witness moves the
   point off the row, so that in the end the point lies strictly inside every half-space but the
   equalities.
2. Quotient. Functionals that are zero on L map the other rows to vectors of C/L; rows with the same
   direction there are one ray.
3. Facets among the rays. The point inside cuts the pointed cone in a polytope whose vertices are
   the facets, so the exact minimum of any direction over that slice is a facet, ties broken by
   coordinates (Clarkson's ray shooting). Rays are tested against the facets found so far, and one
   exact solve certifies every ray in the simplicial cone of the same facets at once. It ends
   because every round certifies a ray or finds a facet. Floats only propose.
4. Lift. What a combination of rays forgets is an element of L, so multipliers of rows are those of
   rays, completed by equalities.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from didact.bec.linear import (
    Inside,
    Multipliers,
    Row,
    basis_of,
    completed_basis,
    conditioned,
    decide,
    dot,
    independent,
    integers,
    matrix,
    negated,
    null_basis,
    positive_support,
    primitive,
    products,
    propose,
    reduced_multipliers,
    renamed,
    rounded,
    row_reduced,
)

_TOLERANCE = 1e-9
"""Where floats change their proposal; a wrong proposal costs time, never truth."""

Progress = Callable[[int, int], None]
"""Is told how many are done, and of how many."""


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


def exact_cone(
    rows: Sequence[Row],
    inside: Sequence[Fraction | int],
    progress: Progress | None = None,
) -> ExactCone:
    """Equalities, facets and redundant rows of the cone of nonzero rows, each with its proof.

    Every row must hold at the point inside (r.inside >= 0); for a set of half-spaces that came from
    true weights this is a theorem, so a violation raises AssertionError.
    """
    point = primitive(inside)
    slacks = [dot(row, point) for row in rows]
    for index, slack in enumerate(slacks):
        if slack < 0 or not any(rows[index]):
            raise AssertionError(f"row {index} is zero or excludes the point inside: {rows[index]}")
    basis, pivots = row_reduced(rows)
    ties = find_ties(rows, Ties({}, point, slacks, 0))
    equalities = sorted(ties.opposites)
    lineality, lineality_pivots = row_reduced([rows[index] for index in equalities])
    rays = quotient(rows, pivots, ties, lineality)
    pruning = Pruning(rays, progress)
    pruning.run()
    lift = Lift(rows, ties.opposites, lineality_pivots)
    multipliers = lifted_multipliers(rows, rays, pruning.certificates, lift)
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


@dataclass(frozen=True)
class Ties:
    """The equalities, and a point strictly inside every other half-space with its slacks."""

    opposites: dict[int, Multipliers]
    point: Row
    slacks: list[int]
    n_exact_lp: int


def find_ties(rows: Sequence[Row], start: Ties) -> Ties:
    """Which rows without slack lie in L; the point moves off the others.

    Model rows come with their negatives, so that a look decides; otherwise r is in L exactly when
    -r is in the cone of the rows without slack.
    """
    tied = [index for index, slack in enumerate(start.slacks) if slack == 0]
    place = {rows[index]: index for index in tied}
    opposites = {
        index: Multipliers((place[negated(rows[index])],), (1,), 1)
        for index in tied
        if negated(rows[index]) in place
    }
    point, slacks, n_exact_lp = start.point, start.slacks, 0
    for index in tied:
        if index in opposites or slacks[index] > 0:
            continue
        decision = decide([rows[i] for i in tied], negated(rows[index]))
        n_exact_lp += decision.exact_lp
        if isinstance(decision, Inside):
            for member, negative in _circuit(index, decision.multipliers, tied).items():
                opposites.setdefault(member, negative)
        else:
            slopes = [dot(row, decision.witness) for row in rows]
            point, slacks = _moved(point, slacks, decision.witness, slopes)
    return Ties(opposites, point, slacks, n_exact_lp)


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


def quotient(rows: Sequence[Row], pivots: list[int], ties: Ties, lineality: list[Row]) -> Rays:
    """The rows outside L as vectors of C/L: their values under a basis of functionals zero on L.

    The pivot columns tell the rows apart, so functionals that read only these are enough. Without
    L each of them reads one.
    """
    width = len(ties.point)
    reading = [tuple(row[pivot] for pivot in pivots) for row in lineality]
    functionals = []
    for short in null_basis(*row_reduced(reading), len(pivots)):
        functional = dict(zip(pivots, short, strict=True))
        functionals.append(tuple(functional.get(column, 0) for column in range(width)))
    rays = Rays(ties.point, functionals)
    if not functionals:
        return rays
    if lineality:
        images = integers(matrix(rows) * matrix(functionals).transpose())
    else:
        images = [tuple([row[pivot] for pivot in pivots]) for row in rows]
    number: dict[Row, int] = {}
    for index, image in enumerate(images):
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


def least_on_slice(values: Sequence[int], heights: Sequence[int], rays: Sequence[int]) -> list[int]:
    """The rays of the least ratio of value to height, compared exactly; none without rays."""
    tied: list[int] = []
    for ray in rays:
        order = values[ray] * heights[tied[0]] - values[tied[0]] * heights[ray] if tied else -1
        if order < 0:
            tied = [ray]
        elif order == 0:
            tied.append(ray)
    return tied


class Pruning:
    """Finds the facets among the rays, and a certificate for every other ray."""

    def __init__(self, rays: Rays, progress: Progress | None = None):
        self.rays = rays
        self.progress = progress
        self.facets: list[int] = []
        self.witnesses: dict[int, Row] = {}
        self.certificates: dict[int, Multipliers] = {}
        self.pending = np.ones(len(rays.vectors), dtype=np.bool_)
        self.n_exact_lp = 0
        self._spans = False
        if rays.vectors:
            self.exact = matrix(rays.vectors)
            self.floats, self.exponents = conditioned(rays.vectors)

    def run(self) -> None:
        """Test each ray against the facets so far; a ray outside their cone leads to a new one.

        Rays inside before the facets span the space wait until they do.
        """
        for ray in range(len(self.pending)):
            self.decide_ray(ray, wait=True)
            self.tell()
        for ray in np.flatnonzero(self.pending).tolist():
            self.decide_ray(ray, wait=False)
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

    def decide_ray(self, ray: int, *, wait: bool) -> None:
        """Certify a ray, or find facets until it is one or can be; where it may wait, perhaps."""
        while self.pending[ray]:
            known = self.floats[self.facets]
            coefficients = propose(known, self.floats[ray])
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
        vectors, heights = self.rays.vectors, self.rays.heights
        values = products(self.exact, direction)
        tied = least_on_slice(values, heights, range(len(heights)))
        best = min(tied, key=lambda ray: [Fraction(x, heights[ray]) for x in vectors[ray]])
        if best in self.facets:
            return False
        self.facets.append(best)
        self.pending[best] = False
        if len(tied) == 1:
            self.witnesses[best] = self.shifted(direction, values, best)
        return True

    def shifted(self, direction: Row, values: Sequence[int], best: int) -> Row:
        """The direction plus a multiple of the point inside: negative on the best ray alone."""
        heights = self.rays.heights
        others = [ray for ray in range(len(heights)) if ray != best]
        if not others:
            return negated(self.rays.point)
        following = least_on_slice(values, heights, others)[0]
        height, next_height = heights[best], heights[following]
        gap = values[following] * height - values[best] * next_height
        scale = 1 << (height * next_height // gap).bit_length()
        shift = -(values[following] * scale // next_height)
        steps = zip(self.rays.lifted(direction), self.rays.point, strict=True)
        return primitive([scale * step + shift * entry for step, entry in steps])

    def certify(self, ray: int, support: list[int]) -> None:
        """Certify the ray and all pending rays in the same simplicial cone by one solve."""
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
        decision = decide(known, self.rays.vectors[ray])
        self.n_exact_lp += decision.exact_lp
        if isinstance(decision, Inside):
            self.certificates[ray] = renamed(decision.multipliers, self.facets)
            self.pending[ray] = False
        elif not self.shoot(decision.witness):
            raise AssertionError("a direction that known facets allow led to one of them")

    def separate(self, facet: int) -> None:
        """Find the witness of a facet that ties hid: the other rays do not combine to it."""
        others = [vector for ray, vector in enumerate(self.rays.vectors) if ray != facet]
        decision = decide(others, self.rays.vectors[facet])
        self.n_exact_lp += decision.exact_lp
        if isinstance(decision, Inside):
            raise AssertionError("a vertex of the slice is a combination of other rays")
        self.witnesses[facet] = primitive(self.rays.lifted(decision.witness))


class Lift:
    """Expresses members of L by equalities, with nonnegative multipliers."""

    def __init__(self, rows: Sequence[Row], opposites: dict[int, Multipliers], pivots: list[int]):
        self.equalities = sorted(opposites)
        self.opposites = opposites
        self.pivots = pivots
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
        short = tuple(member[pivot] for pivot in self.pivots)
        (coordinates,), denominator = self.basis.coordinates([short])
        for place, amount in zip(self.basis.members, coordinates, strict=True):
            index = self.equalities[place]
            if amount < 0:
                negative = self.opposites[index]
                if negative.numerators != (1,) or negative.denominator != 1:
                    return self._decided(member)
                index = negative.indices[0]
            amounts[index] = abs(amount)
        return reduced_multipliers(amounts, denominator)

    def _decided(self, member: Row) -> Multipliers:
        decision = decide(self.rows, member)
        self.n_exact_lp += decision.exact_lp
        if not isinstance(decision, Inside):
            raise AssertionError("equalities must span L positively")
        return renamed(decision.multipliers, self.equalities)


def lifted_multipliers(
    rows: Sequence[Row], rays: Rays, certificates: dict[int, Multipliers], lift: Lift
) -> dict[int, Multipliers]:
    """Multipliers of rows from those of rays; what the quotient forgot is made of equalities."""
    first = [members[0] for members in rays.members]
    is_plain = first == [*range(len(first))]
    lifted: dict[int, Multipliers] = {}
    for ray, certificate in certificates.items():
        named = certificate if is_plain else renamed(certificate, first)
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
    rows: Sequence[Row], index: int, amounts: dict[int, int], denominator: int, lift: Lift
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
