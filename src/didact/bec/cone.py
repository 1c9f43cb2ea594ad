"""The behavioural equivalence class as a cone: equalities, facets, and what decided them.

The class is {w : n.w >= 0 for all rows n}. Its dual C = cone(rows) has a lineality space L, spanned
by the rows that are equalities, and the facets of the class are the extreme rays of C/L. With
equalities the rows of one facet are a class: they differ by elements of L only.

**What each weight may still be**, the largest and the smallest value among rewards that fit.
Rewards count up to a positive factor, so one weight with a known sign is the unit: w[unit] = +-1.
The bound of w[i] is a linear program over rows . w >= 0. HiGHS finds it; what it says is then
proved in exact arithmetic. Its multipliers name some of the rows, and with them

    sign * v * e_unit - e_i = sum of nonnegative multiples of rows

is solved exactly, so that no reward that fits has w[i] above v (in the same way below). The float
optimum is a reward that comes as near to v as floats tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from didact.bec.certificates import exact_cone
from didact.bec.directions import TOLERANCE
from didact.bec.facets import IS_EQUALITY, IS_REDUNDANT, find_facets
from didact.bec.halfspaces import Rows, as_row
from didact.bec.linear import (
    Inside,
    Multipliers,
    Row,
    decide,
    dot,
    point_on,
    primitive,
    unit_floats,
)
from didact.bec.nnls import max_margin_point
from didact.errors import InvalidModel, Unsupported
from didact.inputs import counted
from didact.numerics.exact import Floats, Numbers
from didact.numerics.geometry import singular_directions
from didact.stages import counting, stage

Position = Literal["inside", "boundary", "outside"]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Cone:
    """A BEC as an intersection of half-spaces: exact with certificates, or numerical with a margin.

    rows: the half-spaces, with the state and the two actions that each compares.
    true_weights: of the task; they lie inside.
    equalities: numbers of the rows that hold with equality.
    facets: for each facet the numbers of its rows, in order of first appearance.
    lineality: basis of the span of the equalities.
    rank: of all rows.
    unidentifiable: basis of the directions of the weights that no row can fix.
    multipliers: Farkas multipliers of the redundant rows; empty in float arithmetic.
    opposites: Farkas multipliers of the negated equalities; empty in float arithmetic.
    witnesses: weights that break one facet alone; empty in float arithmetic.
    n_exact_lp: how many exact linear programs were solved.
    margin: the smallest margin of a facet in float arithmetic; None in exact arithmetic.
    largest_residual: of the float solver.
    n_unknown: rows whose redundancy floats left undecided.
    n_close: decisions that floats could not make: undecided facets, rows that should hold strictly
        and do not within the tolerance, rows that the true weights seem to break; and one more
        where rounding may have turned some row by the whole margin.
    """

    rows: Rows
    true_weights: Numbers
    equalities: tuple[int, ...]
    facets: tuple[tuple[int, ...], ...]
    lineality: NDArray[Any]
    rank: int
    unidentifiable: NDArray[Any]
    multipliers: Mapping[int, Multipliers] = field(default_factory=dict)
    opposites: Mapping[int, Multipliers] = field(default_factory=dict)
    witnesses: tuple[Row, ...] = ()
    n_exact_lp: int = 0
    margin: float | None = None
    largest_residual: float = 0.0
    n_unknown: int = 0
    n_close: int = 0

    def __repr__(self) -> str:
        sizes = (
            f"{counted(self.n_facets, 'facet')}, {counted(len(self.equalities), 'equality row')}"
        )
        k = self.true_weights.floats.size
        return f"Cone({sizes}, rank {self.rank} of {k}, {self.arithmetic})"

    @property
    def arithmetic(self) -> str:
        """'exact', or 'float': numerical, not proved."""
        return self.rows.arithmetic

    @property
    def is_proved(self) -> bool:
        """Whether every verdict on a row has an exact certificate."""
        return self.arithmetic == "exact"

    @property
    def n_facets(self) -> int:
        """How many facets there are; equalities do not count."""
        return len(self.facets)

    def facet_rows(self) -> list[int]:
        """The first row of each facet."""
        return [members[0] for members in self.facets]

    def contains(self, weights: Any) -> Position:
        """Where weights lie: 'inside' the relative interior, on the 'boundary', or 'outside'.

        Inside, the optimal actions are the true ones in every state, so the loss is zero; on the
        boundary some action ties that should not.

        weights: (k,).
        """
        read = Numbers.read(weights, "weights")
        if read.floats.shape != self.true_weights.floats.shape:
            raise InvalidModel(
                f"weights must have {self.true_weights.floats.size} entries; "
                f"the shape is {read.floats.shape}"
            )
        if self.rows.exact is None:
            slacks = _slacks(self.rows, read.floats)
            return self._position(lambda row: float(slacks[row]), TOLERANCE)
        return self._exact_position(self.rows.exact, as_row(read.fractions()))

    def _exact_position(self, exact: tuple[Row, ...], point: Row) -> Position:
        return self._position(lambda row: dot(exact[row], point), 0)

    def _position(self, slack_of: Callable[[int], float], limit: float) -> Position:
        if any(abs(slack_of(row)) > limit for row in self.equalities):
            return "outside"
        smallest = min(map(slack_of, self.facet_rows()), default=1)
        if smallest < -limit:
            return "outside"
        return "boundary" if smallest <= limit else "inside"

    def center(self) -> Floats:
        """The unit weights farthest inside: the largest smallest n.w over unit facet normals n.

        Facet normals are taken in the subspace of the equalities. Refuses when there is no point
        strictly inside all facets.
        """
        normals = _quotient_normals(self)
        if not len(normals):  # every weight that satisfies the equalities: take the true ones
            weights = self.true_weights.floats
            scaled = weights / (float(np.abs(weights).max()) or 1.0)
            return np.asarray(scaled / (float(np.linalg.norm(scaled)) or 1.0))
        point = max_margin_point(normals)
        if not (normals @ point).min() > TOLERANCE:
            raise _no_margin()
        return point

    def exact_center(self) -> tuple[Fraction, ...]:
        """Weights next to the center that are inside exactly; the largest is 1 or -1.

        Floats hardly ever satisfy an equality, so with equalities the center is only nearly inside.
        """
        exact = self._require_exact()
        # The equalities are solved for their pivots; the other entries are rounded.
        rounded = [Fraction(round(x * 2**40)) for x in self.center().tolist()]
        point = point_on([tuple(row) for row in self.lineality.tolist()], rounded)
        if self._exact_position(exact, primitive(point)) != "inside":
            raise _no_margin()
        largest = max(map(abs, point)) or 1
        return tuple(x / largest for x in point)

    def is_subset(self, other: Cone) -> bool:
        """Whether every weight of this class is in the other: its rows follow from ours.

        other: of weights with as many entries.
        """
        if other.true_weights.floats.shape != self.true_weights.floats.shape:
            raise InvalidModel(
                f"classes must be of weights with as many entries; these have "
                f"{self.true_weights.floats.size} and {other.true_weights.floats.size}"
            )
        own, rows = self.defining_rows(), other.defining_rows()
        return all(isinstance(decide(own, row), Inside) for row in rows)

    def equals(self, other: Cone) -> bool:
        """Whether both classes hold the same weights, decided by certificates both ways.

        other: of weights with as many entries.
        """
        return self.is_subset(other) and other.is_subset(self)

    def defining_rows(self) -> list[Row]:
        """The equalities, and one row of each facet: all others follow from them."""
        exact = self._require_exact()
        return [exact[row] for row in (*self.equalities, *self.facet_rows())]

    def _require_exact(self) -> tuple[Row, ...]:
        if self.rows.exact is None:
            raise Unsupported(
                "this needs exact rows, and this class was computed in floats; "
                "build it with arithmetic='exact'"
            )
        return self.rows.exact


def cone_of(rows: Rows, true_weights: Numbers) -> Cone:
    """The cone of all rows of a catalogue; the true weights must satisfy every row."""
    stage("facets")
    if rows.exact is None:
        return _float_cone(rows, true_weights)
    return _exact_cone(rows, rows.exact, true_weights)


def _exact_cone(rows: Rows, exact: tuple[Row, ...], true_weights: Numbers) -> Cone:
    k = true_weights.floats.size
    if not exact:
        units = [tuple(int(i == j) for j in range(k)) for i in range(k)]
        return Cone(rows, true_weights, (), (), _matrix((), k), 0, _matrix(units, k))
    tell = counting("facets: {} of {} rows decided")
    found = exact_cone(exact, true_weights.fractions(), progress=tell)
    matrices = {name: _matrix(getattr(found, name), k) for name in ("lineality", "unidentifiable")}
    return Cone(rows, true_weights, **(vars(found) | matrices))


def _float_cone(rows: Rows, true_weights: Numbers) -> Cone:
    k = true_weights.floats.size
    if not rows.n_rows:
        return Cone(rows, true_weights, (), (), np.zeros((0, k)), 0, np.eye(k), margin=np.inf)
    slacks = _slacks(rows, true_weights.floats)
    sure = (slacks >= -TOLERANCE).nonzero()[0]
    point = rows.balanced_weights(true_weights.floats)
    kept = rows.balanced if sure.size == rows.n_rows else rows.balanced[sure]
    found = find_facets(kept, point)
    facet_of = np.full(rows.n_rows, IS_REDUNDANT)
    facet_of[sure] = found.facet_of
    members: list[list[int]] = [[] for _ in found.facets]
    for row in (facet_of >= 0).nonzero()[0].tolist():
        members[facet_of[row]].append(row)
    spanning = np.vstack([found.lineality, rows.balanced[sure[found.facets]]])
    singular, directions = singular_directions(spanning)
    rank = int((singular > TOLERANCE * singular[0]).sum())
    strict = False if rows.strict is None else rows.strict
    n_tied = int(np.count_nonzero(strict & (np.abs(slacks) <= TOLERANCE)))
    n_turned = int(found.margin <= rows.error_bound)
    return Cone(
        rows,
        true_weights,
        tuple((facet_of == IS_EQUALITY).nonzero()[0].tolist()),
        tuple(tuple(m) for m in members),
        _unscaled(found.lineality, rows.scales),
        rank,
        _unscaled(directions[rank:], None if rows.scales is None else 1.0 / rows.scales),
        margin=found.margin,
        largest_residual=found.largest_residual,
        n_unknown=found.n_unknown,
        n_close=found.n_unknown + n_tied + n_turned + rows.n_rows - sure.size,
    )


def _slacks(rows: Rows, weights: Floats) -> Floats:
    """The sine of the angle by which weights are inside each row, shape (m,)."""
    point = rows.balanced_weights(weights)
    scaled = point / (float(np.abs(point).max()) or 1.0)
    return np.asarray(rows.balanced @ (scaled / (math.sqrt(scaled @ scaled) or 1.0)))


def _unscaled(basis: Floats, scales: Floats | None) -> Floats:
    """An orthonormal basis of the space whose vectors, divided by the scales, this one spans."""
    if scales is None or not len(basis):
        return basis
    spanned = basis * scales
    spanned /= np.linalg.norm(spanned, axis=1, keepdims=True)
    return np.asarray(np.linalg.qr(spanned.T)[0].T)


def _matrix(rows: Sequence[Row], k: int) -> NDArray[Any]:
    array = np.empty((len(rows), k), dtype=object)
    for i, row in enumerate(rows):
        array[i] = row
    return array


def _no_margin() -> Unsupported:
    return Unsupported(
        "the class has no interior point with a positive margin in floats; "
        "its facets meet at angles below 1e-9"
    )


def _quotient_normals(cone: Cone) -> Floats:
    """Unit facet normals, projected on the complement of the equalities."""
    normals = cone.rows.normals[cone.facet_rows()]
    if len(cone.lineality) == 0 or not len(normals):
        return normals
    floats = np.array([[float(x) for x in row] for row in _scaled(cone.lineality)])
    basis = np.linalg.qr(floats.T)[0]
    projected = normals - (normals @ basis) @ basis.T
    return np.asarray(projected / np.linalg.norm(projected, axis=1, keepdims=True))


def _scaled(rows: NDArray[Any]) -> list[list[Any]]:
    """Rows divided by their largest entry, so that long integers become floats safely."""
    return [
        [Fraction(x) / max(abs(Fraction(y)) for y in row) for x in row] for row in rows.tolist()
    ]


NEAR = 1e-6
"""How far the exact bound may be from the one that HiGHS found, relative to its size."""


@dataclass(frozen=True)
class WeightBound:
    """A bound of a weight: exact where it is proved; value None where there is none."""

    value: Fraction | float | None
    is_proved: bool


def weight_bounds(
    rows: Sequence[Row], k: int, unit: int, sign: int
) -> list[tuple[WeightBound, WeightBound]]:
    """The smallest and the largest value of each weight, (k,), in units of one weight.

    rows: integer rows (m, k) of what fits, rows . w >= 0; at least one reward with w[unit] of this
    sign must fit. unit: the weight that is +1 or -1, as `sign` says.
    """
    normals = unit_floats(rows) if rows else np.zeros((0, k))
    found = []
    for i in range(k):
        if i == unit:
            found.append((WeightBound(Fraction(sign), True),) * 2)
            continue
        low, high = (_bound(rows, normals, i, unit, sign, towards) for towards in (-1, 1))
        found.append((low, high))
    return found


def _bound(
    rows: Sequence[Row], normals: Floats, i: int, unit: int, sign: int, towards: int
) -> WeightBound:
    """The largest (towards 1) or the smallest (towards -1) value of w[i]."""
    from scipy.optimize import linprog

    k = normals.shape[1]
    objective = np.zeros(k)
    objective[i] = -towards
    limits: list[tuple[float | None, float | None]] = [(None, None)] * k
    limits[unit] = (sign, sign)
    answer = linprog(objective, A_ub=-normals, b_ub=np.zeros(len(normals)), bounds=limits)
    if answer.status != 0:
        return WeightBound(None, answer.status == 3)
    value = towards * float(answer.x[i])
    support = np.flatnonzero(np.abs(answer.ineqlin.marginals) > 1e-12).tolist()
    target = tuple(-towards if j == i else 0 for j in range(k))
    proved = _proved([rows[j] for j in support], target, unit, sign)
    if proved is None or abs(float(proved) - value) > NEAR * (1 + abs(value)):
        return WeightBound(towards * value, False)
    return WeightBound(towards * proved, True)


def _proved(rows: list[Row], target: Row, unit: int, sign: int) -> Fraction | None:
    """The least v for which the rows give target + sign * v * e_unit; None where they give none.

    Of independent rows there is one such combination at most.
    """
    for side in (1, -1):
        axis = tuple(side if j == unit else 0 for j in range(len(target)))
        found = decide([*rows, axis], target)
        if isinstance(found, Inside):
            weighed = found.multipliers
            shares = dict(zip(weighed.indices, weighed.fractions, strict=True))
            return -side * sign * shares.get(len(rows), Fraction(0))
    return None
