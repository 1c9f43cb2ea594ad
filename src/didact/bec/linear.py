"""Exact linear algebra on integer rows, and Farkas' alternative decided with a proof.

A target either lies in the cone of some generators, and then at most k of them combine to it with
positive multipliers, or some direction w has g.w >= 0 for every generator and target.w < 0. Floats
only propose which; integers decide. When the proposal fails, exact pivoting with least indices
decides (Schrijver, Theory of Linear and Integer Programming, Theorem 7.1): it never cycles, and it
starts from the proposed support, so it is short.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from flint import fmpq, fmpz_mat

Row = tuple[int, ...]
Floats = NDArray[np.float64]
Proposer = Callable[[Floats, Floats], Floats]
"""Unit generators (n, k), unit target (k,) -> nonnegative coefficients (n,) of the best fit."""

_PRIME = 2**61 - 1
_ROUNDING = 2.0**40


@dataclass(frozen=True)
class Multipliers:
    """Positive rationals with sum of numerators[i] * row[indices[i]] == denominator * target."""

    indices: tuple[int, ...]
    numerators: tuple[int, ...]
    denominator: int

    @property
    def fractions(self) -> tuple[Fraction, ...]:
        """The multipliers as fractions, in the order of the indices."""
        return tuple(Fraction(numerator, self.denominator) for numerator in self.numerators)


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


@dataclass(frozen=True)
class Basis:
    """Generators that form a basis of the space: inverse / determinant maps rows to coordinates."""

    members: tuple[int, ...]
    inverse: fmpz_mat
    determinant: int

    def coordinates(self, targets: Sequence[Row]) -> list[Row]:
        """For each target its coordinates in the basis, times the determinant, which is > 0."""
        return integers((self.inverse * matrix(targets).transpose()).transpose())

    def combination(self, coordinates: Row) -> Multipliers | None:
        """The multipliers that the coordinates are, or None when one of them is negative."""
        if min(coordinates) < 0:
            return None
        return reduced_multipliers(
            dict(zip(self.members, coordinates, strict=True)), self.determinant
        )


def primitive(vector: Sequence[int | Fraction | fmpq]) -> Row:
    """The shortest integer vector with exactly this direction; a zero vector stays zero."""
    kinds = set(map(type, vector))
    numerators: list[Any] = list(vector) if kinds <= {int} else _cleared(vector, kinds)
    divisor = math.gcd(*numerators)
    if divisor <= 1:
        return tuple(numerators)
    return tuple([numerator // divisor for numerator in numerators])


def _cleared(vector: Sequence[Any], kinds: set[type]) -> list[int]:
    """The vector times its common denominator."""
    from flint import fmpq, fmpq_mat

    if kinds == {fmpq}:
        return list(map(int, fmpq_mat(1, len(vector), vector).numer_denom()[0].entries()))
    denominators = [int(entry.denominator) for entry in vector]
    common = math.lcm(*denominators)
    return [
        int(entry.numerator) * (common // denominator)
        for entry, denominator in zip(vector, denominators, strict=True)
    ]


def dot(left: Row, right: Row) -> int:
    """The inner product of two rows."""
    return sum(map(int.__mul__, left, right))


def matrix(rows: Sequence[Sequence[int]]) -> fmpz_mat:
    """The rows as one FLINT matrix."""
    from flint import fmpz_mat

    return fmpz_mat([list(row) for row in rows])


def integers(exact: fmpz_mat) -> list[Row]:
    """The rows of a FLINT matrix as tuples of Python integers."""
    width = exact.ncols()
    entries = list(map(int, exact.entries()))
    return [tuple(entries[at : at + width]) for at in range(0, len(entries), width)]


def products(rows: fmpz_mat, direction: Row) -> list[int]:
    """The inner product of every row with the direction."""
    from flint import fmpz_mat

    return list(map(int, (rows * fmpz_mat(len(direction), 1, list(direction))).entries()))


def row_reduced(rows: Sequence[Row]) -> tuple[list[Row], list[int]]:
    """The row-reduced echelon basis of the span as primitive rows, and its pivot columns."""
    if not rows or not rows[0]:
        return [], []
    echelon, denominator, rank = matrix(rows).rref()
    sign = 1 if denominator > 0 else -1
    basis = [tuple(sign * entry for entry in row) for row in integers(echelon)[:rank]]
    return [primitive(row) for row in basis], _pivot_columns(basis)


def null_basis(basis: Sequence[Row], pivots: Sequence[int], n_columns: int) -> list[Row]:
    """A basis of {w : r.w = 0 for all rows r}, one vector for each column without a pivot."""
    leading = [row[pivot] for row, pivot in zip(basis, pivots, strict=True)]
    scale = math.lcm(*leading)
    directions = []
    for free in sorted(set(range(n_columns)) - set(pivots)):
        direction = [0] * n_columns
        direction[free] = scale
        for row, pivot, lead in zip(basis, pivots, leading, strict=True):
            direction[pivot] = -row[free] * (scale // lead)
        directions.append(primitive(direction))
    return directions


def independent(rows: Sequence[Row]) -> list[int]:
    """Indices of rows that form a basis of the span, early rows before late ones.

    Independence modulo a prime implies independence; only a shortfall asks for the exact echelon.
    """
    from flint import nmod_mat

    exact = matrix(rows).transpose()
    echelon, rank = nmod_mat(exact, _PRIME).rref()
    if rank < min(exact.nrows(), exact.ncols()):
        return row_reduced(integers(exact))[1]
    return _pivot_columns([[int(entry) for entry in row] for row in echelon.tolist()[:rank]])


def _pivot_columns(echelon: Sequence[Sequence[int]]) -> list[int]:
    return [next(at for at, entry in enumerate(row) if entry) for row in echelon]


def basis_of(rows: Sequence[Row], members: Sequence[int]) -> Basis | None:
    """The basis that these square many rows form, or None when they are dependent."""
    size = len(members)
    columns = zip(*(rows[member] for member in members), strict=True)
    augmented = [
        [*column, *(int(place == other) for other in range(size))]
        for place, column in enumerate(columns)
    ]
    echelon, determinant, _ = matrix(augmented).rref()
    if any(echelon[place, place] != determinant for place in range(size)):
        return None
    sign = 1 if determinant > 0 else -1
    inverse = [[sign * int(entry) for entry in row[size:]] for row in echelon.tolist()]
    return Basis(tuple(members), matrix(inverse), sign * int(determinant))


def completed_basis(rows: Sequence[Row], support: Sequence[int]) -> Basis | None:
    """A basis among the rows, the support first, or None when the rows do not span the space."""
    if not rows:
        return None
    if len(support) == len(rows[0]):
        basis = basis_of(rows, support)
        if basis is not None:
            return basis
    chosen = set(support)
    order = [*support, *(index for index in range(len(rows)) if index not in chosen)]
    members = [order[place] for place in independent([rows[index] for index in order])]
    return basis_of(rows, members) if len(members) == len(rows[0]) else None


def reduced_multipliers(numerators: dict[int, int], denominator: int) -> Multipliers:
    """Multipliers in lowest terms without zeros, by ascending index."""
    indices = sorted(index for index, numerator in numerators.items() if numerator)
    divisor = math.gcd(denominator, *(numerators[index] for index in indices))
    return Multipliers(
        tuple(indices),
        tuple(numerators[index] // divisor for index in indices),
        denominator // divisor,
    )


def unit_floats(rows: Sequence[Row]) -> Floats:
    """Rows as floats of length one, (n, k); big integers are scaled before they are rounded."""
    scaled = np.empty((len(rows), len(rows[0])))
    for place, row in enumerate(rows):
        scale = 1 << max(0, max(max(row), -min(row)).bit_length() - 1)
        scaled[place] = [entry / scale for entry in row]
    lengths = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    lengths[lengths == 0.0] = 1.0
    unit: Floats = scaled / lengths[:, None]
    return unit


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


def propose(generators: Floats, target: Floats) -> Floats:
    """Coefficients of the nearest point of the cone by SciPy's NNLS; zeros when it gives up."""
    from scipy.optimize import nnls

    if len(generators) == 0:
        return np.zeros(0)
    try:
        return np.asarray(nnls(generators.T, target)[0], dtype=np.float64)
    except RuntimeError:
        return np.zeros(len(generators))


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


