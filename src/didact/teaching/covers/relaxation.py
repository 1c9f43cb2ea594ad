"""Lower bounds of a hitting set problem by HiGHS, and what of them exact arithmetic confirms.

The MILP's bound is trusted to a relative TOLERANCE. The value of the linear relaxation is not
trusted at all: the solver's dual prices are rounded to fractions, clipped at zero and scaled down
until no candidate is overpaid, and weak duality does the rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from didact.teaching.covers.costs import Price, whole_costs
from didact.teaching.covers.reductions import Cut, Uncoverable, bits_of, reduced

TOLERANCE = 1e-6
"""Relative error of a bound of HiGHS that is allowed for."""
_LARGEST_OBJECTIVE = 1e6
_DENOMINATORS = (60, 10**4, 10**9)


def solve_cover(
    cuts: Sequence[int], costs: Sequence[int], seconds: float
) -> tuple[int | None, int]:
    """The cheapest hitting set by HiGHS, or the best one found in time, and a lower bound."""
    from scipy.optimize import LinearConstraint

    hit = LinearConstraint(incidence(cuts, len(costs)), lb=1.0)
    picked, certified = cheapest_choice(costs, hit, seconds)
    if picked is None:
        return None, certified
    chosen = sum(1 << place for place, is_picked in enumerate(picked) if is_picked)
    return (chosen if all(cut & chosen for cut in cuts) else None), certified


def cheapest_choice(
    costs: Sequence[int], constraints: Any, seconds: float
) -> tuple[list[bool] | None, int]:
    """Which places to pick, at the least cost that HiGHS finds in time, and a lower bound."""
    from scipy.optimize import Bounds, milp

    objective, scale = scaled_objective(costs)
    options = {"mip_rel_gap": 0.0} | ({} if math.isinf(seconds) else {"time_limit": seconds})
    answer = milp(
        objective,
        integrality=np.ones(len(objective)),
        bounds=Bounds(0.0, 1.0),
        constraints=constraints,
        options=options,
    )
    bound = answer.mip_dual_bound
    usable = bound is not None and math.isfinite(bound)
    certified = math.ceil(lowered(bound) * scale) if usable else 0
    picked = None if answer.x is None else [value > 0.5 for value in answer.x.tolist()]
    return picked, certified


def scaled_objective(costs: Sequence[int]) -> tuple[list[float], Fraction]:
    """The costs as floats of a size that solvers like, and what one of their units is worth."""
    scale = max(Fraction(1), Fraction(max(costs)) / int(_LARGEST_OBJECTIVE))
    return [float(cost / scale) for cost in costs], scale


def lowered(bound: float) -> Fraction:
    """A bound in floats less what it is trusted to."""
    return Fraction(bound) - Fraction(TOLERANCE) * max(Fraction(1), Fraction(abs(bound)))


def incidence(cuts: Sequence[int], n_places: int) -> Any:
    """The (cuts, places) matrix of who hits what, sparse."""
    from scipy.sparse import csr_array

    places = [list(bits_of(cut)) for cut in cuts]
    offsets = np.cumsum([0, *(len(members) for members in places)])
    indices = np.concatenate(places)
    return csr_array((np.ones(len(indices)), indices, offsets), shape=(len(cuts), n_places))


def packing_bound(cuts: Sequence[int], costs: Sequence[int]) -> int:
    """A lower bound by dual ascent: each cut in turn, small ones first, pays what it still can."""
    left = list(costs)
    paid = 0
    for cut in sorted(cuts, key=int.bit_count):
        members = list(bits_of(cut))
        price = min(left[place] for place in members)
        paid += price
        for place in members:
            left[place] -= price
    return paid


def lp_bound(elements: Sequence[Cut], costs: Sequence[Price]) -> Fraction:
    """The value of the linear relaxation, as a lower bound that is proved in exact arithmetic.

    elements: for each the candidates that cover it; one without candidates raises Uncoverable.
    """
    used = sorted({candidate for cut in elements for candidate in cut})
    whole, unit = whole_costs([costs[candidate] for candidate in used])
    cost_of = dict(zip(used, whole, strict=True))
    for number, cut in enumerate(elements):
        if not len(cut):
            raise Uncoverable(number)
    core = reduced(elements, lambda candidate: (cost_of[candidate], 0, candidate))
    forced = sum(cost_of[candidate] for candidate in core.forced)
    return unit * (forced + (_dual_value(core.cuts, core.costs) if core.cuts else 0))


def _dual_value(cuts: Sequence[int], costs: Sequence[int]) -> Fraction:
    """The best exact dual value that the float prices of HiGHS lead to."""
    from scipy.optimize import linprog

    objective, scale = scaled_objective(costs)
    answer = linprog(objective, A_ub=-incidence(cuts, len(costs)), b_ub=[-1.0] * len(cuts))
    values = [Fraction(packing_bound(cuts, costs))]
    if answer.status == 0:
        prices = [Fraction(max(0.0, -price)) for price in answer.ineqlin.marginals.tolist()]
        for largest in _DENOMINATORS:
            neat = [price.limit_denominator(largest) * scale for price in prices]
            values.append(_feasible_value(neat, cuts, costs))
    return max(values)


def _feasible_value(
    prices: Sequence[Fraction], cuts: Sequence[int], costs: Sequence[int]
) -> Fraction:
    """The sum of the prices after scaling them down so that no place is paid above its cost."""
    loads = [Fraction(0)] * len(costs)
    for cut, price in zip(cuts, prices, strict=True):
        for place in bits_of(cut):
            loads[place] += price
    share = Fraction(1)
    for cost, load in zip(costs, loads, strict=True):
        if share * load > cost:
            share = cost / load
    return share * sum(prices, Fraction(0))
