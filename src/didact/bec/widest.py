"""Weights as far inside half-spaces as they can be: what floats propose to those who decide.

A linear program over the box finds the weights with the largest smallest n.w; another one finds the
rows that no weights make positive. HiGHS is right up to FLOAT_MARGIN; rounding to few decimals is
exact on equalities, and whether the result holds is for integers to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from didact.bec.linear import Row, dot, null_basis, primitive, row_reduced
from didact.numerics.exact import Floats

FLOAT_MARGIN = 1e-9
"""In floats a margin below this is none."""
SHORT_DECIMALS = (1, 2, 3, 6, 12)
"""Weights are given with as few decimals as keep half of the margin."""


def widest_point(strict: Floats, zero: Floats) -> Floats | None:
    """Unit-box weights with the largest smallest n.w; None where that is not positive."""
    from scipy.optimize import linprog

    m, k = strict.shape
    found = linprog(
        np.append(np.zeros(k), -1.0),
        A_ub=np.column_stack([-strict, np.ones(m)]),
        b_ub=np.zeros(m),
        A_eq=np.column_stack([zero, np.zeros(len(zero))]) if len(zero) else None,
        b_eq=np.zeros(len(zero)) if len(zero) else None,
        bounds=[(-1.0, 1.0)] * k + [(None, 1.0)],
    )
    if found.status != 0 or found.x[-1] <= FLOAT_MARGIN:
        return None
    return np.asarray(found.x[:-1])


def zero_rows(normals: Floats) -> list[int]:
    """Rows that are zero for all weights that satisfy every row, as floats see it.

    The largest sum of min(1, n.w) makes every row 1 that can be positive at all.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix, hstack, identity

    m, k = normals.shape
    found = linprog(
        np.concatenate([np.zeros(k), -np.ones(m)]),
        A_ub=hstack([csr_matrix(-normals), identity(m)]).tocsr(),
        b_ub=np.zeros(m),
        bounds=[(None, None)] * k + [(0.0, 1.0)] * m,
    )
    if found.status != 0:
        return list(range(m))
    return [int(i) for i in np.flatnonzero(found.x[k:] < 0.5)]


def rounded_weights(zero: Sequence[Row], point: Floats, decimals: int) -> tuple[Fraction, ...]:
    """Weights near a point with few decimals that satisfy the equalities exactly."""
    scaled = point / np.abs(point).max()
    basis, pivots = row_reduced(zero)
    free = sorted(set(range(len(point))) - set(pivots))
    found = [Fraction(0)] * len(point)
    for column, direction in zip(free, null_basis(basis, pivots, len(point)), strict=True):
        entry = Fraction(round(float(scaled[column]) * 10**decimals), 10**decimals)
        share = entry / direction[column]
        found = [x + share * y for x, y in zip(found, direction, strict=True)]
    return tuple(found)


def margin_of(normals: Floats, weights: Any) -> float:
    """The smallest n.w over unit normals, for the weights scaled to length one."""
    floats = np.array([float(w) for w in weights])
    return float((normals @ floats).min() / np.linalg.norm(floats))


def point_inside(normals: Floats) -> tuple[Floats | None, list[int]]:
    """The widest point among the rows that can be positive, and the rows that cannot be.

    No point where none can, or where floats find none.
    """
    point = widest_point(normals, normals[:0])
    if point is not None:
        return point, []
    zero = zero_rows(normals)
    if len(zero) == len(normals):
        return None, zero
    return widest_point(np.delete(normals, zero, axis=0), normals[zero]), zero


def proposed_weights(exact: tuple[Row, ...], normals: Floats) -> Row:
    """Weights that floats take for a point inside, if they satisfy every row exactly, else 0."""
    nothing = (0,) * len(exact[0])
    point, zero = point_inside(normals)
    if point is None:
        return nothing
    found = primitive(rounded_weights([exact[i] for i in zero], point, SHORT_DECIMALS[-1]))
    return found if all(dot(row, found) >= 0 for row in exact) else nothing