def combine(generators: Sequence[Row], target: Row) -> Multipliers | None:
    """At most k positive multipliers that give the target, or None when it is outside the cone."""
    decision = decide(generators, target)
    return decision.multipliers if isinstance(decision, Inside) else None


def separate(generators: Sequence[Row], target: Row) -> Row | None:
    """A direction w with g.w >= 0 for all generators and target.w < 0, or None inside the cone."""
    decision = decide(generators, target)
    return decision.witness if isinstance(decision, Outside) else None


def decide(
    generators: Sequence[Row], target: Row, *, proposer: Proposer = propose
) -> Inside | Outside:
    """Whether the target is in the cone of the generators, with the proof (Farkas' lemma)."""
    width = len(target)
    basis, pivots = row_reduced(generators)
    for direction in null_basis(basis, pivots, width):
        if side := dot(direction, target):
            return Outside(tuple(-entry for entry in direction) if side > 0 else direction, False)
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
    assert basis is not None, "the rows span the space"
    multipliers = basis.combination(basis.coordinates([target])[0])
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
    return tuple(products(basis.inverse.transpose(), tuple(slopes)))


def _pivot(rows: list[Row], exact: fmpz_mat, target: Row, basis: Basis | None) -> Inside | Outside:
    """Exchange basis members, least indices first, until one of Farkas' alternatives shows."""
    while basis is not None:
        coordinates = basis.coordinates([target])[0]
        negative = [
            (member, place) for place, member in enumerate(basis.members) if coordinates[place] < 0
        ]
        if not negative:
            multipliers = basis.combination(coordinates)
            assert multipliers is not None
            return Inside(multipliers, True)
        place = min(negative)[1]
        normal = integers(basis.inverse)[place]
        slopes = products(exact, normal)
        entering = next((index for index, slope in enumerate(slopes) if slope < 0), None)
        if entering is None:
            return Outside(primitive(normal), True)
        members = list(basis.members)
        members[place] = entering
        basis = basis_of(rows, members)
    raise AssertionError("an exchange of basis members always gives a basis")
