"""The exact cone of integer rows: lineality, facets, and a proof for every row.

Write C = cone(rows) and L = C meet -C. A row is an equality (it lies in L), a member of a facet
class (its image in the pointed quotient C/L spans an extreme ray) or redundant. Each verdict comes
with evidence that a few integer products check: an equality with its negative as a combination of
equalities, a facet with a direction that only its class excludes, a redundant row with its Farkas
multipliers. `equalities`, `quotient` and `pruning` are the three steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from didact.bec.equalities import Ties, find_ties
from didact.bec.farkas import Proposer, propose
from didact.bec.linear import Multipliers, Row, dot, null_basis, primitive, row_reduced
from didact.bec.pruning import Progress, Pruning
from didact.bec.quotient import Lift, lifted_multipliers, quotient


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
