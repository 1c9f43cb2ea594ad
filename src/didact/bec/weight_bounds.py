"""What each weight may still be: the largest and the smallest value among rewards that fit.

Rewards count up to a positive factor, so one weight with a known sign is the unit: w[unit] = +-1.
The bound of w[i] is a linear program over rows . w >= 0. HiGHS finds it; what it says is then
proved in exact arithmetic. Its multipliers name some of the rows, and with them

    sign * v * e_unit - e_i = sum of nonnegative multiples of rows

is solved exactly, so that no reward that fits has w[i] above v (in the same way below). The float
optimum is a reward that comes as near to v as floats tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from didact.bec.linear import Floats, Inside, Row, decide, unit_floats

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
