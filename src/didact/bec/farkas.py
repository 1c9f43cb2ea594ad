"""Farkas' alternative, decided with a proof.

A target either lies in the cone of some generators, and then at most k of them combine to it with
positive multipliers, or some direction w has g.w >= 0 for every generator and target.w < 0. Floats
only propose which; integers decide. When the proposal fails, exact pivoting with least indices
decides (Schrijver, Theory of Linear and Integer Programming, Theorem 7.1): it never cycles, and it
starts from the proposed support, so it is short.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from didact.bec.linear import (
    Basis,
    Floats,
    Multipliers,
    Row,
    basis_of,
    completed_basis,
    dot,
    matrix,
    negated,
    null_basis,
    primitive,
    products,
    reduced_multipliers,
    row_reduced,
    unit_floats,
)

if TYPE_CHECKING:
    from flint import fmpz_mat

Proposer = Callable[[Floats, Floats], Floats]
"""Unit generators (n, k), unit target (k,) -> nonnegative coefficients (n,) of the best fit."""
_ROUNDING = 2.0**40
"""Entries of proposed directions are rounded to multiples of its inverse: short integers keep exact
products cheap, and a direction that rounding spoils is repaired or pivoted away."""


@dataclass(frozen=True)
class Inside:
    """The target is in the cone: at most k multipliers combine the generators to it."""

    multipliers: Multipliers
    exact_lp: bool


@dataclass(frozen=True)
class Outside:
    """The target is not in the cone: g.witness >= 0 for all generators, target.witness < 0."""

    witness: Row
    exact_lp: bool


def propose(generators: Floats, target: Floats) -> Floats:
    """Coefficients of the nearest point of the cone by SciPy's NNLS; zeros when it gives up."""
    from scipy.optimize import nnls

    if len(generators) == 0:
        return np.zeros(0)
    try:
        return np.asarray(nnls(generators.T, target)[0], dtype=np.float64)
    except RuntimeError:
        return np.zeros(len(generators))


def decide(
    generators: Sequence[Row], target: Row, *, proposer: Proposer = propose
) -> Inside | Outside:
    """Whether the target is in the cone of the generators, with the proof (Farkas' lemma)."""
    width = len(target)
    basis, pivots = row_reduced(generators)
    for direction in null_basis(basis, pivots, width):
        if side := dot(direction, target):
            return Outside(negated(direction) if side > 0 else direction, False)
    if not pivots:
        return Inside(Multipliers((), (), 1), False)
    spanning = [tuple(row[pivot] for pivot in pivots) for row in generators]
    decision = _decide_in_span(spanning, tuple(target[pivot] for pivot in pivots), proposer)
    if isinstance(decision, Inside):
        return decision
    witness = [0] * width
    for pivot, entry in zip(pivots, decision.witness, strict=True):
        witness[pivot] = entry
    return Outside(tuple(witness), decision.exact_lp)


def _decide_in_span(rows: list[Row], target: Row, proposer: Proposer) -> Inside | Outside:
    """Decide when the rows span the space: proposal, exact check, exact pivoting."""
    support, direction = _proposal(rows, target, proposer)
    basis = completed_basis(rows, support)
    if basis is None:
        raise AssertionError("the rows must span the space")
    (multipliers,) = basis.combinations([target])
    if multipliers is not None:
        return Inside(multipliers, False)
    exact = matrix(rows)
    for witness in (direction, _repaired(rows, basis, set(support), direction)):
        if dot(target, witness) < 0 and min(products(exact, witness)) >= 0:
            return Outside(primitive(witness), False)
    return _pivot(rows, exact, target, basis)


def _proposal(rows: list[Row], target: Row, proposer: Proposer) -> tuple[list[int], Row]:
    """A support, largest coefficient first, and a separating direction, as floats see them."""
    floats, exponents = conditioned([*rows, target])
    coefficients = proposer(floats[:-1], floats[-1])
    support = positive_support(coefficients)
    return support, rounded(coefficients @ floats[:-1] - floats[-1], exponents)


def _repaired(rows: list[Row], basis: Basis, support: set[int], direction: Row) -> Row:
    """The direction made exactly orthogonal to the support, and not negative on the basis."""
    slopes = [
        0 if member in support else max(0, dot(rows[member], direction)) for member in basis.members
    ]
    return basis.direction(tuple(slopes))


def _pivot(rows: list[Row], exact: fmpz_mat, target: Row, basis: Basis | None) -> Inside | Outside:
    """Exchange basis members, least indices first, until one of Farkas' alternatives shows."""
    while basis is not None:
        (coordinates,), denominator = basis.coordinates([target])
        negative = [
            (member, place) for place, member in enumerate(basis.members) if coordinates[place] < 0
        ]
        if not negative:
            found = dict(zip(basis.members, coordinates, strict=True))
            return Inside(reduced_multipliers(found, denominator), True)
        place = min(negative)[1]
        normal = basis.direction(tuple(int(other == place) for other in range(len(coordinates))))
        slopes = products(exact, normal)
        entering = next((index for index, slope in enumerate(slopes) if slope < 0), None)
        if entering is None:
            return Outside(primitive(normal), True)
        members = list(basis.members)
        members[place] = entering
        basis = basis_of(rows, members)
    raise AssertionError("an exchange of basis members always gives a basis")


def conditioned(rows: Sequence[Row]) -> tuple[Floats, list[int]]:
    """Unit rows with columns of like size, (n, k), and the power of two that scaled each column.

    Scaling columns keeps every relation of cones; `rounded` takes directions back.
    """
    floats = unit_floats(rows)
    exponents = -np.frexp(np.abs(floats).max(axis=0))[1]
    floats = np.ldexp(floats, exponents)
    lengths = np.sqrt(np.einsum("ij,ij->i", floats, floats))
    lengths[lengths == 0.0] = 1.0
    return floats / lengths[:, None], exponents.tolist()


def positive_support(coefficients: Floats) -> list[int]:
    """Where the coefficients are positive, the largest first."""
    return [int(index) for index in np.argsort(-coefficients) if coefficients[index] > 0.0]


def rounded(direction: Floats, exponents: Sequence[int]) -> Row:
    """An integer direction for rows from one for conditioned rows, each entry within 2**-40."""
    largest = np.abs(direction).max()
    if not 0.0 < largest < np.inf:
        return (0,) * len(direction)
    entries = np.rint(direction / largest * _ROUNDING)
    least = min(exponents)
    return tuple(
        int(entry) << (exponent - least) for entry, exponent in zip(entries, exponents, strict=True)
    )
