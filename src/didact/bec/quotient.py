"""A cone without its lineality space L: the rays of the pointed quotient, and the way back.

Functionals that are zero on L map the other rows to vectors of the quotient; rows with the same
direction there are one ray. What a combination of rays forgets is an element of L, so multipliers
of rows are those of rays, completed by equalities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from didact.bec.equalities import Ties
from didact.bec.farkas import Inside, Proposer, decide
from didact.bec.linear import (
    Multipliers,
    Row,
    basis_of,
    dot,
    independent,
    integers,
    matrix,
    null_basis,
    reduced_multipliers,
    renamed,
    row_reduced,
)


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
