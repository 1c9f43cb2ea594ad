"""The exact cone of integer rows: lineality, facets, and a proof for every row.

Write C = cone(rows) and L = C meet -C. A row is an equality (it lies in L), a member of a facet
class (its image in the pointed quotient C/L spans an extreme ray) or redundant. Each verdict comes
with evidence that a few integer products check: an equality with its negative as a combination of
equalities, a facet with a direction that only its class excludes, a redundant row with its Farkas
multipliers. Three steps find them.

1. Equalities. A row with slack at the point inside is none. A row r without slack is one exactly
   when -r lies in the cone of the rows without slack; where it does not, Farkas' witness moves the
   point off the row, so that in the end the point lies strictly inside every half-space but the
   equalities.
2. Quotient. Functionals that are zero on L map the other rows to vectors of C/L; rows with the same
   direction there are one ray. `pruning` finds the facets among the rays.
3. Lift. What a combination of rays forgets is an element of L, so multipliers of rows are those of
   rays, completed by equalities.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from didact.bec.farkas import Inside, Proposer, decide, propose
from didact.bec.linear import (
    Multipliers,
    Row,
    basis_of,
    dot,
    independent,
    integers,
    matrix,
    negated,
    null_basis,
    primitive,
    reduced_multipliers,
    renamed,
    row_reduced,
)
from didact.bec.pruning import Progress, Pruning, Rays


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
    *,
    proposer: Proposer = propose,
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
    ties = find_ties(rows, Ties({}, point, slacks, 0), proposer)
    equalities = sorted(ties.opposites)
    lineality, lineality_pivots = row_reduced([rows[index] for index in equalities])
    rays = quotient(rows, pivots, ties, lineality)
    pruning = Pruning(rays, proposer, progress)
    pruning.run()
    lift = Lift(rows, ties.opposites, lineality_pivots, proposer)
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


def find_ties(rows: Sequence[Row], start: Ties, proposer: Proposer) -> Ties:
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
        decision = decide([rows[i] for i in tied], negated(rows[index]), proposer=proposer)
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


class Lift:
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
        decision = decide(self.rows, member, proposer=self.proposer)
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
