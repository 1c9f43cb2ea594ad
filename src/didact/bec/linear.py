"""Exact linear algebra on integer rows, and Farkas' alternative decided with a proof.

A row is a tuple of Python integers, of any size. FLINT does the elimination, without fractions: an
echelon is integers over one denominator. Nothing rounds, except `unit_floats` and what proposes.

A target either lies in the cone of some generators, and then at most k of them combine to it with
positive multipliers, or some direction w has g.w >= 0 for every generator and target.w < 0. Floats
only propose which; integers decide. When the proposal fails, exact pivoting with least indices
decides (Schrijver, Theory of Linear and Integer Programming, Theorem 7.1): it never cycles, and it
starts from the proposed support, so it is short.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from didact.errors import Unsupported
from didact.numerics.exact import Floats, read_number
from didact.numerics.texts import short_repr

if TYPE_CHECKING:
    from flint import fmpq, fmpz, fmpz_mat

Row = tuple[int, ...]
Numbers = Sequence[Any]
"""A row of Python's integers or of FLINT's, which it takes more quickly."""
_PRIME = 2**61 - 1
"""Rank modulo a large prime is a lower bound of the rank and costs no growth of numbers; only a
shortfall asks for exact elimination."""
_ROUNDING = 2.0**40
"""Entries of proposed directions are rounded to multiples of its inverse: short integers keep exact
products cheap, and a direction that rounding spoils is repaired or pivoted away."""


@dataclass(frozen=True)
class Multipliers:
    """Positive rationals with sum of numerators[i] * row[indices[i]] == denominator * target."""

    indices: tuple[int, ...]
    numerators: tuple[int, ...]
    denominator: int

    __repr__ = short_repr

    @property
    def fractions(self) -> tuple[Fraction, ...]:
        """The multipliers as fractions, in the order of the indices."""
        return tuple(Fraction(numerator, self.denominator) for numerator in self.numerators)


@dataclass(frozen=True)
class Basis:
    """Generators that form a basis of the space: the columns of a matrix that can be inverted."""

    members: tuple[int, ...]
    columns: fmpz_mat

    def coordinates(self, targets: Sequence[Numbers]) -> tuple[list[Row], int]:
        """For each target its coordinates in the basis, and the denominator of all, > 0."""
        return _solved(self.columns, matrix(targets).transpose())

    def direction(self, slopes: Row) -> Row:
        """The direction whose products with the members are the slopes, times some factor > 0."""
        return _solved(self.columns.transpose(), matrix([slopes]).transpose())[0][0]

    def combinations(
        self, targets: Sequence[Numbers], names: Sequence[int] | None = None
    ) -> list[Multipliers | None]:
        """For each target the multipliers of the members that give it, or None outside their cone.

        names: how rows are called instead of by their numbers.
        """
        found, denominator = self.coordinates(targets)
        named = self.members if names is None else [names[member] for member in self.members]
        return [
            None
            if min(coordinates) < 0
            else reduced_multipliers(dict(zip(named, coordinates, strict=True)), denominator)
            for coordinates in found
        ]


def _solved(columns: fmpz_mat, wanted: fmpz_mat) -> tuple[list[Row], int]:
    """For each wanted column its coordinates, and what all of them are divided by, > 0."""
    solution: Any = columns.solve(wanted)
    numerators, denominator = solution.numer_denom()
    return integers(numerators.transpose()), int(denominator)


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


def negated(row: Row) -> Row:
    """The opposite row."""
    return tuple(-entry for entry in row)


def matrix(rows: Sequence[Sequence[int | fmpz]]) -> fmpz_mat:
    """The rows as one FLINT matrix."""
    from flint import fmpz_mat

    width = len(rows[0]) if rows else 0
    return fmpz_mat(len(rows), width, [entry for row in rows for entry in row])


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
    basis = integers(echelon if denominator > 0 else -echelon)[:rank]
    pivots = [next(at for at, entry in enumerate(row) if entry) for row in basis]
    return [primitive(row) for row in basis], pivots


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


def extreme_rays(rows: Sequence[Row], most: int) -> list[Row]:
    """The extreme rays of {w : r.w >= 0 for all rows}, rows that span, by double description.

    One row after the other cuts the cone: rays that break it are replaced by where it cuts the
    edges between them and rays that hold it. Two rays share an edge if no third one lies on all
    rows that both lie on. most: rays from which on it is given up.
    """
    start = independent(rows)
    basis = basis_of(rows, start)
    if basis is None:
        raise AssertionError("the rows must span the space")
    k, everything = len(start), sum(1 << row for row in start)
    rays = {  # each with the rows that it lies on, as a bit mask
        primitive(basis.direction(tuple(int(i == j) for j in range(k)))): everything & ~(1 << row)
        for i, row in enumerate(start)
    }
    for number in sorted(set(range(len(rows))) - set(start)):
        values = {ray: dot(rows[number], ray) for ray in rays}
        kept = {
            ray: on | (0 if values[ray] else 1 << number)
            for ray, on in rays.items()
            if values[ray] >= 0
        }
        for ray, other in product((r for r in rays if values[r] > 0), set(rays) - set(kept)):
            common = rays[ray] & rays[other]
            if common.bit_count() < k - 2 or any(
                common & on == common for r, on in rays.items() if r not in (ray, other)
            ):
                continue
            meeting = [values[ray] * y - values[other] * x for x, y in zip(ray, other, strict=True)]
            kept[primitive(meeting)] = common | 1 << number
        if len(kept) > most:
            raise Unsupported(
                f"the class has more than {most:,} extreme rays, too many for an angle; "
                "ask for the order of two features"
            )
        rays = kept
    return list(rays)


def point_on(rows: Sequence[Row], entries: Sequence[Fraction]) -> list[Fraction]:
    """The point where all rows are 0 that has these entries (k,) in the columns without a pivot."""
    basis, pivots = row_reduced(rows)
    free = sorted(set(range(len(entries))) - set(pivots))
    found = [Fraction(0)] * len(entries)
    for column, direction in zip(free, null_basis(basis, pivots, len(entries)), strict=True):
        share = entries[column] / direction[column]
        found = [x + share * y for x, y in zip(found, direction, strict=True)]
    return found


def independent(rows: Sequence[Numbers]) -> list[int]:
    """Indices of rows that form a basis of the span, early rows before late ones.

    Independence modulo a prime implies independence; only a shortfall asks for the exact echelon.
    """
    from flint import nmod_mat

    exact = matrix(rows).transpose()
    echelon, rank = nmod_mat(exact, _PRIME).rref()
    if rank < min(exact.nrows(), exact.ncols()):
        return row_reduced(integers(exact))[1]
    pivots = [0] * rank
    for row in range(rank):
        column = pivots[row - 1] + 1 if row else 0
        while not int(echelon[row, column]):
            column += 1
        pivots[row] = column
    return pivots


def basis_of(rows: Sequence[Numbers], members: Sequence[int]) -> Basis | None:
    """The basis that these square many rows form, or None when they are dependent."""
    from flint import nmod_mat

    columns = matrix([rows[member] for member in members]).transpose()
    if not int(nmod_mat(columns, _PRIME).det()) and columns.rank() < len(members):
        return None
    return Basis(tuple(members), columns)


def completed_basis(rows: Sequence[Numbers], support: Sequence[int]) -> Basis | None:
    """A basis among the rows, the support first, or None when the rows do not span the space.

    Late rows are looked at only where early ones do not span.
    """
    if not rows:
        return None
    width = len(rows[0])
    if len(support) == width:
        basis = basis_of(rows, support)
        if basis is not None:
            return basis
    chosen = set(support)
    order = [*support, *(index for index in range(len(rows)) if index not in chosen)]
    for reach in (2 * width, len(order)):
        early = order[:reach]
        members = [early[place] for place in independent([rows[index] for index in early])]
        if len(members) == width:
            return basis_of(rows, members)
    return None


def reduced_multipliers(numerators: dict[int, int], denominator: int) -> Multipliers:
    """Multipliers in lowest terms without zeros, by ascending index."""
    indices = sorted([index for index, numerator in numerators.items() if numerator])
    amounts = [numerators[index] for index in indices]
    divisor = math.gcd(denominator, *amounts)
    if divisor > 1:
        amounts = [amount // divisor for amount in amounts]
    return Multipliers(tuple(indices), tuple(amounts), denominator // divisor)


def renamed(multipliers: Multipliers, names: Sequence[int]) -> Multipliers:
    """The same multipliers of differently numbered rows."""
    amounts = zip(multipliers.indices, multipliers.numerators, strict=True)
    ordered = sorted((names[index], amount) for index, amount in amounts)
    indices, numerators = zip(*ordered, strict=True) if ordered else ((), ())
    return Multipliers(indices, numerators, multipliers.denominator)


def unit_floats(rows: Sequence[Row]) -> Floats:
    """Rows as floats of length one, (n, k); zero rows stay zero.

    Long integers have no float: each row is divided by a power of two near its largest entry first.
    """
    scaled = np.empty((len(rows), len(rows[0])))
    for place, row in enumerate(rows):
        scale = 1 << max(0, max(max(row), -min(row)).bit_length() - 1)
        scaled[place] = [entry / scale for entry in row]
    lengths = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    lengths[lengths == 0.0] = 1.0
    return np.asarray(scaled / lengths[:, None])


def exact_entry(value: Any, place: str) -> Fraction:
    """An entry of a row as a fraction; exact rows may hold integers far beyond any float."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Fraction(value)
    return read_number(value, place)


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
    """Coefficients (n,) of the point of the cone of unit generators (n, k) nearest to the target.

    By SciPy's NNLS; zeros when it gives up.
    """
    from scipy.optimize import nnls

    if len(generators) == 0:
        return np.zeros(0)
    try:
        return np.asarray(nnls(generators.T, target)[0], dtype=np.float64)
    except RuntimeError:
        return np.zeros(len(generators))


def decide(generators: Sequence[Row], target: Row) -> Inside | Outside:
    """Whether the target is in the cone of the generators, with the proof (Farkas' lemma)."""
    width = len(target)
    basis, pivots = row_reduced(generators)
    for direction in null_basis(basis, pivots, width):
        if side := dot(direction, target):
            return Outside(negated(direction) if side > 0 else direction, False)
    if not pivots:
        return Inside(Multipliers((), (), 1), False)
    spanning = [tuple(row[pivot] for pivot in pivots) for row in generators]
    decision = _decide_in_span(spanning, tuple(target[pivot] for pivot in pivots))
    if isinstance(decision, Inside):
        return decision
    witness = [0] * width
    for pivot, entry in zip(pivots, decision.witness, strict=True):
        witness[pivot] = entry
    return Outside(tuple(witness), decision.exact_lp)


def _decide_in_span(rows: list[Row], target: Row) -> Inside | Outside:
    """Decide when the rows span the space: proposal, exact check, exact pivoting."""
    floats, exponents = conditioned([*rows, target])
    coefficients = propose(floats[:-1], floats[-1])
    support = positive_support(coefficients)
    direction = rounded(coefficients @ floats[:-1] - floats[-1], exponents)
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
